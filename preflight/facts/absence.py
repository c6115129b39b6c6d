"""A value that could not be read, and why; the other half of every fact."""

from __future__ import annotations

from typing import TypeVar

import msgspec

ABSENCE_REASONS = (
    "deadline",
    "device lost",
    "driver lacks the call",
    "driver not loaded",
    "failed",
    "library and kernel module differ",
    "no permission",
    "not asked",
    "not found",
    "not readable",
    "not supported",
)
"""Why something is not known; ``not asked`` is a fact that this kind of machine does not have."""


class Absence(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Something that was looked for and could not be read, and why."""

    what: str = ""
    """What was asked: ``nvmlDeviceGetEccMode``, ``/dev/kfd``, ``memory of gpu3``."""
    reason: str
    """One of ABSENCE_REASONS."""
    detail: str = ""
    """The vendor's own words."""


NOT_ASKED = Absence(reason="not asked")

Text = str | Absence
Whole = int | Absence
Number = float | Absence
Flag = bool | Absence

_T = TypeVar("_T")


def known(fact: _T | Absence) -> _T | None:
    """The value of a fact; None where it could not be read."""
    return None if isinstance(fact, Absence) else fact
