"""The one door to the clock."""

from __future__ import annotations

import time
from datetime import datetime, timezone


def now() -> datetime:
    """Wall-clock time in UTC; only for stamps, never for durations."""
    return datetime.now(timezone.utc)


def stamp(moment: datetime | None = None) -> str:
    """RFC 3339 in UTC, to the second: ``2026-12-01T09:04:12Z``."""
    return (moment or now()).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds() -> float:
    """Monotonic seconds, for durations and deadlines; a clock that is set does not move it."""
    return time.monotonic()
