from __future__ import annotations

from typing import Any

import pytest

from preflight.facts import Absence, Card, Clocks, Ecc, Fabric, Pcie, RasBlock
from preflight.records import Device
from preflight.rendering.machine_parts import Entry
from preflight.rendering.machine_traits import traits

GONE = Absence(what="x", reason="not supported")


def told(*cards: Card, architecture: str | None = None) -> dict[str, Entry]:
    """The pairs of cards by term."""
    devices = [
        Device(name=c.device, node="n", kind="cuda", product="p", architecture=architecture)
        for c in cards
    ]
    return dict(traits(devices, cards))


def two(**second: Any) -> tuple[Card, Card]:
    """Two cards that differ in what is given for the second."""
    fields: dict[str, Any] = {"persistence": True, "recovery_action": "none"}
    return Card(device="gpu0", **fields), Card(device="gpu1", **{**fields, **second})


def test_what_all_cards_share_stands_on_one_line() -> None:
    """One pair for eight cards that are set up alike."""
    assert told(*two(), architecture="sm_90") == {
        "each card": Entry("code for sm_90, persistence mode on, recovery action none")
    }


def test_what_differs_has_a_line_of_its_own() -> None:
    """Each value names its cards, and what is odd stands out."""
    pairs = told(*two(recovery_action="gpu reset"))
    assert pairs["recovery action"] == Entry("gpu0: none; gpu1: gpu reset", "caution")
    assert pairs["each card"] == Entry("persistence mode on")


def test_what_is_odd_on_all_cards_is_not_hidden_among_the_rest() -> None:
    """Equal and odd is still a line of its own."""
    cards = (Card(device="gpu0", mig=True), Card(device="gpu1", mig=True))
    assert told(*cards) == {"MIG": Entry("each card: on", "caution")}


def test_a_card_whose_value_is_unknown_is_left_out() -> None:
    """It is in no group, and the rest is not called each card."""
    assert told(*two(persistence=GONE))["persistence mode"] == Entry("gpu0: on")


def test_the_only_card_has_its_line() -> None:
    """Nothing is said of each."""
    assert told(Card(device="gpu0", persistence=False)) == {"card": Entry("persistence mode off")}


@pytest.mark.parametrize(
    ("fields", "term", "text", "is_odd"),
    [
        ({"compute_mode": "prohibited"}, "compute mode", "prohibited", True),
        ({"mig": True, "mig_slices": ("1g.10gb",) * 7}, "MIG", "on (7 × 1g.10gb)", True),
        ({"partition": "CPX", "memory_partition": "NPS4"}, "partition", "CPX/NPS4", False),
        ({"ecc": Ecc(enabled=False)}, "ECC", "off", True),
        ({"ecc": Ecc(enabled=True, pending=False)}, "ECC", "on, off after a reboot", True),
        ({"fabric": Fabric(state="completed", status="success")}, "fabric", "completed", False),
        ({"fabric": Fabric(state="in progress")}, "fabric", "in progress", True),
        (
            {"fabric": Fabric(state="completed", health="route recovery")},
            "fabric",
            "completed, route recovery",
            True,
        ),
        ({"fabric": Fabric(clique=1, cluster="ab-12")}, "clique", "1 of cluster ab-12", False),
        ({"repair": "channel repair pending"}, "repair", "channel repair pending", True),
        ({"clocks": Clocks(slowed_by=())}, "held back by", "nothing", False),
        ({"clocks": Clocks(slowed_by=("gpu idle",))}, "held back by", "gpu idle", False),
        ({"clocks": Clocks(slowed_by=("hw slowdown",))}, "held back by", "hw slowdown", True),
        ({"ecc": Ecc(corrected=4, lifetime_corrected=31)}, "corrected ECC", "4, 31 ever", False),
        (
            {"ras": (RasBlock(block="umc", corrected=1, uncorrected=2), RasBlock(block="gfx"))},
            "RAS",
            "umc 1 corrected, 2 uncorrected",
            True,
        ),
        ({"pcie": Pcie(replays=12)}, "PCIe replays", "12", False),
        ({"hive": "0x7a"}, "hive", "0x7a", False),
    ],
)
def test_a_trait_in_words(fields: dict[str, Any], term: str, text: str, is_odd: bool) -> None:
    """Each in the words of its vendor; what a healthy card does not say stands out."""
    pairs = told(Card(device="gpu0", **fields))
    if is_odd:
        assert pairs[term] == Entry(f"gpu0: {text}", "caution")
    else:
        assert pairs["card"] == Entry(f"{term} {text}")


@pytest.mark.parametrize(
    "fields",
    [
        {"fabric": Fabric(state="not supported")},
        {"ecc": Ecc(corrected=0, lifetime_corrected=0)},
        {"pcie": Pcie(replays=0)},
        {"ras": (RasBlock(block="umc", corrected=0, uncorrected=0),)},
        {"persistence": GONE, "mig": GONE, "repair": GONE, "ras": GONE},
    ],
)
def test_what_is_nothing_takes_no_line(fields: dict[str, Any]) -> None:
    """No error, no fabric, and what is not known: nothing to say."""
    assert told(Card(device="gpu0", **fields)) == {}
