"""The judgement of which product was bought and which came."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.facts import Absence, Card
from preflight.harness import CannotLook
from preflight.harness.result import Result
from preflight.records import Device

from .situations import card, facts, judged, load, mi300x, rehearsal, situation

order = load("check_011_order_product.py")


def named(product: str, index: int = 0, **fields: Any) -> Device:
    """A device of this name, whose other facts nobody could read."""
    return card(index, **{"product": product, "memory_GiB": None, "architecture": None, **fields})


def compared(bought: str, *devices: Device, **fields: Any) -> Result:
    """What the check says of these devices."""
    made = situation(devices=devices, order={"product": bought, "reference": "ORD-7"}, **fields)
    return judged(order.check_product, made)


@pytest.mark.parametrize(
    ("found", "bought"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA H100 80GB HBM3", "H100-80GB"),
        ("NVIDIA H100 80GB HBM3", "H100 SXM"),
        ("NVIDIA H100 80GB HBM3", "NVIDIA H100"),
        ("NVIDIA H100 PCIe", "H100 PCIe"),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB"),
        ("NVIDIA B200", "B200"),
        ("AMD Instinct MI300X", "MI300X"),
        ("AMD Instinct MI300X OAM", "MI300X"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000"),
    ],
)
def test_the_product_that_was_bought(found: str, bought: str) -> None:
    """An order names a product in many ways, a driver in its own."""
    result = compared(bought, named(found), named(found, 1))
    assert (result.status, result.reason) == ("pass", found)


@pytest.mark.parametrize(
    ("found", "bought"),
    [
        ("NVIDIA H100 80GB HBM3", "H200"),
        ("NVIDIA H200", "H100"),
        ("NVIDIA GB200", "B200"),
        ("NVIDIA A100-SXM4-40GB", "A100 80GB"),
        ("NVIDIA H100 PCIe", "H100 SXM"),
        ("NVIDIA H100 PCIe", "H100 NVL"),
        ("NVIDIA H100 NVL", "H100 SXM5"),
        ("AMD Instinct MI300A", "MI300X"),
        ("NVIDIA H20", "H200"),
        ("NVIDIA H20", "H100"),
        ("NVIDIA H800", "H100"),
        ("NVIDIA A800-SXM4-80GB", "A100 80GB"),
        ("NVIDIA GeForce RTX 5090 D", "RTX 5090"),
        ("NVIDIA GeForce RTX 4090 Laptop GPU", "RTX 4090"),
        ("NVIDIA H100-80C", "H100"),
        ("NVIDIA Tesla T4", "H100"),
        ("NVIDIA H100 80GB HBM3", "H10"),
    ],
)
def test_another_product_fails(found: str, bought: str) -> None:
    """Another form, size or version is another product, named with its card."""
    result = compared(bought, named(found))
    assert result.status == "fail"
    assert result.reason == f"{bought} was bought; gpu0 is {found}"
    assert f"(order ORD-7): another product than {bought} was delivered" in result.action


def test_two_h100_for_pcie_are_not_sxm() -> None:
    """The renter of SXM who got PCIe is told of both cards by name."""
    pcie = [card(index, product="NVIDIA H100 PCIe") for index in range(2)]
    result = compared("H100 SXM", *pcie)
    assert result.reason == "H100 SXM was bought; gpu0, gpu1 are NVIDIA H100 PCIe"


def test_one_odd_card_is_named_alone() -> None:
    """Only the cards of another product are listed."""
    devices = card(0), card(1, product="NVIDIA A100-SXM4-80GB", architecture="sm_80")
    result = compared("H100", *devices)
    assert result.reason == "H100 was bought; gpu1 is NVIDIA A100-SXM4-80GB"
    assert "gpu1 GPU-00000001" in result.action and "gpu0 GPU" not in result.action


def test_the_pci_id_has_the_word_over_the_name() -> None:
    """A name can be set, an id is the chip's: an H800 that calls itself H100 is found."""
    machine = facts(Card(device="gpu0", pci_id="10de:2324"))
    result = compared("H100", card(0), machine=machine)
    assert result.status == "fail"
    assert result.reason == (
        "H100 was bought; gpu0 is NVIDIA H100 80GB HBM3, by its PCI id H800 SXM 80GB"
    )


