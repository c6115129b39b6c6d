"""Stage order: what was bought against what is there."""

from __future__ import annotations

import re

import pytest

from preflight.events import Inventory
from preflight.harness import Result, Situation, exactly

REHEARSAL = "a rehearsal has no cards"
_CARD = re.compile(r"gpu\d+")


@pytest.mark.check(id="order.count", stage="order", deadline="10s")
def check_count(situation: Situation, result: Result) -> None:
    """As many cards are visible as were bought."""
    bought = _bought_here(situation, result)
    devices = situation.inventory.devices
    result.advise(
        "show the seller this report; a card that the host has and you do not see is a matter of "
        "the container's devices or of CUDA_VISIBLE_DEVICES / ROCR_VISIBLE_DEVICES"
    )
    found = len(devices)
    missing = _not_seen(situation.inventory)
    if found != bought:
        listed = ", ".join(f"{d.name} {d.pci or d.uuid or ''}".strip() for d in devices) or "none"
        result.fail(f"{bought} cards were bought and {found} are visible: {listed}{missing}")
    elif missing:
        result.warn(f"all {bought} cards that were bought are visible{missing}")
    result.measure("cards", found, "1", limit=exactly(bought, "the order"))
    result.note(f"{found} of {bought}")


@pytest.mark.check(id="order.product", stage="order", deadline="10s")
def check_product(situation: Situation, result: Result) -> None:
    """Every card is of the product that was bought."""
    if situation.is_rehearsal:
        result.skip(REHEARSAL)
    product = situation.order.product
    if product is None:
        result.skip("no plan says which product was bought")
    devices = situation.inventory.devices
    if not devices:
        result.skip("no card was found; order.count and driver.present speak of that")
    result.advise("show the seller this report: another product was delivered")
    others = [d for d in devices if not _is_product(d.product, product)]
    if others:
        names = ", ".join(f"{d.name} is {d.product}" for d in others)
        result.fail(f"{product} was bought; {names}")
    result.note(devices[0].product)


def _not_seen(inventory: Inventory) -> str:
    """Cards that exist and that no check can reach, with the reason; empty where there is none."""
    lost = [f"{a.what}: {a.reason}" for a in inventory.absences if _CARD.fullmatch(a.what)]
    hidden = inventory.hidden
    return "".join(
        f"; {what} " + ", ".join(cards)
        for what, cards in (("hidden:", hidden), ("not answering:", lost))
        if cards
    )


def _bought_here(situation: Situation, result: Result) -> int:
    """Cards bought for this node; skips where nothing says it."""
    if situation.is_rehearsal:
        result.skip(REHEARSAL)
    gpus, nodes = situation.order.gpus, situation.order.nodes or 1
    if gpus is None:
        result.skip("no plan says how many cards were bought")
    if nodes > 1:
        result.skip(f"the order spans {nodes} nodes and this run sees one")
    return gpus


def _is_product(found: str, bought: str) -> bool:
    """Whether the driver's name holds every word of the plan's, whatever the marks between."""
    words = set(re.split(r"[^a-z0-9]+", found.lower()))
    return set(filter(None, re.split(r"[^a-z0-9]+", bought.lower()))) <= words
