"""What to tell the seller: the order, what is wrong with it, and which cards are meant."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from preflight.compat.cards import few
from preflight.facts import Card, known
from preflight.records import Device, Order


def claim(
    order: Order,
    what: str,
    devices: Sequence[Device] = (),
    cards: Iterable[Card] = (),
    *,
    called: str = "the cards",
) -> str:
    """``send the seller this report (order ORD-1042): ...``, ending with who the devices are."""
    reference = f" (order {order.reference})" if order.reference else ""
    by_name = {card.device: card for card in cards}
    identities = few([identity(device, by_name) for device in devices])
    return f"send the seller this report{reference}: {what}" + (
        f"; {called}: {identities}" if identities else ""
    )


def identity(device: Device, cards: Mapping[str, Card]) -> str:
    """``gpu0 GPU-77a1... serial 1652...``: by what a seller finds a card."""
    card = cards.get(device.name)
    serial = known(card.serial) if card else None
    parts = (device.name, device.uuid or device.pci, f"serial {serial}" if serial else None)
    return " ".join(part for part in parts if part)
