"""Stage order: are the cards joined by the link that was bought, and is each a whole one."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from preflight.compat.cards import by_card, few
from preflight.compat.claims import claim
from preflight.compat.links import Pair, pairs
from preflight.facts import ORDINARY, Absence, Card
from preflight.hardware.catalog import Product
from preflight.harness import REHEARSAL, CannotLook, Result, Situation
from preflight.records import Device


@pytest.mark.check(id="order.link", stage="order", deadline="10s")
def check_link(situation: Situation, result: Result) -> None:
    """Every pair of cards is joined by the link that was bought."""
    if not situation.has_cards:
        result.skip(REHEARSAL)
    kind = situation.order.link or _implied(situation.bought)
    if kind is None:
        result.skip("neither the plan nor the product that was bought promises a link")
    if kind == "pcie":
        result.note("pcie was bought, and nothing faster is promised")
        return
    machine = situation.machine
    devices = [group[0] for group in by_card(situation.inventory.devices)]
    if len(devices) < 2:
        result.skip("fewer than two cards: there is no other one to be joined to")
    cards = {card.device: card for card in machine.cards}
    found = pairs(devices, kind, topology=machine.topology, cards=cards)
    result.attach("\n".join(map(str, found)))
    bridged = _is_by_bridges(situation, devices) and any(pair.is_joined for pair in found)
    trouble = _alone(found) if bridged else _apart(found, kind)
    if trouble:
        products = few(sorted({_called(situation, device) for device in devices}))
        result.fail(
            f"{kind} was bought; {trouble}; the cards: {products}",
            claim(situation.order, f"cards without {kind} were delivered, or its links are down"),
        )
        return
    _refuse_the_unread([pair for pair in found if pair.is_joined is None], cards)
    ways = few(sorted({pair.way for pair in found}))
    result.note(f"{len(found)} pair(s) of cards: {ways}")


@pytest.mark.check(id="order.whole", stage="order", deadline="10s")
def check_whole(situation: Situation, result: Result) -> None:
    """Every card is whole: neither divided into MIG slices nor into compute partitions."""
    if not situation.has_cards:
        result.skip(REHEARSAL)
    if situation.order.gpus is None and situation.order.product is None:
        result.skip("no plan says what was bought")
    cards, devices = situation.machine.cards, situation.inventory.devices
    if not devices:
        result.skip("no card was found; order.count and driver.present speak of that")
    divided: dict[str, list[str]] = {}
    for device in devices:
        divided.setdefault(_division(situation, device), []).append(device.name)
    divided.pop("", None)
    if divided:
        named = "; ".join(f"{few(names)} {words}" for words, names in divided.items())
        names = [name for names in divided.values() for name in names]
        result.fail(f"slices are not cards: {named}", _undivide(situation, names))
        return
    for card in cards:
        for fact in (card.mig, card.partition):
            if isinstance(fact, Absence) and fact.reason not in ORDINARY:
                raise CannotLook(
                    f"whether {card.device} is divided could not be read: "
                    f"{fact.what or 'MIG mode or compute partition'}: {fact.reason}",
                    evidence=fact.detail,
                    action="mend what driver.answers names, then run again",
                )
    result.note(f"{len(by_card(devices))} whole card(s)")


def _implied(bought: Sequence[Product]) -> str | None:
    """The link that every product that may have been bought has to have."""
    kinds = {one.link.kind if one.link and not one.link.optional else None for one in bought}
    return kinds.pop() if len(kinds) == 1 else None


def _is_by_bridges(situation: Situation, devices: Sequence[Device]) -> bool:
    """Whether bridges join the cards that were bought, each with one to three others, not all."""
    products = situation.bought or [situation.product_of(device) for device in devices]
    return all(one and one.link and one.link.shape == "bridge" for one in products)


def _apart(found: Sequence[Pair], kind: str) -> str:
    """Pairs that the link does not join; empty where it joins all."""
    apart = [str(pair) for pair in found if pair.is_joined is False]
    words = f"{len(apart)} of {len(found)} pairs of cards have no {kind}: {few(apart, 4)}"
    return words if apart else ""


def _alone(found: Sequence[Pair]) -> str:
    """Cards without any partner; empty where a bridge joins each with one."""
    apart = [pair for pair in found if pair.is_joined is False]
    paired = {name for pair in found if pair not in apart for name in (pair.first, pair.second)}
    names = dict.fromkeys(name for pair in apart for name in (pair.first, pair.second))
    alone = [name for name in names if name not in paired]
    return f"no bridge joins {few(alone)} with another card" if alone else ""


def _refuse_the_unread(unknown: Sequence[Pair], cards: dict[str, Card]) -> None:
    """Neither topology nor links are told for a pair: raises CannotLook, naming the call."""
    for pair in unknown:
        links = [cards[name].links for name in (pair.first, pair.second) if name in cards]
        why = next((one for one in links if isinstance(one, Absence)), None)
        asked = f": {why.what or 'links'}: {why.reason}" if why else ""
        raise CannotLook(
            f"how {pair.first} and {pair.second} are joined could not be read{asked}",
            evidence=why.detail if why else "",
            action="look at nvidia-smi topo -m, or rocm-smi --showtopo, and compare with the order",
        )


def _called(situation: Situation, device: Device) -> str:
    product = situation.product_of(device)
    return product.name if product else device.product


def _division(situation: Situation, device: Device) -> str:
    """How a device is divided, or of what it is a slice; empty for a whole card."""
    card = {card.device: card for card in situation.machine.cards}.get(device.name)
    if (device.uuid or "").startswith("MIG-"):
        return f"by UUID a MIG slice ({device.product})"
    if card is not None and card.mig is True:
        slices = () if isinstance(card.mig_slices, Absence) else card.mig_slices
        return f"with MIG on ({few(slices) or 'no slice made, so no program can use it'})"
    if card is not None and isinstance(card.partition, str) and card.partition.upper() != "SPX":
        return f"in compute partition {card.partition}"
    same = [d.name for d in situation.inventory.devices if d.pci and d.pci == device.pci]
    return f"on one card, {device.pci}" if len(same) > 1 else ""


def _undivide(situation: Situation, names: Sequence[str]) -> str:
    """The command that makes the first of them whole again, and for whom it is."""
    device = situation.device(names[0])
    if device.kind == "hip":
        command = "sudo amd-smi set --gpu all --compute-partition SPX"
    else:
        command = f"sudo nvidia-smi -i {device.pci or device.name.removeprefix('gpu')} -mig 0"
    more = ", likewise for the others" if device.kind != "hip" and len(names) > 1 else ""
    where = "on the host, with no program on the card"
    claimed = claim(situation.order, "slices were delivered for cards")
    return f"{command} ({where}{more}); without the right to do that, {claimed}"
