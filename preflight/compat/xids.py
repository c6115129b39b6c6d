"""What the driver's error numbers in the kernel's log mean for a renter; data in ``xids.toml``."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

DATA = Path(__file__).with_name("xids.toml")

Group = Literal["hardware", "link", "application", "watch", "recovery", "test"]
Grade = Literal["fail", "warn", "note"]

OFF_THE_BUS = 79
FALLEN = "fallen off the bus"
"""What the driver writes, with an XID or without."""
_NONFATAL = re.compile(r"\bnon-?fatal\b", re.IGNORECASE)
_FATAL = re.compile(r"\bfatal\b", re.IGNORECASE)
_TO_NONE = re.compile(r"\bto 0x0\b")
"""XID 154 tells the change of the recovery action, 0x0 is none: the fault is mended."""

ACTIONS = {
    "RESET_GPU": "have the card reset (nvidia-smi --gpu-reset, or by the seller)",
    "RESTART_BM": "have the machine restarted",
    "CHECK_MECHANICALS": "have the seller check seat and power cables of the card",
    "CONTACT_SUPPORT": "show the seller this report: the catalogue asks for NVIDIA's support",
    "WORKFLOW_XID_48": "have the card reset, and replaced if it comes again",
    "WORKFLOW_NVLINK_ERR": "have the cards of that link reset, and the link checked",
    "WORKFLOW_NVLINK5_ERR": "have the cards of that link reset, and the link checked",
    "RESTART_APP": "restart the program that it happened to",
    "RESTART_VM": "restart the virtual machine",
    "UPDATE_SWFW": "have driver and firmware updated",
}
"""What the catalogue's words ask for, in ours."""
_HARDWARE_ACTION = "show the seller this report and ask for another card"
_SOFTWARE_ACTION = "if it comes again during the campaign, show the seller this report"


class Xid(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An entry of the catalogue; the fields are explained in ``xids.toml``."""

    number: int
    name: str
    meaning: str = ""
    asks: str = ""
    group: Group = msgspec.field(name="class")
    standing: Literal["read", "paraphrase", "name only"] = "read"


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What a line of the log says."""

    grade: Grade
    """``note`` is no trouble."""
    what: str
    """``XID 79 (the card has fallen off the bus)``."""
    action: str


class _Catalogue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    source: str
    xid: tuple[Xid, ...]


@cache
def _catalogue() -> _Catalogue:
    return msgspec.toml.decode(DATA.read_bytes(), type=_Catalogue)


def source() -> str:
    """Where numbers and actions come from."""
    return _catalogue().source


def find_xid(number: int) -> Xid | None:
    """The entry of a number; None for one that the catalogue does not have."""
    return next((entry for entry in _catalogue().xid if entry.number == number), None)


def read_xid(number: int | None, text: str) -> Reading:
    """What an XID says, from its number and its line.

    A line without a number is judged by its words: a card that is dead when its driver starts has
    fallen off the bus without an XID, or its driver could not start it.
    """
    if number is None and FALLEN not in text:
        what = f"the driver has logged: {text}"
        return Reading(grade="warn", what=what, action=_HARDWARE_ACTION)
    number = OFF_THE_BUS if number is None else number
    entry = find_xid(number)
    if entry is None:
        what = f"XID {number}, which the catalogue does not have"
        return Reading(grade="warn", what=what, action=_SOFTWARE_ACTION)
    grade = _grade(entry, text)
    fallback = _HARDWARE_ACTION if grade == "fail" else _SOFTWARE_ACTION
    action = ACTIONS.get(entry.asks, fallback)
    return Reading(grade=grade, what=f"XID {number} ({entry.meaning or entry.name})", action=action)


def read_sxid(number: int | None, text: str) -> Reading:
    """What an error of an NVSwitch says: its line calls itself fatal or not.

    Source: NVIDIA, Fabric Manager user guide, "NVSwitch SXid errors".
    """
    fatal = bool(_FATAL.search(_NONFATAL.sub("", text)))
    what = f"NVSwitch error (SXID{'' if number is None else f' {number}'})"
    if fatal:
        action = "have the node reset and its NVSwitch checked: show the seller this report"
        return Reading(grade="fail", what=f"fatal {what}", action=action)
    return Reading(grade="warn", what=what, action=_SOFTWARE_ACTION)


def _grade(entry: Xid, text: str) -> Grade:
    if entry.group == "hardware":
        return "fail"
    if entry.group == "link":
        return "warn" if _NONFATAL.search(text) else "fail"
    if entry.group == "test" or (entry.group == "recovery" and _TO_NONE.search(text)):
        return "note"
    return "warn"
