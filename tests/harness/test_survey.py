"""How a check looks at a fact of all cards, and what it makes of absences."""

from __future__ import annotations

import pytest
from checks.situations import card, rehearsal, situation

from preflight.facts import Absence, BusCard, Card, Machine
from preflight.harness import CannotLook, Result, Situation, Survey, exactly
from preflight.harness.survey import in_one_sentence

LACKING = Absence(what="nvmlDeviceGetIt", reason="not supported")
LATE = Absence(what="nvmlDeviceGetIt", reason="deadline", detail="30 s")


def survey(*serials: str | Absence) -> tuple[Survey, Result]:
    """A survey of cards with these serial numbers."""
    cards = tuple(Card(device=f"gpu{i}", serial=serial) for i, serial in enumerate(serials))
    devices = tuple(card(i) for i in range(len(serials)))
    result = Result()
    return Survey.of_cards(situation(devices=devices, machine={"cards": cards}), result), result


def test_known_facts_are_given_by_card() -> None:
    """And the note is told beside the pass."""
    looked, result = survey("a", "b")
    assert looked.ask("serial", lambda card: card.serial) == {"gpu0": "a", "gpu1": "b"}
    looked.settle("both told")
    assert (result.status, result.reason) == ("pass", "both told")


def test_a_card_that_lacks_a_fact_is_noted() -> None:
    """The others are given."""
    looked, result = survey("a", LACKING)
    assert looked.ask("serial", lambda card: card.serial) == {"gpu0": "a"}
    looked.settle("told")
    assert result.reason == "told; gpu1: serial (nvmlDeviceGetIt): not supported"


def test_a_fact_that_no_card_has_skips_the_check() -> None:
    """Naming it."""
    looked, _ = survey(LACKING, LACKING)
    assert looked.ask("serial", lambda card: card.serial) == {}
    with pytest.raises(pytest.skip.Exception, match=r"serial \(nvmlDeviceGetIt\): not supported"):
        looked.settle()


def test_a_second_fact_that_exists_keeps_the_check() -> None:
    """One fact of several is enough to judge by."""
    looked, result = survey(LACKING, LACKING)
    looked.ask("serial", lambda card: card.serial)
    looked.ask("name", lambda card: card.device)
    looked.settle("judged")
    assert (result.status, result.reason) == ("pass", "judged")


def test_a_fact_that_only_helps_is_not_missed() -> None:
    """Its lack is no word worth, but that nobody could read it is."""
    looked, result = survey(LACKING, LACKING)
    assert looked.glance("serial", lambda card: card.serial) == {}
    looked.settle("fine")
    assert result.reason == "fine"
    looked, _ = survey("a", LATE)
    looked.glance("serial", lambda card: card.serial)
    with pytest.raises(CannotLook, match=r"gpu1: serial \(nvmlDeviceGetIt\): deadline"):
        looked.settle()


def test_what_could_not_be_read_is_an_error() -> None:
    """With call, card, the vendor's words and an action by the reason."""
    looked, _ = survey("a", LATE)
    looked.ask("serial", lambda card: card.serial)
    with pytest.raises(CannotLook) as caught:
        looked.settle("told")
    assert caught.value.cause == "gpu1: serial (nvmlDeviceGetIt): deadline"
    assert caught.value.evidence == "gpu1: serial (nvmlDeviceGetIt): deadline. 30 s"
    assert "reset the node" in caught.value.action


def test_a_failure_comes_before_everything() -> None:
    """The status is told before the error is raised, and a warning joins the sentence."""
    looked, result = survey("a", LATE)
    looked.ask("serial", lambda card: card.serial)
    looked.warn("gpu0", "is warm", "cool it")
    looked.fail("gpu0", "is broken", "replace it")
    with pytest.raises(CannotLook):
        looked.settle()
    assert (result.status, result.reason) == ("fail", "gpu0: is broken; gpu0: is warm")
    assert result.action == "replace it; cool it"


def test_a_measurement_does_not_overwrite_the_sentence() -> None:
    """The number is outside its limit, and the reason is the check's own."""
    looked, result = survey("a")
    looked.measure("gpu0 errors", 2, "1", exactly(0, "somebody"))
    looked.fail("gpu0", "2 errors", "replace it")
    looked.settle()
    assert result.reason == "gpu0: 2 errors"
    assert result.measurements[0].value == 2


