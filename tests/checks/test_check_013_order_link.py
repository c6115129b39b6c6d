"""The judgement of the link that was bought, and of whole cards."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.facts import Absence, Card, Grid, Link
from preflight.harness import CannotLook
from preflight.harness.result import Result
from preflight.records import Device

from .situations import b200, card, facts, judged, load, mi300x, rehearsal, situation

order = load("check_013_order_link.py")


def grid(count: int, word: str, **pairs: str) -> Grid:
    """A topology in which every pair has the same word, but for ``g01="NV4"``."""
    rows = [["X" if i == j else word for j in range(count)] for i in range(count)]
    for pair, other in pairs.items():
        i, j = int(pair[1]), int(pair[2])
        rows[i][j] = rows[j][i] = other
    return Grid(names=tuple(f"gpu{index}" for index in range(count)), rows=tuple(map(tuple, rows)))


def joined(*devices: Device, bought: dict[str, Any], **machine: Any) -> Result:
    """What the check says of the links of these devices."""
    made = situation(devices=devices, order=bought, machine=machine)
    return judged(order.check_link, made)


def h100_pcie(index: int) -> Device:
    """An H100 for a PCIe slot."""
    return card(index, product="NVIDIA H100 PCIe")


def test_nvlink_between_all_cards() -> None:
    """Every pair has it, and the way is told."""
    result = joined(b200(0), b200(1), bought={"product": "B200"}, topology=grid(2, "NV18"))
    assert (result.status, result.reason) == ("pass", "1 pair(s) of cards: NV18")


def test_nvlink_was_bought_and_pcie_came() -> None:
    """Two H100 PCIe for SXM: the pairs, their way and the product are told."""
    bought = {"product": "H100 SXM", "gpus": 2, "reference": "ORD-5"}
    result = joined(h100_pcie(0), h100_pcie(1), bought=bought, topology=grid(2, "PHB"))
    assert result.status == "fail"
    assert result.reason == (
        "nvlink was bought; 1 of 1 pairs of cards have no nvlink: gpu0-gpu1 PHB; the cards: "
        "H100 PCIe 80GB"
    )
    assert "(order ORD-5): cards without nvlink were delivered" in result.action


def test_many_pairs_are_told_shortly() -> None:
    """Twenty-eight pairs are not listed one by one."""
    devices = [b200(index) for index in range(8)]
    result = joined(*devices, bought={"link": "nvlink"}, topology=grid(8, "SYS"))
    assert "28 of 28 pairs of cards have no nvlink: gpu0-gpu1 SYS, " in result.reason
    assert ", 24 more; the cards: B200" in result.reason


def test_one_pair_without_its_link_is_named() -> None:
    """A card whose links are down stands out."""
    devices = [mi300x(index) for index in range(3)]
    result = joined(*devices, bought={"product": "MI300X"}, topology=grid(3, "XGMI", g12="PXB"))
    assert "1 of 3 pairs of cards have no xgmi: gpu1-gpu2 PXB" in result.reason


def test_links_speak_where_no_topology_is_told() -> None:
    """Active links to a switch join the cards."""
    links = (Link(index=0, state="active", remote="switch 0000:05:00.0"),)
    cards = Card(device="gpu0", links=links), Card(device="gpu1", links=links)
    result = joined(b200(0), b200(1), bought={"product": "B200"}, cards=cards)
    assert (result.status, result.reason) == ("pass", "1 pair(s) of cards: linked")


def test_unknown_links_are_an_error() -> None:
    """Nobody tells how the cards are joined: the call is named."""
    unread = Absence(what="nvmlDeviceGetNvLinkState", reason="failed", detail="Unknown Error")
    cards = tuple(Card(device=f"gpu{index}", links=unread) for index in range(2))
    with pytest.raises(CannotLook, match=r"gpu0 and gpu1 .*nvmlDeviceGetNvLinkState: failed"):
        joined(b200(0), b200(1), bought={"link": "nvlink"}, cards=cards)


def test_bridges_join_cards_by_twos() -> None:
    """Four cards with two bridges are as bought; a card without a partner is not."""
    devices = [h100_pcie(index) for index in range(4)]
    bought = {"product": "H100 PCIe", "link": "nvlink"}
    both = grid(4, "SYS", g01="NV12", g23="NV12")
    assert joined(*devices, bought=bought, topology=both).status == "pass"
    one = joined(*devices, bought=bought, topology=grid(4, "SYS", g01="NV12"))
    assert one.reason == (
        "nvlink was bought; no bridge joins gpu2, gpu3 with another card; the cards: H100 PCIe 80GB"
    )


def test_bridges_are_not_what_a_buyer_of_nvswitch_bought() -> None:
    """Who bought SXM is promised all pairs, and bridges between some are less."""
    devices = [h100_pcie(index) for index in range(4)]
    both = grid(4, "SYS", g01="NV12", g23="NV12")
    result = joined(*devices, bought={"product": "H100 SXM"}, topology=both)
    assert "4 of 6 pairs of cards have no nvlink" in result.reason


@pytest.mark.parametrize(
    ("bought", "status", "words"),
    [
        ({"link": "pcie", "product": "B200"}, "pass", "pcie was bought"),
        ({"product": "H100 PCIe"}, "skip", "promises a link"),
        ({"product": "H100"}, "skip", "promises a link"),
        ({"product": "L40S"}, "skip", "promises a link"),
        ({}, "skip", "promises a link"),
    ],
)
def test_no_link_is_asked_for_that_nobody_promised(
    bought: dict[str, Any], status: str, words: str
) -> None:
    """PCIe, or a product that may be without: a topology over PCIe is as bought."""
    result = joined(h100_pcie(0), h100_pcie(1), bought=bought, topology=grid(2, "PHB"))
    assert result.status == status and words in result.reason


def test_one_card_has_no_other() -> None:
    """Neither a single card nor the slices of one can be joined."""
    alone = joined(b200(0), bought={"product": "B200"})
    assert alone.status == "skip" and "fewer than two cards" in alone.reason
    slices = [mi300x(index, pci="0000:0a:00.0") for index in range(8)]
    assert joined(*slices, bought={"link": "xgmi"}).status == "skip"


def whole(*devices: Device, **machine: Any) -> Result:
    """What the check says of the wholeness of these devices."""
    made = situation(
        devices=devices, order={"gpus": 2, "product": "A100", "reference": "ORD-6"}, machine=machine
    )
    return judged(order.check_whole, made)


def test_whole_cards() -> None:
    """MIG off, or a card that knows none, and SPX are whole."""
    unable = Absence(what="nvmlDeviceGetMigMode", reason="not supported")
    cards = Card(device="gpu0", mig=False), Card(device="gpu1", mig=unable)
    assert (whole(card(0), card(1), cards=cards).reason) == "2 whole card(s)"
    amd = tuple(Card(device=f"gpu{index}", partition="SPX") for index in range(2))
    assert whole(mi300x(0), mi300x(1), cards=amd).status == "pass"


def test_mig_slices_are_no_cards() -> None:
    """One A100 with two slices for two cards: the slices and the command are told."""
    cards = Card(device="gpu0", mig=True, mig_slices=("3g.40gb", "3g.40gb")), Card(device="gpu1")
    result = whole(card(0), card(1), cards=cards)
    assert result.reason == "slices are not cards: gpu0 with MIG on (3g.40gb, 3g.40gb)"
    assert result.action.startswith("sudo nvidia-smi -i 0000:1b:00.0 -mig 0 (on the host")
    assert "likewise" not in result.action
    assert "(order ORD-6): slices were delivered for cards" in result.action


def test_mig_without_a_slice_serves_no_program() -> None:
    """A card that is only switched to MIG cannot be used at all."""
    result = whole(card(0), cards=(Card(device="gpu0", mig=True, mig_slices=()),))
    assert "no slice made, so no program can use it" in result.reason


def test_a_slice_that_is_shown_as_a_device() -> None:
    """By its UUID a device is a slice, whatever the card says."""
    named = card(0, uuid="MIG-41b3d1a5", product="NVIDIA A100-SXM4-80GB MIG 3g.40gb")
    assert "gpu0 by UUID a MIG slice" in whole(named, cards=(Card(device="gpu0"),)).reason


def test_compute_partitions_are_no_cards() -> None:
    """CPX shows eight devices of one card; where the mode is not told, the address does."""
    cards = tuple(Card(device=f"gpu{index}", partition="CPX") for index in range(8))
    slices = [mi300x(index, pci="0000:0a:00.0") for index in range(8)]
    told = whole(*slices, cards=cards)
    names = "gpu0, gpu1, gpu2, gpu3, gpu4, gpu5, gpu6, gpu7"
    assert told.reason == f"slices are not cards: {names} in compute partition CPX"
    assert "amd-smi set --gpu all --compute-partition SPX" in told.action
    seen = whole(*slices)
    assert seen.reason == f"slices are not cards: {names} on one card, 0000:0a:00.0"


def test_an_unread_mode_is_an_error() -> None:
    """A card that may be divided is not called whole."""
    unread = Absence(what="nvmlDeviceGetMigMode", reason="failed", detail="Unknown Error")
    with pytest.raises(CannotLook, match=r"gpu0 is divided .*nvmlDeviceGetMigMode: failed"):
        whole(card(0), cards=(Card(device="gpu0", mig=unread),))


def test_what_cannot_be_judged_is_skipped() -> None:
    """No order, no card, a rehearsal."""
    nothing = judged(order.check_whole, situation(machine=facts()))
    assert nothing.reason == "no plan says what was bought"
    assert "no card was found" in whole().reason
    for check in (order.check_link, order.check_whole):
        result = judged(check, rehearsal(order={"link": "nvlink", "gpus": 2}))
        assert (result.status, result.reason) == ("skip", "a rehearsal has no cards")
