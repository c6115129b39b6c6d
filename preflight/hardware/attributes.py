"""Single attributes of sysfs as facts: each is a value, or the reason why there is none."""

from __future__ import annotations

import re

from preflight.facts import Absence, Number, Text, Whole
from preflight.hardware.files import Files

UNDECODABLE = "\ufffd"
"""What stands for bytes that are no UTF-8."""
WORD = 2**64
"""No number of the kernel is as large."""


def word(files: Files, path: str, pattern: str = ".+") -> Text:
    """One line that matches ``pattern`` as a whole; an empty file is ``not found``."""
    found = files.text(path)
    if isinstance(found, Absence):
        return found
    if not found:
        return Absence(what=path, reason="not found", detail="the file is empty")
    if UNDECODABLE in found or not found.isprintable() or not re.fullmatch(pattern, found):
        return unreadable(path, found)
    return found


def whole(files: Files, path: str, least: int | None = None) -> Whole:
    """An integer of 64 bits at most, and not below ``least`` where that is given."""
    found = files.whole(path)
    if isinstance(found, Absence):
        return found
    if abs(found) >= WORD or (least is not None and found < least):
        return unreadable(path, str(found) if abs(found) < WORD else "a number of many digits")
    return found


def scaled(files: Files, path: str, divisor: float) -> Number:
    """A file that holds an integer, in a unit ``divisor`` times as large."""
    found = whole(files, path)
    return found if isinstance(found, Absence) else found / divisor


def unreadable(path: str, found: str) -> Absence:
    """The absence for contents that are not what the kernel writes there."""
    return Absence(what=path, reason="not readable", detail=f"{found[:80]!r} was not expected")


def number(text: str) -> int | None:
    """A decimal number without a sign, of 64 bits at most; None for any other text."""
    fits = text.isascii() and text.isdigit() and len(text) <= len(str(WORD))
    return int(text) if fits and int(text) < WORD else None
