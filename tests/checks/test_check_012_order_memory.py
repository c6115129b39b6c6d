"""The judgement of the memory that was bought."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.facts import Absence, Card, Ecc
from preflight.harness import CannotLook
from preflight.harness.result import Result
from preflight.records import Device

from .situations import b200, card, facts, judged, load, mi300x, rehearsal, situation

order = load("check_012_order_memory.py")


def compared(*devices: Device, bought: dict[str, Any], **fields: Any) -> Result:
    """What the check says of these devices."""
    made = situation(devices=devices, order=bought, **fields)
    return judged(order.check_memory, made)


def a100(index: int, memory_GiB: float, **fields: Any) -> Device:
    """An A100, by name of 80 GB."""
    named = {"product": "NVIDIA A100-SXM4-80GB", "architecture": "sm_80"}
    return card(index, **{**named, "memory_GiB": memory_GiB, **fields})


@pytest.mark.parametrize(("memory_GB", "status"), [(80, "pass"), (85, "pass"), (141, "fail")])
def test_cards_have_the_memory_that_was_bought(memory_GB: float, status: str) -> None:
    """A 40 GB card sold as one of 80 GB is found, whatever its name."""
    result = compared(card(0), card(1), bought={"memory_GB": memory_GB})
    assert result.status == status


def test_every_card_with_too_little_memory_is_named() -> None:
    """Odd cards among equals are named with what they have."""
    few = card(1, memory_GiB=40.0), card(2, memory_GiB=40.0), card(3, memory_GiB=64.0)
    result = compared(card(0), *few, bought={"memory_GB": 80, "reference": "ORD-9"})
    assert (result.status, result.reason) == (
        "fail",
        "80 GB were bought; gpu1, gpu2 have 43 GB; gpu3 has 69 GB",
    )
    assert "(order ORD-9): cards with less memory were delivered" in result.action
    assert "gpu3 GPU-00000003" in result.action and "gpu0 GPU" not in result.action


def test_forty_for_eighty_is_found_by_the_product() -> None:
    """Without a word on memory in the plan: the driver of an A100 of 80 GB reports 80 GiB."""
    result = compared(a100(0, 39.39), bought={"product": "A100 80GB"})
    assert (result.status, result.reason) == (
        "fail",
        "gpu0 reports 39.4 GiB; usual is 80.0 GiB for A100 SXM 80GB",
    )


def test_any_size_of_an_order_without_one_is_right() -> None:
    """H100 alone may be of 80 or of 94 GB; less than the smallest is neither."""
    nvl = card(0, product="NVIDIA H100 NVL", memory_GiB=93.58)
    assert compared(nvl, bought={"product": "H100"}).status == "pass"
    odd = compared(
        card(0, product="NVIDIA H100 Extra", memory_GiB=63.9), bought={"product": "H100"}
    )
    assert odd.status == "fail"
    assert "80GB or 93.6 GiB for H100 NVL 94GB" in odd.reason


@pytest.mark.parametrize("memory_GB", [180, 192])
def test_sellers_name_one_card_by_two_sizes(memory_GB: float) -> None:
    """A B200 is sold as 180 and as 192 GB, and is one card."""
    bought = {"product": "B200", "memory_GB": memory_GB, "gpus": 2}
    assert compared(b200(0), b200(1), bought=bought).status == "pass"


def test_a_card_below_its_neighbours_is_named() -> None:
    """Three report alike and one less: named, though the order is content with it."""
    devices = *(a100(index, 79.6) for index in range(3)), a100(3, 76.0)
    result = compared(*devices, bought={"memory_GB": 80})
    assert (result.status, result.reason) == (
        "fail",
        "gpu3 reports 76.0 GiB where the others report 79.6",
    )


def test_a_few_mib_are_no_difference() -> None:
    """Retired pages take a little from a card."""
    devices = a100(0, 79.60), a100(1, 79.35)
    assert compared(*devices, bought={"memory_GB": 80}).status == "pass"


def test_cards_of_other_products_are_no_neighbours() -> None:
    """A larger card beside makes none of another product too small."""
    devices = card(0, product="NVIDIA H100 NVL", memory_GiB=93.58), card(1)
    assert compared(*devices, bought={"memory_GB": 80}).status == "pass"


def test_ecc_on_gddr_takes_a_sixteenth() -> None:
    """A 4090 with ECC on reports less, which is a setting and no other card."""
    named = {"product": "NVIDIA GeForce RTX 4090", "architecture": "sm_89"}
    with_ecc = card(0, **named, memory_GiB=22.49), card(1, **named, memory_GiB=23.99)
    on = facts(Card(device="gpu0", ecc=Ecc(enabled=True)), Card(device="gpu1"))
    bought = {"product": "RTX 4090"}
    result = compared(*with_ecc, bought=bought, machine=on)
    assert result.status == "warn" and "ECC is on there" in result.reason
    alone = compared(with_ecc[0], bought=bought, machine=on)
    assert alone.status == "warn" and "usual is 24.0 GiB for RTX 4090: ECC is on" in alone.reason
    assert compared(with_ecc[0], bought=bought).status == "fail"


def test_more_than_any_stock_card_has_is_a_warning() -> None:
    """A rebuilt 4090 with 48 GiB is more than was bought, and not what was bought."""
    named = {"product": "NVIDIA GeForce RTX 4090", "architecture": "sm_89", "memory_GiB": 47.99}
    result = compared(card(0, **named), card(1, **named), bought={"product": "RTX 4090"})
    assert result.status == "warn"
    assert result.reason == (
        "gpu0 reports 48.0 GiB; usual is 24.0 GiB for RTX 4090: no stock card has more"
    )


@pytest.mark.parametrize(
    ("memory_GiB", "status"), [(191.98, "pass"), (255.0, "warn"), (127.0, "fail")]
)
def test_amds_cards_are_judged_too(memory_GiB: float, status: str) -> None:
    """192 GB of an MI300X are 192 GiB."""
    bought = {"product": "MI300X", "memory_GB": 128}
    assert compared(mi300x(0, memory_GiB=memory_GiB), bought=bought).status == status


@pytest.mark.parametrize(("memory_GiB", "status"), [(63.98, "pass"), (32.0, "fail")])
def test_a_half_has_half_the_memory_of_its_card(memory_GiB: float, status: str) -> None:
    """128 GB of an MI250X are two devices of 64."""
    half = {"product": "AMD Instinct MI250X", "architecture": "gfx90a", "memory_GiB": memory_GiB}
    bought = {"product": "MI250X", "memory_GB": 128, "gpus": 1}
    assert compared(mi300x(0, **half), mi300x(1, **half), bought=bought).status == status


def test_the_memory_of_all_cards_is_judged_against_all_that_was_bought() -> None:
    """A missing card is missing memory: the plan was made for the sum."""
    result = compared(card(0), card(1), bought={"memory_GB": 80, "gpus": 4})
    assert (result.status, result.reason) == (
        "fail",
        "4 x 80 GB were bought; 2 device(s) have 171 GB together",
    )
    smallest, together = result.measurements
    assert smallest.limit is not None and smallest.limit.value == pytest.approx(76)
    assert (together.name, together.unit) == ("memory of all cards", "GB")
    assert together.limit is not None and together.limit.value == pytest.approx(304)


def test_a_node_has_its_share_of_the_memory() -> None:
    """Four cards over two nodes are two here."""
    bought = {"memory_GB": 80, "gpus": 4, "nodes": 2}
    assert compared(card(0), card(1), bought=bought).status == "pass"


def test_a_memory_that_could_not_be_read_is_an_error() -> None:
    """The call is named; a card that is known to have too little fails all the same."""
    absence = Absence(what="memory of gpu1", reason="failed", detail="Unknown Error")
    unread = card(1, memory_GiB=None)
    with pytest.raises(CannotLook, match="memory of gpu1 could not be read: failed"):
        compared(card(0), unread, bought={"memory_GB": 80}, absences=(absence,))
    made = situation(devices=(card(0, memory_GiB=40.0), unread), order={"memory_GB": 80})
    result = Result()
    with pytest.raises(CannotLook):
        order.check_memory(made, result)
    assert result.status == "fail"  # the engine lets no error cover a failure


def test_shared_memory_is_the_hosts() -> None:
    """GB10 has no memory of its own to tell."""
    shared = card(0, product="NVIDIA GB10", architecture="sm_121", memory_GiB=None)
    result = compared(shared, bought={"product": "GB10", "memory_GB": 128})
    assert result.status == "skip" and "the memory is the host's" in result.reason


def test_slices_are_another_checks_matter() -> None:
    """The memory of a partition is no card's."""
    slices = tuple(mi300x(index, pci="0000:0a:00.0") for index in range(8))
    result = compared(*slices, bought={"memory_GB": 192})
    assert result.status == "skip" and "order.whole" in result.reason


def test_what_cannot_be_judged_is_skipped() -> None:
    """No plan, no card, a rehearsal."""
    assert compared(card(0), bought={}).reason == "no plan says how much memory a card has"
    assert "no card was found" in compared(bought={"memory_GB": 80}).reason
    rehearsed = judged(order.check_memory, rehearsal(order={"memory_GB": 80}))
    assert (rehearsed.status, rehearsed.reason) == ("skip", "a rehearsal has no cards")
