"""Cards and the devices that they show: a divided card shows several, a double one two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from preflight.facts import Absence, BusCard
from preflight.records import Device

OWN_DRIVERS = ("nvidia", "amdgpu")
"""Kernel drivers through which a card computes; another one has taken it away from us."""

UNHELD = "no driver has taken it"


def by_card(devices: Iterable[Device]) -> tuple[tuple[Device, ...], ...]:
    """Devices of one PCI address together, in the order of their first.

    The slices of a divided card (MIG, AMD's CPX) share its address. A device without an address is
    a card by itself.
    """
    groups: dict[str, list[Device]] = {}
    for device in devices:
        groups.setdefault(device.pci or device.name, []).append(device)
    return tuple(tuple(group) for group in groups.values())


def count_cards(shares: Iterable[int]) -> int:
    """Whole cards; ``shares`` holds, for each PCI address, how many of them make one card.

    Two for an MI250X, whose halves have addresses of their own, one for nearly all others.
    """
    return sum(count // share for share, count in Counter(shares).items())


def unlisted(bus: Iterable[BusCard], devices: Iterable[Device]) -> tuple[BusCard, ...]:
    """Accelerators on the PCI bus that are not among ``devices``, which the driver lists.

    The bus also shows the display adapter of a board, which is left out.
    """
    listed = {device.pci for device in devices}
    return tuple(one for one in bus if one.pci not in listed and one.is_accelerator is not False)


def holder(card: BusCard) -> str:
    """Who has taken a card on the bus, to stand after its address: ``held by vfio-pci``."""
    if isinstance(card.driver, Absence):
        if card.driver.reason not in ("not found", "not asked"):
            return f"its driver is unknown: {card.driver.reason}"
        return UNHELD
    if card.driver in ("", "none"):
        return UNHELD
    return f"held by {card.driver}"


def is_ours(card: BusCard) -> bool:
    """Whether the driver through which it computes has taken a card on the bus."""
    return card.driver in OWN_DRIVERS


def few(items: Sequence[str], most: int = 8) -> str:
    """``gpu0, gpu1, gpu2``, and from ``most`` on how many more: ``..., 4 more``."""
    rest = len(items) - most
    return ", ".join([*items[:most], *([f"{rest} more"] if rest > 0 else [])])
