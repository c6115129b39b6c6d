"""What the seller is told."""

from __future__ import annotations

from preflight.compat.claims import claim, identity
from preflight.facts import Card
from preflight.records import Device, Order

DEVICE = Device(name="gpu0", node="a", kind="cuda", product="NVIDIA B200", uuid="GPU-5d1c")


def test_the_order_and_the_cards_are_named() -> None:
    """A seller finds an order by its reference, a card by UUID and serial number."""
    words = claim(
        Order(reference="ORD-1042"),
        "1 missing",
        [DEVICE],
        [Card(device="gpu0", serial="1652923")],
    )
    assert words == (
        "send the seller this report (order ORD-1042): 1 missing; the cards: gpu0 GPU-5d1c "
        "serial 1652923"
    )


def test_what_is_not_known_is_left_out() -> None:
    """No empty brackets, and the PCI address in place of a UUID."""
    assert claim(Order(), "all gone") == "send the seller this report: all gone"
    bare = Device(name="gpu1", node="a", kind="hip", product="X", pci="0000:0a:00.0")
    assert identity(bare, {}) == "gpu1 0000:0a:00.0"
