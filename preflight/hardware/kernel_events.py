"""What the kernel's log says of accelerators: a pure reading of its lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from preflight.facts import KernelEvent

Kind = Literal["xid", "sxid", "nvidia", "ras", "amdgpu", "pcie", "memory"]
LONGEST_TEXT = 240
_LONGEST_LINE = 4096
"""Of what is searched. The kernel's own lines end at some 1000 letters."""
_ADDRESS = re.compile(r"\b([0-9a-f]{4,8}):([0-9a-f]{2}):([0-9a-f]{2})(?:\.([0-7]))?", re.IGNORECASE)

# NVRM: Xid (PCI:0000:1b:00): 79, pid=..., GPU has fallen off the bus.
_XID = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d{1,6})\b")
# nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up
_SXID = re.compile(r"SXid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d{1,6})\b")
_NUMBERED: tuple[tuple[Kind, re.Pattern[str]], ...] = (("xid", _XID), ("sxid", _SXID))
# A card that is dead before its driver starts has no XID, and a card may fall from the bus later.
_FALLEN = re.compile(r"NVRM: .*fallen off the bus")
_NO_START = re.compile(
    r"NVRM: .*(?:RmInitAdapter failed|requires use of the NVIDIA open kernel modules)"
)
# amdgpu 0000:05:00.0: amdgpu: 2 new uncorrectable hardware errors detected in umc block
_RAS = re.compile(r"\b(\d{1,20}) (?:new )?uncorrectable hardware errors detected in\b")
_FALSE_RAS = 1048560
"""A driver that cannot read the counters of a block tells multiples of it, and of 0."""
_AMD_HANG = re.compile(r"\bGPU reset begin\b|\bGPU reset(?:\(\d+\))? failed|\bring \S+ timeout\b")
# pcieport 0000:16:01.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer
_PCIE = re.compile(
    r"PCIe Bus Error: severity=([A-Za-z]+)|pciehp: Slot\([^)]*\): (Link Down|Card not present)"
)
_KILLED = re.compile(r"out of memory: kill(?:ed)? process", re.IGNORECASE)
_WORTH_A_LOOK = re.compile(r"NVRM|SXid|amdgpu|PCIe Bus Error|pciehp|ut of memory")


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line of the log."""

    text: str
    at_s: float | None = None
    """Seconds since the machine was started; None where the line carries no stamp."""


@dataclass(frozen=True, kw_only=True)
class _Found:
    """What one line says; lines that are equal here are one event that happened often."""

    kind: Kind
    code: int | None = None
    pci: str | None = None
    apart: str = ""
    """What keeps events of one kind and place apart: the severity of a bus error."""


def kernel_events(
    lines: Iterable[Line], ports: Mapping[str, str], uptime_s: float | None
) -> tuple[KernelEvent, ...]:
    """Events in the order in which they began, each with its last line.

    ``ports`` maps the PCI address of each accelerator, and of the port that it is plugged into, to
    that of the accelerator: errors of the bus count for those alone.
    """
    groups: dict[_Found, list[Line]] = {}
    spoken_of: str | None = None
    for line in lines:
        text = line.text[:_LONGEST_LINE]
        if not _WORTH_A_LOOK.search(text):
            continue
        if "NVRM" in text:  # the address may stand in a line before the trouble
            spoken_of = _first_address(text) or spoken_of
        found = _read(text, ports, spoken_of)
        if found is not None:
            groups.setdefault(found, []).append(line)
    return tuple(_event(found, group, uptime_s) for found, group in groups.items())


def _read(text: str, ports: Mapping[str, str], spoken_of: str | None) -> _Found | None:
    """What a line says, if it speaks of trouble."""
    for kind, pattern in _NUMBERED:
        if match := pattern.search(text):
            return _Found(kind=kind, code=int(match[2]), pci=_first_address(match[1]))
    if _FALLEN.search(text):
        return _Found(kind="pcie", pci=spoken_of, apart="fallen")
    if _NO_START.search(text):
        return _Found(kind="nvidia", pci=spoken_of)
    if match := _RAS.search(text):
        is_count = int(match[1]) % _FALSE_RAS != 0
        return _Found(kind="ras", pci=_first_address(text)) if is_count else None
    if "amdgpu" in text and _AMD_HANG.search(text):
        return _Found(kind="amdgpu", pci=_first_address(text))
    if match := _PCIE.search(text):
        pci = ports.get(_first_address(text) or "")
        return _Found(kind="pcie", pci=pci, apart=match[1] or match[2]) if pci else None
    return _Found(kind="memory") if _KILLED.search(text) else None


def _event(found: _Found, lines: list[Line], uptime_s: float | None) -> KernelEvent:
    last = lines[-1]
    age_s = None if uptime_s is None or last.at_s is None else uptime_s - last.at_s
    start = last.text[: LONGEST_TEXT + 1]
    text = "".join(letter if letter.isprintable() else " " for letter in start)
    return KernelEvent(
        kind=found.kind,
        code=found.code,
        pci=found.pci,
        text=text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 3]}...",
        count=len(lines),
        age_s=None if age_s is None or age_s < 0 else round(age_s, 1),
    )


def _first_address(text: str) -> str | None:
    """The first PCI address as the kernel's files write it; ``0000:1b:00`` means function 0."""
    match = _ADDRESS.search(text)
    if match is None:
        return None
    domain, bus, device, function = match.groups()
    return f"{int(domain, 16):04x}:{bus}:{device}.{function or 0}".lower()
