"""Stage order: how many cards and nodes were bought, and how many are there."""

from __future__ import annotations

import pytest

from preflight.compat.cards import by_card, count_cards, few
from preflight.compat.claims import claim, identity
from preflight.compat.missing_cards import MissingCards, is_a_variable, not_answering
from preflight.events import Inventory
from preflight.harness import REHEARSAL, CannotLook, Result, Situation, at_least

UNCOUNTED = (
    "deadline",
    "failed",
    "library and kernel module differ",
    "no permission",
    "not readable",
)
"""Reasons with which a driver that shows nothing has not said that there is nothing."""


@pytest.mark.check(id="order.count", stage="order", deadline="10s")
def check_count(situation: Situation, result: Result) -> None:
    """As many cards are visible as were bought."""
    if not situation.has_cards:
        result.skip(REHEARSAL)
    bought = _bought_here(situation, result)
    machine, inventory = situation.machine, situation.inventory
    _refuse_to_guess(inventory)
    found, each = _counted(situation)
    cards = {card.device: card for card in machine.cards}
    result.attach("\n".join(f"{identity(d, cards)} {d.product}" for d in inventory.devices))
    product = situation.order.product or "cards"
    if found < bought:
        missing = _missing(situation, bought - found)
        head = f"{found} of {bought} {product} {'was' if found == 1 else 'were'} found"
        where = "; ".join([*_seen(inventory, each), *missing.sentences()])
        result.fail(": ".join(filter(None, (head, where))), missing.action())
    elif found > bought:
        result.warn(
            f"{found} {product} are visible and {bought} were bought: the others may be somebody's",
            "name yours in CUDA_VISIBLE_DEVICES (AMD: ROCR_VISIBLE_DEVICES), or correct gpus in "
            "[order] of the plan",
        )
    elif lost := not_answering(inventory):
        result.warn(
            f"all {bought} {product} that were bought are visible; {lost}",
            claim(situation.order, f"beside what was bought there is a sick card ({lost})"),
        )
    result.measure("cards", found, "1", limit=at_least(bought, "the order"))
    hidden = f"; hidden: {few(inventory.hidden)}" if inventory.hidden else ""
    result.note(f"{found} of {bought}{hidden}")


@pytest.mark.check(id="order.nodes", stage="order", deadline="10s", required=False)
def check_nodes(situation: Situation, result: Result) -> None:
    """The run saw every node that was bought."""
    if not situation.has_cards:
        result.skip(REHEARSAL)
    bought, seen = situation.order.nodes, len(situation.inventory.nodes)
    if bought is None:
        result.skip("no plan says how many nodes were bought")
    if bought == 1:
        result.skip("one node was bought")
    if seen < bought:
        result.warn(
            f"this run saw {seen} of {bought} nodes",
            "run it on each of the others too: what stands here says nothing of them",
        )
    result.measure("nodes", seen, "1")
    result.note(f"{seen} of {bought} nodes")


def _bought_here(situation: Situation, result: Result) -> int:
    """Cards bought for this node; skips where nothing says it."""
    gpus, nodes = situation.order.gpus, situation.order.nodes or 1
    if gpus is None:
        result.skip("no plan says how many cards were bought")
    if gpus % nodes:
        result.skip(f"{gpus} cards do not divide by {nodes} nodes: this one's share is not known")
    return gpus // nodes


def _refuse_to_guess(inventory: Inventory) -> None:
    """No device and a call that went wrong is no count of 0: raises CannotLook."""
    for absence in () if inventory.devices else inventory.absences:
        about_counting = not absence.what.startswith("/dev/") and not is_a_variable(absence.what)
        if about_counting and absence.reason in UNCOUNTED:
            raise CannotLook(
                f"the cards could not be counted: {absence.what}: {absence.reason}",
                evidence=absence.detail,
                action="mend what driver.present names, then run again",
            )


def _counted(situation: Situation) -> tuple[int, int]:
    """Whole cards, and how many devices each shows."""
    shares = []
    for group in by_card(situation.inventory.devices):
        product = situation.product_of(group[0]) or next(iter(situation.bought), None)
        shares.append(product.devices_per_card if product else 1)
    return count_cards(shares), max(shares, default=1)


def _seen(inventory: Inventory, each: int) -> list[str]:
    """The devices that are there, by the address that finds them."""
    devices, groups = inventory.devices, by_card(inventory.devices)
    named = few([f"{one.name} {one.pci or one.uuid or ''}".strip() for one, *_ in groups])
    if each > 1:
        named += f" ({each} devices make one card, {len(devices)} are there)"
    elif len(groups) < len(devices):
        named += f" (divided into {len(devices)} devices: order.whole speaks of that)"
    return [named] if devices else []


def _missing(situation: Situation, count: int) -> MissingCards:
    devices, bought = situation.inventory.devices, situation.bought
    vendors = {"NVIDIA" if device.kind == "cuda" else "AMD" for device in devices}
    vendors = vendors or {product.vendor for product in bought}
    return MissingCards(
        count=count,
        order=situation.order,
        inventory=situation.inventory,
        machine=situation.machine,
        container=situation.container,
        vendor=vendors.pop() if len(vendors) == 1 else None,
    )
