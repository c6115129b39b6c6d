"""The link of a card of AMD to the host, as the PCI core of Linux tells it."""

from __future__ import annotations

import re

from preflight.facts import Absence, Pcie, Whole
from preflight.hardware.attributes import unreadable, whole
from preflight.hardware.files import Files

GENERATIONS = {"2.5": 1, "5": 2, "8": 3, "16": 4, "32": 5, "64": 6}
"""GT/s of a lane to generation (PCI Express Base Specification, one doubling each)."""
MAX_LANES = 32
"""The widest link that PCI Express knows; 0 and 255 are what a virtual card shows."""
ATI = "0x1002"
ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
_SPEED = re.compile(r"(\d+(?:\.\d+)?) GT/s\b.*")


def read_pcie(files: Files, device: str) -> Pcie:
    """The link at ``device``, ``/sys/bus/pci/devices/0000:05:00.0``.

    Radeon cards and older Instinct ones have a switch of their own, and the link that matters is
    the one above it. What card and slot can do together is the lesser of both, or the card's own
    where nothing above it is seen, as in a virtual machine.
    """
    upper, port = _ends(files, device)
    card_generation = _generation(files, f"{upper}/max_link_speed")
    card_width = _width(files, f"{upper}/max_link_width")
    slot_generation = _generation(files, f"{port}/max_link_speed") if port else card_generation
    slot_width = _width(files, f"{port}/max_link_width") if port else card_width
    return Pcie(
        generation=_generation(files, f"{upper}/current_link_speed"),
        width=_width(files, f"{upper}/current_link_width"),
        max_generation=_lesser(card_generation, slot_generation),
        max_width=_lesser(card_width, slot_width),
        card_max_generation=card_generation,
        replays=whole(files, f"{device}/pcie_replay_count", least=0),
    )


def _generation(files: Files, path: str) -> Whole:
    """5 from ``32.0 GT/s PCIe``; older kernels write ``8 GT/s``, a virtual card ``Unknown``."""
    found = files.text(path)
    if isinstance(found, Absence):
        return found
    match = _SPEED.fullmatch(found)
    generation = GENERATIONS.get(match[1].removesuffix(".0")) if match else None
    return unreadable(path, found) if generation is None else generation


def _width(files: Files, path: str) -> Whole:
    lanes = whole(files, path, least=1)
    if isinstance(lanes, int) and lanes > MAX_LANES:
        return unreadable(path, str(lanes))
    return lanes


def _lesser(one: Whole, other: Whole) -> Whole:
    """Where the slot does not tell, the card's word stands; where the card does not, nothing."""
    if isinstance(one, Absence) or isinstance(other, Absence):
        return one
    return min(one, other)


def _ends(files: Files, device: str) -> tuple[str, str | None]:
    """The card's end of the link to the slot, and the port above it where one is seen."""
    try:
        real = files.at(device).resolve()
        below = real.relative_to(files.root.resolve())
    except (OSError, RuntimeError, ValueError):  # a loop of links, or one that leads outside
        return device, None
    parts = below.parts
    last = len(parts) - 1
    while last > 0 and ADDRESS.fullmatch(parts[last - 1]):
        above = "/" + "/".join(parts[:last])
        if files.text(f"{above}/vendor") != ATI:
            return "/" + "/".join(parts[: last + 1]), above
        last -= 1
    return "/" + "/".join(parts[: last + 1]), None