def test_a_card_with_other_memory_is_no_other_product() -> None:
    """A rebuilt 4090 with 48 GiB is a 4090 here; order.memory speaks of the rest."""
    rebuilt = card(0, product="NVIDIA GeForce RTX 4090", memory_GiB=47.99, architecture="sm_89")
    assert compared("RTX 4090", rebuilt).status == "pass"


@pytest.mark.parametrize(
    ("memory_GiB", "status", "words"),
    [
        (191.98, "pass", "a virtual function (SR-IOV) with all the memory"),
        (95.9, "fail", "gpu0 is AMD Instinct MI300X VF"),
        (None, "warn", "the catalogue does not know"),
    ],
)
def test_a_virtual_function_is_judged_by_its_memory(
    memory_GiB: float | None, status: str, words: str
) -> None:
    """Clouds hand whole cards out as virtual functions, and halves too."""
    device = mi300x(product="AMD Instinct MI300X VF", memory_GiB=memory_GiB)
    result = compared("MI300X", device)
    assert (result.status, words in result.reason) == (status, True)


def test_a_name_that_the_catalogue_does_not_know_is_compared_by_words() -> None:
    """A further mark of the same product passes, and says on what it rests."""
    result = compared("H100 SXM", named("NVIDIA H100 SXM5 80GB"))
    assert result.status == "pass"
    assert result.reason == (
        "NVIDIA H100 SXM5 80GB; unknown to the catalogue by this name: words were compared"
    )


def test_an_unknown_version_of_the_family_is_in_doubt() -> None:
    """Neither a pass nor a failure: the renter compares it with the offer."""
    result = compared("H100", named("NVIDIA H100 Extra"))
    assert result.status == "warn"
    assert "gpu0 is NVIDIA H100 Extra, which the catalogue does not know" in result.reason
    assert "the seller's offer" in result.action


def test_an_order_that_the_catalogue_does_not_know_is_compared_by_words() -> None:
    """An old product passes by its words, with a note, and another one fails."""
    found = named("NVIDIA A10")
    result = compared("A10", found)
    assert (result.status, result.reason) == (
        "pass",
        "NVIDIA A10; the catalogue does not know A10: words were compared",
    )
    assert compared("A16", found).reason == "A16 was bought; gpu0 is NVIDIA A10"


def test_cards_that_are_not_alike_are_told() -> None:
    """H100 was bought without a form: both forms pass, and not both together."""
    devices = card(0), card(1, product="NVIDIA H100 PCIe")
    result = compared("H100", *devices)
    assert result.status == "fail"
    assert result.reason == (
        "H100 was bought, and the cards are not alike: gpu0 is NVIDIA H100 80GB HBM3; gpu1 is "
        "NVIDIA H100 PCIe"
    )


def test_two_names_of_one_product_are_alike() -> None:
    """Drivers call the MI300X by two names."""
    devices = mi300x(0), mi300x(1, product="AMD Instinct MI300X OAM")
    assert compared("MI300X", *devices).status == "pass"


def test_a_product_that_could_not_be_read_is_an_error() -> None:
    """A name that the driver refused is not another product."""
    absence = Absence(what="product of gpu0", reason="failed", detail="Unknown Error")
    nameless = named("unknown NVIDIA device")
    with pytest.raises(CannotLook, match="product of gpu0 could not be read: failed"):
        compared("H100", nameless, absences=(absence,))
    by_id = facts(Card(device="gpu0", pci_id="10de:2330"))
    known = compared("H100 SXM", nameless, absences=(absence,), machine=by_id)
    assert known.status == "pass"  # the PCI id says what it is


def test_what_cannot_be_judged_is_skipped() -> None:
    """Without a plan or without a card there is nothing to compare, and a rehearsal has none."""
    assert judged(order.check_product, situation()).reason.startswith("no plan says")
    none = compared("H100")
    assert none.status == "skip" and "driver.present" in none.reason
    rehearsed = judged(order.check_product, rehearsal(order={"product": "B200"}))
    assert (rehearsed.status, rehearsed.reason) == ("skip", "a rehearsal has no cards")
