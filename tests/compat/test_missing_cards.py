"""Cards that were bought and are not to be seen."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.compat.missing_cards import MissingCards, is_a_card, not_answering
from preflight.events import Inventory
from preflight.facts import Absence, BusCard, Machine
from preflight.records import Device, Host, Order

THERE = Device(name="gpu0", node="a", kind="cuda", product="NVIDIA B200", pci="0000:0a:00.0")


def on_bus(pci: str, driver: str = "nvidia", vendor: str = "NVIDIA") -> BusCard:
    """A card on the PCI bus."""
    return BusCard(pci=pci, vendor=vendor, pci_id="10de:2901", driver=driver)


def missing(
    *bus: BusCard, count: int = 1, hidden: tuple[str, ...] = (), **fields: Any
) -> MissingCards:
    """One B200 is there, and the bus has these."""
    return MissingCards(
        count=count,
        order=Order(),
        inventory=Inventory(host=Host(name="a"), nodes=(), devices=(THERE,), hidden=hidden),
        machine=Machine(node="a", bus=bus),
        vendor="NVIDIA",
        **fields,
    )


def test_hidden_cards_are_on_the_bus_too() -> None:
    """Their addresses are not told: what the driver has may be hidden, what it has not is not."""
    bus = on_bus("0000:0a:00.0"), on_bus("0000:0b:00.0"), on_bus("0000:0c:00.0", "vfio-pci")
    assert [one.pci for one in missing(*bus).on_the_bus] == ["0000:0b:00.0", "0000:0c:00.0"]
    hiding = missing(*bus, hidden=("gpu1 (NVIDIA B200) by CUDA_VISIBLE_DEVICES=0",))
    assert [one.pci for one in hiding.on_the_bus] == ["0000:0c:00.0"]


def test_cards_of_another_vendor_are_none_of_them() -> None:
    """An AMD card beside is no missing B200."""
    assert missing(on_bus("0000:0b:00.0", vendor="AMD")).on_the_bus == ()


def test_what_a_container_was_not_given_explains_no_more_than_it_has() -> None:
    """Two are missing and the host has one: the other is the seller's."""
    action = missing(on_bus("0000:0b:00.0"), count=2, container="docker").action()
    assert action.startswith("start the container with all its cards: --gpus all")
    assert "send the seller this report: 2 card(s) missing" in action


def test_what_a_device_cgroup_keeps_away_is_passed_in() -> None:
    """No variable hides it: the container has to be given its devices."""
    hidden = ("KFD node 3 (a card) by the device cgroup of this container",)
    action = missing(hidden=hidden, container="docker").action()
    assert action.startswith("start the container with all its cards")
    assert "take away" not in action and "seller" not in action


def test_an_unread_bus_is_said() -> None:
    """Nobody claims that there is no further card where nobody could look."""
    unread = Machine(node="a", bus=Absence(what="/sys/bus/pci/devices", reason="not found"))
    found = MissingCards(
        count=1,
        order=Order(),
        inventory=Inventory(host=Host(name="a"), nodes=(), devices=(THERE,)),
        machine=unread,
    )
    assert "(the PCI bus could not be read)" in found.action()


@pytest.mark.parametrize(
    ("what", "answer"), [("gpu3", True), ("gpu", False), ("memory of gpu3", False), ("NVML", False)]
)
def test_a_card_as_a_whole(what: str, answer: bool) -> None:
    """A fact of a card that is missing leaves the card."""
    assert is_a_card(what) is answer


def test_many_that_do_not_answer_are_told_shortly() -> None:
    """Ten lost cards are one line."""
    absences = tuple(Absence(what=f"gpu{index}", reason="device lost") for index in range(10))
    found = Inventory(host=Host(name="a"), nodes=(), absences=absences)
    assert not_answering(found).endswith("gpu7: device lost, 2 more")
