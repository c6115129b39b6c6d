"""Cards and the devices that they show."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.compat.cards import by_card, count_cards, few, holder, is_ours, unlisted
from preflight.facts import Absence, BusCard
from preflight.records import Device


def device(index: int, pci: str | None = "0000:0a:00.0") -> Device:
    """A device at an address."""
    return Device(name=f"gpu{index}", node="a", kind="hip", product="AMD Instinct MI300X", pci=pci)


def on_bus(pci: str = "0000:1b:00.0", **fields: Any) -> BusCard:
    """A card on the PCI bus."""
    return BusCard(**{"pci": pci, "vendor": "NVIDIA", "pci_id": "10de:2901", **fields})


def test_slices_of_one_address_are_one_card() -> None:
    """CPX shows eight devices of one address; what has no address stands alone."""
    eight = [device(index) for index in range(8)]
    other = device(8, "0000:0b:00.0")
    alone = device(9, None), device(10, None)
    groups = by_card([*eight, other, *alone])
    assert [len(group) for group in groups] == [8, 1, 1, 1]
    assert groups[0] == tuple(eight)


@pytest.mark.parametrize(
    ("shares", "cards"),
    [((1, 1, 1), 3), ((2,) * 8, 4), ((2, 2, 2), 1), ((2,), 0), ((2, 2, 1), 2), ((), 0)],
)
def test_two_halves_are_one_card(shares: tuple[int, ...], cards: int) -> None:
    """Eight halves are four MI250X; a half alone is no card."""
    assert count_cards(shares) == cards


def test_what_the_driver_does_not_list_is_found_by_its_address() -> None:
    """Listed cards and the board's own display adapter are left out."""
    bus = (
        on_bus("0000:0a:00.0"),
        on_bus("0000:0b:00.0", is_accelerator=True),
        on_bus("0000:0c:00.0", is_accelerator=False),
        on_bus("0000:0d:00.0"),
    )
    assert [one.pci for one in unlisted(bus, [device(0)])] == ["0000:0b:00.0", "0000:0d:00.0"]


@pytest.mark.parametrize(
    ("driver", "words", "ours"),
    [
        ("vfio-pci", "held by vfio-pci", False),
        ("nvidia", "held by nvidia", True),
        ("amdgpu", "held by amdgpu", True),
        ("", "no driver has taken it", False),
        (Absence(reason="not found"), "no driver has taken it", False),
        (Absence(reason="no permission"), "its driver is unknown: no permission", False),
    ],
)
def test_who_holds_a_card_is_told(driver: str | Absence, words: str, ours: bool) -> None:
    """A driver that could not be read is not the same as none."""
    card = on_bus(driver=driver)
    assert (holder(card), is_ours(card)) == (words, ours)


def test_a_long_list_says_how_many_more() -> None:
    """Nothing is dropped without a word."""
    names = [f"gpu{index}" for index in range(10)]
    assert few(names[:2]) == "gpu0, gpu1"
    assert few(names, 3) == "gpu0, gpu1, gpu2, 7 more"
    assert few([]) == ""
