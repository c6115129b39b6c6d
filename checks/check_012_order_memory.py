"""Stage order: have the cards the memory that was bought."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_high

import pytest

from preflight.compat.cards import by_card
from preflight.compat.claims import claim, identity
from preflight.facts import known
from preflight.hardware.catalog import Product, identify
from preflight.harness import REHEARSAL, CannotLook, Result, Situation, at_least
from preflight.records import Device

GIB = 1024**3
SHARE_OF_ADVERTISED = 0.95
SHARE_SOURCE = "95% of the advertised size, since drivers keep a little back"
SHARE_OF_REPORTED = 0.02
"""What the driver shows of one product differs by less from version to version (the catalogue's
``memory_GiB``, from listings of many drivers)."""
MOST_OF_ADVERTISED = 1.05
"""Sellers write GB and mean GiB: 192 GB of an MI300X are 192 GiB, and no product has more."""
SHARE_OF_NEIGHBOURS = 0.99
"""Equal cards under one driver report equal sizes, to a few MiB kept for retired pages."""
SHARE_WITH_ECC = 0.93
"""ECC on GDDR takes a sixteenth of the memory (NVIDIA, RTX 6000 Ada: 48 GB, 45 GiB with ECC)."""
ECC_TAKES = "which takes a sixteenth of GDDR"


@pytest.mark.check(id="order.memory", stage="order", deadline="10s")
def check_memory(situation: Situation, result: Result) -> None:
    """Every card has the memory that was bought."""
    if not situation.has_cards:
        result.skip(REHEARSAL)
    order, devices = situation.order, situation.inventory.devices
    if order.memory_GB is None and not situation.bought:
        result.skip("no plan says how much memory a card has")
    cards = {card.device: card for card in situation.machine.cards}
    if not devices:
        result.skip("no card was found; order.count and driver.present speak of that")
    whole = [group[0] for group in by_card(devices) if len(group) == 1]
    if not whole:
        result.skip("the cards are divided into slices; order.whole speaks of that")
    judged = [d for d in whole if not _shares_memory(situation, d)]
    if not judged:
        result.skip("the memory is the host's, which system.memory shows")
    result.attach("\n".join(f"{identity(d, cards)}: {d.memory_GiB} GiB" for d in devices))
    sized = [d for d in judged if d.memory_GiB is not None]
    for judge in (_against_the_order, _against_neighbours, _against_the_product):
        judge(situation, sized, result)
    _measure(situation, sized, result)
    _refuse_the_unread(situation, judged)


def _against_the_order(situation: Situation, devices: Sequence[Device], result: Result) -> None:
    """What the order says in GB, against each card."""
    bought_GB = situation.order.memory_GB
    if bought_GB is None:
        return
    short = [d for d in devices if _GB(d) < SHARE_OF_ADVERTISED * bought_GB / _share(situation, d)]
    if short:
        share = _share(situation, short[0])
        halves = f" ({share} devices make one card)" if share > 1 else ""
        result.fail(
            f"{bought_GB:.0f} GB were bought; {_listed(short)}{halves}", _claim(situation, short)
        )


def _against_neighbours(situation: Situation, devices: Sequence[Device], result: Result) -> None:
    """A card among equals that has less than they have."""
    for device in devices:
        equals_GiB = [_GiB(d) for d in devices if d.product == device.product]
        usual_GiB = median_high(equals_GiB)
        if _GiB(device) >= SHARE_OF_NEIGHBOURS * usual_GiB:
            continue
        reason = (
            f"{device.name} reports {_GiB(device):.1f} GiB where the others report {usual_GiB:.1f}"
        )
        if _has_ecc(situation, device) and _GiB(device) >= SHARE_WITH_ECC * usual_GiB:
            result.warn(f"{reason}: ECC is on there, {ECC_TAKES}", _without_ecc(device))
        else:
            result.fail(reason, _claim(situation, [device]))


def _against_the_product(situation: Situation, devices: Sequence[Device], result: Result) -> None:
    """What the driver reports for this product elsewhere, against each card."""
    for device in devices:
        meant = _meant(situation, device)
        if not meant:
            continue
        least_GiB = min(_range_GiB(product)[0] for product in meant)
        most_GiB = max(_range_GiB(product)[1] for product in meant)
        usual = " or ".join(sorted({_usual(product) for product in meant}))
        reason = f"{device.name} reports {_GiB(device):.1f} GiB; usual is {usual}"
        if _GiB(device) > most_GiB:
            result.warn(
                f"{reason}: no stock card has more",
                "ask the seller what it is: a rebuilt card, or another product under this name",
            )
        elif _GiB(device) >= least_GiB:
            continue
        elif _has_ecc(situation, device) and _GiB(device) >= SHARE_WITH_ECC * least_GiB:
            result.warn(f"{reason}: ECC is on, {ECC_TAKES}", _without_ecc(device))
        else:
            result.fail(reason, _claim(situation, [device]))


def _measure(situation: Situation, devices: Sequence[Device], result: Result) -> None:
    """The smallest card, and all of them together against all that was bought."""
    if not devices:
        return
    bought_GB, gpus, nodes = situation.order.memory_GB, situation.order.gpus, situation.order.nodes
    least, total_GB = min(devices, key=_GiB), sum(map(_GB, devices))
    of_one = of_all = None
    if bought_GB is not None:
        floor_GB = SHARE_OF_ADVERTISED * bought_GB
        of_one = at_least(floor_GB / _share(situation, least), SHARE_SOURCE)
        cards = (gpus or 0) / (nodes or 1)
        if cards and None not in {d.memory_GiB for d in situation.inventory.devices}:
            of_all = at_least(floor_GB * cards, f"{SHARE_SOURCE}, of every card bought")
            if total_GB < of_all.value:
                together = f"{len(devices)} device(s) have {total_GB:.0f} GB together"
                result.fail(
                    f"{cards:g} x {bought_GB:.0f} GB were bought; {together}",
                    "order.count names the cards that are missing and how to get them back",
                )
    result.measure("memory of the smallest card", _GB(least), "GB", limit=of_one)
    result.measure("memory of all cards", total_GB, "GB", limit=of_all)
    result.note(f"{_GB(least):.0f} GB")


def _refuse_the_unread(situation: Situation, devices: Sequence[Device]) -> None:
    """A memory that could not be read is neither enough nor too little: raises CannotLook."""
    for device in devices:
        if device.memory_GiB is None:
            asked = f"memory of {device.name}"
            why = [a for a in situation.inventory.absences if a.what == asked]
            raise CannotLook(
                f"{asked} could not be read" + (f": {why[0].reason}" if why else ""),
                evidence=why[0].detail if why else "",
                action="mend what driver.answers names, then run again",
            )


def _claim(situation: Situation, devices: Sequence[Device]) -> str:
    what = "cards with less memory were delivered"
    return claim(situation.order, what, devices, situation.machine.cards)


def _without_ecc(device: Device) -> str:
    card = device.pci or device.name.removeprefix("gpu")
    return f"sudo nvidia-smi -i {card} -e 0 and a reboot give it back, without that protection"


def _meant(situation: Situation, device: Device) -> tuple[Product, ...]:
    """What a device is by its name, if that was bought; else all that may have been bought."""
    named = identify(device.product, architecture=device.architecture)
    bought = tuple(product for product in situation.bought if not product.unified_memory)
    return (named,) if named in bought and named is not None else bought


def _range_GiB(product: Product) -> tuple[float, float]:
    """Least and most that a driver shows for one device."""
    if product.memory_GiB is not None:
        spread_GiB = SHARE_OF_REPORTED * product.memory_GiB
        return product.memory_GiB - spread_GiB, product.memory_GiB + spread_GiB
    advertised = product.device_memory_GB
    return SHARE_OF_ADVERTISED * advertised * 1e9 / GIB, MOST_OF_ADVERTISED * advertised


def _usual(product: Product) -> str:
    if product.memory_GiB is not None:
        return f"{product.memory_GiB:.1f} GiB for {product.name}"
    return f"{product.device_memory_GB:.0f} GB for {product.name}"


def _shares_memory(situation: Situation, device: Device) -> bool:
    product = situation.product_of(device) or identify(device.product)
    return product is not None and product.unified_memory


def _share(situation: Situation, device: Device) -> int:
    """Devices that share the memory of one card."""
    meant = _meant(situation, device) or (situation.product_of(device),)
    return meant[0].devices_per_card if meant[0] else 1


def _has_ecc(situation: Situation, device: Device) -> bool:
    cards = {card.device: card for card in situation.machine.cards}
    return device.name in cards and known(cards[device.name].ecc.enabled) is True


def _listed(devices: Sequence[Device]) -> str:
    """``gpu1, gpu2 have 43 GB; gpu3 has 64 GB``."""
    groups: dict[str, list[str]] = {}
    for device in devices:
        groups.setdefault(f"{_GB(device):.0f} GB", []).append(device.name)
    return "; ".join(
        f"{', '.join(names)} {'has' if len(names) == 1 else 'have'} {size}"
        for size, names in groups.items()
    )


def _GiB(device: Device) -> float:
    assert device.memory_GiB is not None, "only devices whose memory is known are compared"
    return device.memory_GiB


def _GB(device: Device) -> float:
    return _GiB(device) * GIB / 1e9
