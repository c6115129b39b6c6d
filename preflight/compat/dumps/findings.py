"""One answer about one stage, before the answers of all rules are brought together."""

from __future__ import annotations

from typing import Literal

import msgspec

Status = Literal["pass", "warn", "fail", "unknown"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule says of a stage."""

    stage: str
    status: Status
    reason: str
    action: str = ""
    lines: tuple[int, ...] = ()
    follows: bool = False
    """Whether it only follows from a finding of an earlier stage."""
