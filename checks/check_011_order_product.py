"""Stage order: are the cards of the product that was bought, and all alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

import pytest

from preflight.compat.claims import claim
from preflight.facts import known
from preflight.hardware.catalog import Product, identify, meant_by
from preflight.harness import REHEARSAL, CannotLook, Result, Situation
from preflight.records import Device

GIB = 1024**3
VIRTUAL = "vf"
"""Last word of a virtual function; ``AMD Instinct MI300X VF`` is a whole card on some clouds."""
SHARE_OF_WHOLE = 0.98
"""The memory that a driver shows of one product differs by less than this from version to version
(catalogue, ``memory_GiB``); what a slice of a card lacks is a half or more."""
LESSER = re.compile(r"d|laptop|mobile|mig|grid|vgpu|\d*[abcq]")
"""Words of lesser cards: export and laptop versions, MIG slices, vGPU profiles (``80C``)."""

Likeness = Literal["same", "alike", "doubtful", "other"]
"""``same`` by the catalogue, ``alike`` by its words, ``doubtful`` where it has further words."""


@pytest.mark.check(id="order.product", stage="order", deadline="10s")
def check_product(situation: Situation, result: Result) -> None:
    """Every card is of the product that was bought."""
    if not situation.has_cards:
        result.skip(REHEARSAL)
    bought = situation.order.product
    if bought is None:
        result.skip("no plan says which product was bought")
    cards, devices = situation.machine.cards, situation.inventory.devices
    if not devices:
        result.skip("no card was found; order.count and driver.present speak of that")
    _refuse_the_nameless(situation)
    result.attach("\n".join(f"{d.name} {_described(situation, d)}" for d in devices))
    likeness = {device.name: _compare(situation, bought, device) for device in devices}
    others = [d for d in devices if likeness[d.name] == "other"]
    doubtful = [d for d in devices if likeness[d.name] == "doubtful"]
    if others:
        result.fail(
            f"{bought} was bought; {_grouped(situation, others)}",
            claim(situation.order, f"another product than {bought} was delivered", others, cards),
        )
    elif doubtful:
        result.warn(
            f"{bought} was bought; {_grouped(situation, doubtful)}, which the catalogue does not "
            "know",
            "compare the name with the seller's offer: it may be another version of the product",
        )
    elif len({_name(situation, device) for device in devices}) > 1:
        result.fail(
            f"{bought} was bought, and the cards are not alike: {_grouped(situation, devices)}",
            claim(situation.order, "cards of more than one product came", devices, cards),
        )
    result.note("; ".join(filter(None, (devices[0].product, _basis(situation, devices[0])))))


def _compare(situation: Situation, bought: str, device: Device) -> Likeness:
    """How a device stands to what was bought."""
    meant, product = situation.bought, _known(situation, device)
    if not meant:
        return "alike" if _words(bought) <= _words(device.product) else "other"
    if product is not None:
        return "same" if product in meant else "other"
    if any(one in meant for one in meant_by(device.product)):
        return "alike"
    extra = _extra_words(device.product, meant)
    if extra is None or any(LESSER.fullmatch(word) for word in extra):
        return "other"
    if VIRTUAL in extra and device.memory_GiB is not None:
        whole = any(device.memory_GiB >= SHARE_OF_WHOLE * _memory_GiB(one) for one in meant)
        return "alike" if whole else "other"
    return "doubtful"


def _extra_words(name: str, meant: Sequence[Product]) -> set[str] | None:
    """Words of a driver's name beyond those of a product; None where it has not even these."""
    called = [text for one in meant for text in (one.family, one.name, *one.driver_names)]
    found = [_words(name) - _words(text) for text in called if _words(text) <= _words(name)]
    return min(found, key=len) if found else None


def _known(situation: Situation, device: Device) -> Product | None:
    """The product of a device, whatever its memory, of which order.memory speaks.

    Where name and PCI id contradict each other, the id has the word: a name can be set.
    """
    if product := situation.product_of(device):
        return product
    cards = {card.device: card for card in situation.machine.cards}
    pci_id = known(cards[device.name].pci_id) if device.name in cards else None
    return identify(device.product, architecture=device.architecture, pci_id=pci_id) or identify(
        "", architecture=device.architecture, pci_id=pci_id
    )


def _refuse_the_nameless(situation: Situation) -> None:
    """A product that could not be read is neither right nor wrong: raises CannotLook."""
    for absence in situation.inventory.absences:
        for device in situation.inventory.devices:
            if absence.what == f"product of {device.name}" and not _known(situation, device):
                raise CannotLook(
                    f"{absence.what} could not be read: {absence.reason}",
                    evidence=absence.detail,
                    action="mend what driver.answers names, then run again",
                )


def _grouped(situation: Situation, devices: Sequence[Device]) -> str:
    """``gpu0, gpu1 are NVIDIA H100 PCIe; gpu2 is NVIDIA H800``: every device is named."""
    groups: dict[str, list[str]] = {}
    for device in devices:
        groups.setdefault(_described(situation, device), []).append(device.name)
    return "; ".join(
        f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} {what}"
        for what, names in groups.items()
    )


def _described(situation: Situation, device: Device) -> str:
    """The driver's name, and the catalogue's where that is by the PCI id another product."""
    product = _known(situation, device)
    by_name = identify(device.product)
    if product is None or by_name in (None, product):
        return device.product
    return f"{device.product}, by its PCI id {product.name}"


def _name(situation: Situation, device: Device) -> str:
    """The catalogue's name, for drivers call one product by several; else the driver's."""
    product = _known(situation, device)
    return product.name if product else device.product


def _basis(situation: Situation, device: Device) -> str:
    """What a pass rests on, where it is not the catalogue's word."""
    if not situation.bought:
        return f"the catalogue does not know {situation.order.product}: words were compared"
    if _known(situation, device) is not None:
        return ""
    if VIRTUAL in _words(device.product):
        return "a virtual function (SR-IOV) with all the memory of the card"
    return "unknown to the catalogue by this name: words were compared"


def _memory_GiB(product: Product) -> float:
    return product.memory_GiB or product.device_memory_GB * 1e9 / GIB


def _words(text: str) -> set[str]:
    return set(filter(None, re.split(r"[^a-z0-9]+", text.lower())))
