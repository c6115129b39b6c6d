"""PCIe Access Control Services: bridges that send traffic between two cards to the root."""

from __future__ import annotations

import struct
from collections.abc import Iterable

from preflight.facts import Absence, Flag
from preflight.hardware.files import Files
from preflight.hardware.pci import BUS, bus_path

_SPACE = 4096
_PUBLIC = 64
"""What the kernel shows of a configuration space without CAP_SYS_ADMIN."""
_EXTENDED = 0x100
"""Where extended capabilities begin; a conventional PCI device ends there."""
_ACS = 0x000D
_CONTROL = 6
_REQUEST_REDIRECT, _COMPLETION_REDIRECT = 0x0004, 0x0008
"""PCI_EXT_CAP_ID_ACS, PCI_ACS_CTRL, PCI_ACS_RR and PCI_ACS_CR of linux/pci_regs.h."""


def redirecting_bridges(files: Files, addresses: Iterable[str]) -> tuple[str, ...] | Absence:
    """Addresses of those bridges above the accelerators that redirect requests or completions.

    A bridge that is found is told even where another could not be read; none is told only where
    all were read.
    """
    answers: dict[str, Flag] = {}
    for address in addresses:
        path = bus_path(files, f"{BUS}/{address}")
        if not path:
            answers[address] = Absence(what=f"{BUS}/{address}", reason="not found")
        for bridge in path[1:-1]:
            answers.setdefault(bridge, _redirects(files, bridge))
    found = tuple(sorted(bridge for bridge, answer in answers.items() if answer is True))
    refused = [answer for answer in answers.values() if isinstance(answer, Absence)]
    return found or (refused[0] if refused else ())


def _redirects(files: Files, bridge: str) -> Flag:
    path = f"{BUS}/{bridge}/config"
    space = files.raw(path, _SPACE)
    if isinstance(space, Absence):
        return space
    if space[:2] == b"\xff\xff":
        return Absence(what=path, reason="device lost", detail="it answers with ones alone")
    if len(space) <= _PUBLIC:
        return Absence(what=path, reason="no permission", detail="root alone may read all of it")
    control = _acs_control(space)
    return control is not None and bool(control & (_REQUEST_REDIRECT | _COMPLETION_REDIRECT))


def _acs_control(space: bytes) -> int | None:
    """The ACS control register; None where the bridge has none, and redirects nothing."""
    offset = _EXTENDED
    seen: set[int] = set()
    while offset >= _EXTENDED and offset not in seen and offset + 8 <= len(space):
        seen.add(offset)
        (header,) = struct.unpack_from("<I", space, offset)
        if header & 0xFFFF == _ACS:
            return int(struct.unpack_from("<H", space, offset + _CONTROL)[0])
        offset = header >> 20 & 0xFFC
    return None
