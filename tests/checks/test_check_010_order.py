"""The judgement of what was bought against what is there."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.facts import Absence

from .situations import card, judged, load, rehearsal, situation

order = load("check_010_order.py")


def test_as_many_as_bought() -> None:
    """Two bought and two found is a pass, measured against the order."""
    result = judged(order.check_count, situation(order={"gpus": 2}))
    assert (result.status, result.reason) == ("pass", "2 of 2")
    (cards,) = result.measurements
    assert (cards.name, cards.value, cards.unit) == ("cards", 2, "1")
    assert cards.limit is not None and (cards.limit.op, cards.limit.value) == ("==", 2)


def test_fewer_than_bought() -> None:
    """A missing card fails, and the cards that are there are named with their addresses."""
    result = judged(order.check_count, situation(order={"gpus": 8}))
    assert result.status == "fail"
    assert "gpu0 0000:1b:00.0" in result.reason and "gpu1 0000:1c:00.0" in result.reason
    assert "8 cards were bought and 2 are visible" in result.reason
    assert "CUDA_VISIBLE_DEVICES" in result.action


def test_no_card_at_all() -> None:
    """Nothing found fails in words of its own."""
    result = judged(order.check_count, situation(devices=(), order={"gpus": 2}))
    assert result.status == "fail"
    assert result.reason == "2 cards were bought and 0 are visible: none"


def test_more_than_bought() -> None:
    """More cards than were bought is not what was bought either."""
    assert judged(order.check_count, situation(order={"gpus": 1})).status == "fail"


def test_a_card_without_an_address_is_named_by_its_uuid() -> None:
    """What identifies a card best is shown."""
    devices = (card(0, pci=None, uuid="GPU-abc"), card(1, pci=None, uuid=None))
    result = judged(order.check_count, situation(devices=devices, order={"gpus": 8}))
    assert result.reason.endswith("gpu0 GPU-abc, gpu1")


def test_a_hidden_card_is_told() -> None:
    """Cards that the environment hides are named; enough visible ones make it a warning."""
    hidden = ("gpu2 (NVIDIA H100) by CUDA_VISIBLE_DEVICES=0,1",)
    enough = judged(order.check_count, situation(order={"gpus": 2}, hidden=hidden))
    assert enough.status == "warn" and "gpu2" in enough.reason
    few = judged(order.check_count, situation(order={"gpus": 3}, hidden=hidden))
    assert few.status == "fail"
    assert few.reason.endswith("; hidden: gpu2 (NVIDIA H100) by CUDA_VISIBLE_DEVICES=0,1")


def test_a_lost_card_is_named() -> None:
    """A card that does not answer is told in the failure; a fact that is missing is no card."""
    absences = (
        Absence(what="gpu2", reason="device lost"),
        Absence(what="memory of gpu1", reason="not supported"),
    )
    result = judged(order.check_count, situation(order={"gpus": 3}, absences=absences))
    assert result.status == "fail"
    assert result.reason.endswith("; not answering: gpu2: device lost")


@pytest.mark.parametrize(
    ("bought", "reason"),
    [
        ({}, "no plan says how many cards were bought"),
        (
            {"gpus": 9, "nodes": 2},
            "9 cards do not divide by 2 nodes: this one's share is not known",
        ),
    ],
)
def test_a_count_that_cannot_be_judged_is_skipped(bought: dict[str, Any], reason: str) -> None:
    """Without a number for this node there is nothing to compare."""
    result = judged(order.check_count, situation(order=bought))
    assert (result.status, result.reason) == ("skip", reason)


@pytest.mark.parametrize("check", ["check_count", "check_product"])
def test_a_rehearsal_judges_no_purchase(check: str) -> None:
    """On the CPU what was bought is skipped, though a plan tells it."""
    bought = {"gpus": 2, "product": "B200"}
    result = judged(getattr(order, check), rehearsal(order=bought))
    assert (result.status, result.reason) == ("skip", "a rehearsal has no cards")


@pytest.mark.parametrize(
    ("found", "bought"),
    [
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("NVIDIA H100 80GB HBM3", "h100"),
        ("NVIDIA H100 80GB HBM3", "H100-80GB"),
        ("NVIDIA H100 80GB HBM3", "NVIDIA H100"),
        ("NVIDIA A100-SXM4-80GB", "A100 80GB"),
        ("NVIDIA B200", "B200"),
        ("AMD Instinct MI300X", "MI300X"),
        ("NVIDIA GeForce RTX 4090", "RTX 4090"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "RTX PRO 6000"),
    ],
)
def test_the_product_that_was_bought(found: str, bought: str) -> None:
    """Every word of the plan stands in the driver's name, whatever the marks between."""
    devices = (card(0, product=found), card(1, product=found))
    result = judged(order.check_product, situation(devices=devices, order={"product": bought}))
    assert (result.status, result.reason) == ("pass", found)


@pytest.mark.parametrize(
    ("found", "bought"),
    [
        ("NVIDIA H100 80GB HBM3", "H200"),
        ("NVIDIA H100 80GB HBM3", "H10"),
        ("NVIDIA H200", "H100"),
        ("NVIDIA GB200", "B200"),
        ("NVIDIA A100-SXM4-40GB", "A100 80GB"),
        ("NVIDIA H100 PCIe", "H100 NVL"),
        ("AMD Instinct MI300A", "MI300X"),
        ("unknown NVIDIA device", "H100"),
    ],
)
def test_another_product_fails(found: str, bought: str) -> None:
    """Another product is named with its card."""
    devices = (card(0, product=found),)
    result = judged(order.check_product, situation(devices=devices, order={"product": bought}))
    assert result.status == "fail"
    assert result.reason == f"{bought} was bought; gpu0 is {found}"
    assert "another product was delivered" in result.action


def test_one_odd_card_is_named_alone() -> None:
    """Only the cards of another product are listed."""
    devices = (card(0), card(1, product="NVIDIA A100-SXM4-80GB"))
    result = judged(order.check_product, situation(devices=devices, order={"product": "H100"}))
    assert result.reason == "H100 was bought; gpu1 is NVIDIA A100-SXM4-80GB"


def test_a_product_that_cannot_be_judged_is_skipped() -> None:
    """Without a plan or without a card there is nothing to compare."""
    assert judged(order.check_product, situation()).reason.startswith("no plan says")
    none = judged(order.check_product, situation(devices=(), order={"product": "H100"}))
    assert none.status == "skip" and "driver.present" in none.reason


def test_a_node_is_judged_on_its_share() -> None:
    """Sixteen cards over two nodes are eight here."""
    result = judged(order.check_count, situation(order={"gpus": 16, "nodes": 2}))
    assert result.measurements[0].limit is not None
    assert result.measurements[0].limit.value == 8


@pytest.mark.parametrize(("memory_GB", "status"), [(80, "pass"), (85, "pass"), (141, "fail")])
def test_cards_have_the_memory_that_was_bought(memory_GB: float, status: str) -> None:
    """A 40 GB card sold as one of 80 GB is found, whatever its name."""
    machine = situation(devices=(card(0), card(1)), order={"memory_GB": memory_GB})
    assert judged(order.check_memory, machine).status == status


def test_the_card_with_too_little_memory_is_named() -> None:
    """One odd card among equals is named with what it has."""
    machine = situation(devices=(card(0), card(1, memory_GiB=40.0)), order={"memory_GB": 80})
    result = judged(order.check_memory, machine)
    assert (result.status, result.reason) == ("fail", "80 GB were bought; gpu1 has 43 GB")
