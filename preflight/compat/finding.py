"""What a rule finds: a status, a sentence, what to do, and who says so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

Outcome = Literal["pass", "warn", "fail", "unknown"]
_WORST_FIRST: tuple[Outcome, ...] = ("fail", "warn", "unknown", "pass")


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of one rule.

    ``warn`` is something that works for a part only, or with a cost. ``unknown`` is what no table
    tells: it is no failure, and it is no pass either.
    """

    status: Outcome
    reason: str
    """A sentence without a full stop."""
    action: str = ""
    """What a person can do or paste; empty for a pass, and where nothing is known to help."""
    source: str = ""
    """Who says so; empty where the reason itself is a fact of this machine."""


def worst(findings: Iterable[Finding]) -> Finding | None:
    """The first of the gravest status; None of no findings."""
    listed = tuple(findings)
    return next((one for status in _WORST_FIRST for one in listed if one.status == status), None)
