"""The kernel's log: XID numbers of NVIDIA's driver, RAS and resets of amdgpu.

Meanings: NVIDIA, Xid errors, https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html.
"""

from __future__ import annotations

import re

from preflight.compat.dumps.facts import Condition
from preflight.compat.dumps.text import Line

MOST = 64
_XID = re.compile(
    r"Xid ?\(?(?:PCI:)?(?P<place>[0-9a-fA-F:.]{4,16})?\)?:? ?\)?:? (?P<number>\d{1,3})\b"
)
_PROSE = re.compile(r"\bXIDs? (?:error |code )?#?(\d{1,3})\b", re.IGNORECASE)
_ACTIONS = {
    "app": "look at the program first: run it with compute-sanitizer or CUDA_LAUNCH_BLOCKING=1; "
    "ask for another card if it happens on this one alone",
    "reset": "reset the card while nothing runs on it (sudo nvidia-smi --gpu-reset -i N), run "
    "preflight again, and ask the seller for another card if it comes back",
    "seller": "ask the seller to take this card out: attach the line of the kernel's log",
    "watch": "no action by itself; read it again after the run",
}
_KNOWN: dict[int, tuple[str, str, str]] = {
    # number: (status, meaning, action)
    8: ("warn", "the card stopped processing", "app"),
    13: ("warn", "graphics engine exception, mostly the program's", "app"),
    31: ("warn", "memory page fault, mostly the program's", "app"),
    32: ("warn", "invalid or corrupted push buffer", "app"),
    38: ("warn", "driver firmware error", "watch"),
    43: ("warn", "the card stopped processing after a fault of the program", "app"),
    45: ("warn", "clean-up after another error", "watch"),
    46: ("fail", "the card stopped processing", "reset"),
    48: ("fail", "double bit ECC error", "reset"),
    54: ("fail", "auxiliary power is not connected", "seller"),
    61: ("fail", "internal micro-controller breakpoint", "seller"),
    62: ("fail", "internal micro-controller halt", "reset"),
    63: ("warn", "a row of memory is to be remapped", "watch"),
    64: ("fail", "remapping of a row of memory failed", "reset"),
    66: ("warn", "illegal access by the driver", "watch"),
    68: ("warn", "video decoder exception", "app"),
    69: ("warn", "graphics engine class error", "app"),
    74: ("fail", "NVLink error", "reset"),
    79: ("fail", "the card has fallen off the bus", "seller"),
    92: ("warn", "high rate of corrected ECC errors", "watch"),
    94: ("fail", "contained memory error: the program that used it is lost", "reset"),
    95: ("fail", "uncontained memory error", "reset"),
    109: ("fail", "context switch timeout", "reset"),
    110: ("fail", "security fault", "reset"),
    119: ("fail", "the card's GSP processor does not answer", "reset"),
    120: ("fail", "error of the card's GSP processor", "reset"),
    121: ("warn", "corrected error of the chip-to-chip link", "watch"),
    136: ("fail", "NVLink training failed", "reset"),
    137: ("warn", "NVLink privilege error, often the visible end of a peer's fault", "watch"),
    140: ("fail", "unrecovered ECC error", "reset"),
    143: ("fail", "the card could not be initialised", "reset"),
    **dict.fromkeys(range(144, 151), ("fail", "NVLink 5 error", "reset")),
    154: ("warn", "the recovery action has changed: do what the line says", "reset"),
    155: ("fail", "NVLink error defined by software", "reset"),
    156: ("warn", "a resource of the card was retired", "reset"),
    157: ("fail", "a resource of the card could not be retired", "seller"),
    158: ("fail", "fatal timeout of the card", "reset"),
    167: ("fail", "fatal timeout of PCIe", "reset"),
    171: ("fail", "uncorrected error of its memory", "reset"),
    172: ("fail", "uncorrected error of its SRAM", "reset"),
}
_IGNORED = {37, 106, 107}
"""Tests and firmware methods: the catalogue's action is to ignore them."""


class KernelLog:
    """Gathers what the kernel said of cards; each number once."""

    def __init__(self) -> None:
        self.conditions: list[Condition] = []
        self._numbers: set[int] = set()

    def read(self, line: Line) -> None:
        """Take what a line has of interest."""
        text = line.text
        if "Xid" not in text and "XID" not in text and "xid" not in text:
            return
        found = _XID.search(text) if "NVRM" in text or "Xid (" in text else None
        number = found["number"] if found else None
        if number is None and (prose := _PROSE.search(text)):
            number = prose[1]
        if number is None or int(number) in self._numbers | _IGNORED or len(self._numbers) >= MOST:
            return
        self._numbers.add(int(number))
        place = f" on {found['place'].rstrip('.:')}" if found and found["place"] else ""
        status, meaning, action = _KNOWN.get(
            int(number), ("warn", "see NVIDIA's catalogue of Xid errors", "watch")
        )
        self.conditions.append(
            Condition(
                stage="system",
                status=status,
                reason=f"Xid {number}{place}: {meaning}",
                action=_ACTIONS[action],
                line=line.number,
            )
        )