def test_a_rehearsal_and_a_machine_without_cards_are_skipped() -> None:
    """Neither has anything to survey; the host of a rehearsal has."""
    with pytest.raises(pytest.skip.Exception, match="a rehearsal has no cards"):
        Survey.of_cards(rehearsal(), Result())
    with pytest.raises(pytest.skip.Exception, match=r"driver\.present"):
        Survey.of_cards(situation(devices=(), machine={"cards": ()}), Result())
    assert Survey.of_host(rehearsal(), Result()).cards == ()


def test_a_fact_of_the_host() -> None:
    """Absent for a reason that is allowed it is None, for another one an error."""
    result = Result()
    looked = Survey.of_host(rehearsal(), result)
    assert looked.ask_host("IOMMU", "off") == "off"
    assert (
        looked.ask_host("log", Absence(reason="no permission"), lacking=("no permission",)) is None
    )
    assert looked.read("more", LACKING) is None
    looked.settle("off")
    assert result.reason == "off"
    assert looked.read("more", LATE) is None
    with pytest.raises(CannotLook, match="more"):
        looked.settle()


@pytest.mark.parametrize(
    ("pci", "name"),
    [
        ("0000:1b:00.0", "gpu0"),
        ("0000:1c:00", "gpu1"),
        ("00000000:1C:00.0", "gpu1"),
        ("1b:00.0", "gpu0"),
        ("0001:1b:00.0", None),
        ("0000:1e:00.0", None),
        ("nonsense", None),
        ("", None),
        (None, None),
    ],
)
def test_cards_by_pci_address(pci: str | None, name: str | None) -> None:
    """However a log or a driver writes it."""
    assert survey("a", "b")[0].card_at(pci) == name


def test_cards_of_the_bus_that_are_not_ours() -> None:
    """By their address; None where the bus was not read."""
    machine: Situation = situation(
        machine={"bus": (BusCard(pci="0000:9a:00.0", vendor="NVIDIA", pci_id="10de:2330"),)}
    )
    looked = Survey.of_cards(machine, Result())
    found = looked.stranger_at("0000:9A:00")
    assert found is not None and found.pci_id == "10de:2330"
    assert looked.stranger_at("0000:9b:00.0") is None
    assert survey("a")[0].stranger_at("0000:9a:00.0") is None
    assert isinstance(machine.machine, Machine)


def test_the_catalogue_knows_a_card() -> None:
    """By the name of its device and its PCI id; not an unknown product."""
    looked, _ = survey("a")
    product = looked.product("gpu0")
    assert product is not None and product.name == "H100 SXM 80GB"
    unknown = situation(devices=(card(0, product="NVIDIA H900"),))
    assert Survey.of_cards(unknown, Result()).product("gpu0") is None


def test_only_like_cards_are_compared() -> None:
    """Values are grouped by product."""
    devices = (card(0), card(1, product="NVIDIA L40S"), card(2))
    cards = tuple(Card(device=device.name) for device in devices)
    machine = situation(devices=devices, machine={"cards": cards})
    groups = Survey.of_cards(machine, Result()).alike({"gpu0": 1, "gpu1": 2, "gpu2": 3})
    assert groups == [{"gpu0": 1, "gpu2": 3}, {"gpu1": 2}]


@pytest.mark.parametrize(
    ("findings", "cards", "sentence"),
    [
        ([("gpu1", "is hot")], 8, "gpu1: is hot"),
        ([("gpu1", "is hot"), ("gpu3", "is hot")], 8, "gpu1, gpu3: is hot"),
        ([(f"gpu{i}", "is hot") for i in range(4)], 4, "all 4 cards: is hot"),
        ([("gpu0", "is hot"), ("gpu1", "is hot")], 2, "gpu0, gpu1: is hot"),
        ([("", "no room"), ("gpu1", "is hot")], 8, "no room; gpu1: is hot"),
        ([("gpu1", "is hot"), ("gpu1", "is hot")], 8, "gpu1: is hot"),
        (
            [("mlx5_0", "is down"), ("mlx5_1", "is down"), ("x", "is down")],
            3,
            "mlx5_0, mlx5_1, x: is down",
        ),
    ],
)
def test_one_sentence(findings: list[tuple[str, str]], cards: int, sentence: str) -> None:
    """Each thing is said once, with all it was found on."""
    assert in_one_sentence(findings, cards) == sentence
