"""Stage order: what was bought against what is there."""

from __future__ import annotations

import re

import pytest

from preflight.events import Inventory
from preflight.harness import Result, Situation, at_least, exactly

REHEARSAL = "a rehearsal has no cards"
GIB = 1024**3
SHARE_OF_MEMORY = 0.95
SHARE_SOURCE = "95% of the advertised size, since drivers keep a little back"
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


@pytest.mark.check(id="order.memory", stage="order", deadline="10s")
def check_memory(situation: Situation, result: Result) -> None:
    """Every card has the memory that was bought."""
    if situation.is_rehearsal:
        result.skip(REHEARSAL)
    bought_GB = situation.order.memory_GB
    if bought_GB is None:
        result.skip("no plan says how much memory a card has")
    known = [(d, d.memory_GiB * GIB / 1e9) for d in situation.inventory.devices if d.memory_GiB]
    if not known:
        result.skip("no card, or no driver that tells its memory; driver.present speaks of that")
    result.advise("show the seller this report: cards with less memory were delivered")
    least, least_GB = min(known, key=lambda pair: pair[1])
    if least_GB < SHARE_OF_MEMORY * bought_GB:
        result.fail(f"{bought_GB:.0f} GB were bought; {least.name} has {least_GB:.0f} GB")
    limit = at_least(SHARE_OF_MEMORY * bought_GB, SHARE_SOURCE)
    result.measure("memory of the smallest card", least_GB, "GB", limit=limit)
    result.note(f"{least_GB:.0f} GB")


def _bought_here(situation: Situation, result: Result) -> int:
    """Cards bought for this node; skips where nothing says it."""
    if situation.is_rehearsal:
        result.skip(REHEARSAL)
    gpus, nodes = situation.order.gpus, situation.order.nodes or 1
    if gpus is None:
        result.skip("no plan says how many cards were bought")
    if gpus % nodes:
        result.skip(f"{gpus} cards do not divide by {nodes} nodes: this one's share is not known")
    return gpus // nodes


def _is_product(found: str, bought: str) -> bool:
    """Whether the driver's name holds every word of the plan's, whatever the marks between."""
    words = set(re.split(r"[^a-z0-9]+", found.lower()))
    return set(filter(None, re.split(r"[^a-z0-9]+", bought.lower()))) <= words
