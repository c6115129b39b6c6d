"""The judgement of how many cards and nodes were bought and are there."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.events import Inventory
from preflight.facts import Absence, BusCard, Card, HostFacts
from preflight.harness import CannotLook, Situation
from preflight.records import Device, Node

from .situations import b200, card, facts, judged, load, mi300x, rehearsal, situation

order = load("check_010_order.py")

TWO_B200 = {"gpus": 2, "product": "B200", "reference": "ORD-1042"}


def on_bus(index: int, driver: str | Absence = "nvidia", **fields: Any) -> BusCard:
    """The card of ``b200(index)`` as the PCI bus shows it."""
    values = {"pci": f"0000:{0x1B + index:02x}:00.0", "vendor": "NVIDIA", "pci_id": "10de:2901"}
    return BusCard(**{**values, "driver": driver, **fields})


def one_of_two(*bus: BusCard, container: str = "none", **inventory: Any) -> Situation:
    """Two B200 were bought, one is shown, and the bus has these."""
    return situation(
        devices=(b200(0),),
        order=TWO_B200,
        machine=facts(
            Card(device="gpu0", serial="1652923"),
            bus=bus,
            host=HostFacts(container=container),
            environment=inventory.pop("environment", {}),
        ),
        **inventory,
    )


def test_as_many_as_bought() -> None:
    """Two bought and two found is a pass, measured against the order."""
    result = judged(order.check_count, situation(order={"gpus": 2}))
    assert (result.status, result.reason) == ("pass", "2 of 2")
    (cards,) = result.measurements
    assert (cards.name, cards.value, cards.unit) == ("cards", 2, "1")
    assert cards.limit is not None and (cards.limit.op, cards.limit.value) == (">=", 2)
    assert "gpu0 GPU-00000000-77a1-4c0e-9d1f-0242ac110002 NVIDIA H100" in result.evidence


def test_the_count_comes_first_in_the_failure() -> None:
    """Both numbers and the product are the first words, then the cards that are there."""
    result = judged(order.check_count, situation(order={"gpus": 8, "product": "H100 SXM"}))
    assert result.status == "fail"
    assert result.reason == ("2 of 8 H100 SXM were found: gpu0 0000:1b:00.0, gpu1 0000:1c:00.0")


def test_a_card_that_a_virtual_machine_holds_is_the_sellers() -> None:
    """A card on the bus that vfio-pci has taken is named, and the seller is told of which order."""
    result = judged(order.check_count, one_of_two(on_bus(0), on_bus(1, "vfio-pci")))
    assert result.status == "fail"
    assert result.reason == (
        "1 of 2 B200 was found: gpu0 0000:1b:00.0; on the PCI bus and not in the driver's list: "
        "0000:1c:00.0 (10de:2901, held by vfio-pci)"
    )
    assert result.action == (
        "send the seller this report (order ORD-1042): 1 card(s) missing (0000:1c:00.0 cannot be "
        "used); those that are there: gpu0 GPU-00000000-77a1-4c0e-9d1f-0242ac110002 serial 1652923"
    )


def test_a_card_without_a_driver_is_found_on_the_bus() -> None:
    """Dead when the driver probed it: four on the bus, three in the list, and no XID."""
    dead = Absence(what="driver", reason="not found")
    found = situation(
        devices=tuple(card(i, product="NVIDIA L40S", memory_GiB=44.99) for i in range(3)),
        order={"gpus": 4, "product": "L40S"},
        machine=facts(bus=(*(on_bus(i) for i in range(3)), on_bus(3, dead, pci_id="10de:26b9"))),
    )
    result = judged(order.check_count, found)
    assert result.reason.startswith("3 of 4 L40S were found: ")
    assert result.reason.endswith("0000:1e:00.0 (10de:26b9, no driver has taken it)")
    assert "0000:1e:00.0 cannot be used" in result.action


def test_nothing_more_on_the_bus_is_said() -> None:
    """A card that is not even plugged in is the seller's."""
    result = judged(order.check_count, one_of_two(on_bus(0)))
    assert "1 card(s) missing (no further card is on the PCI bus)" in result.action


@pytest.mark.parametrize(
    ("container", "words"),
    [
        ("docker", "start the container with all its cards: --gpus all"),
        ("kubernetes", "nvidia.com/gpu"),
    ],
)
def test_a_card_that_the_container_was_not_given_is_ones_own_to_mend(
    container: str, words: str
) -> None:
    """The host's driver has it: the container was started with too few, no seller's matter."""
    result = judged(order.check_count, one_of_two(on_bus(0), on_bus(1), container=container))
    assert words in result.action and "seller" not in result.action


def test_under_slurm_the_job_asks_for_its_cards() -> None:
    """A batch job gets what it asked for."""
    job = one_of_two(on_bus(0), on_bus(1), environment={"SLURM_JOB_ID": "7"})
    assert "--gpus-per-node" in judged(order.check_count, job).action


def test_a_card_that_its_driver_has_and_does_not_list_is_the_sellers() -> None:
    """On the bare machine nobody keeps the card from us: it does not start."""
    result = judged(order.check_count, one_of_two(on_bus(0), on_bus(1)))
    assert "0000:1c:00.0 cannot be used" in result.action


def test_hidden_cards_are_ones_own_doing() -> None:
    """A variable hides the card: it is named, and no seller is troubled."""
    hidden = ("gpu1 (NVIDIA B200) by CUDA_VISIBLE_DEVICES=0",)
    result = judged(order.check_count, one_of_two(on_bus(0), on_bus(1), hidden=hidden))
    assert result.reason == (
        "1 of 2 B200 was found: gpu0 0000:1b:00.0; hidden: gpu1 (NVIDIA B200) by "
        "CUDA_VISIBLE_DEVICES=0"
    )
    assert result.action == "take away what hides cards (CUDA_VISIBLE_DEVICES=0) and run again"


def test_hidden_and_missing_cards_are_both_mended() -> None:
    """One is hidden and one is not there at all: both are told."""
    hidden = ("gpu1 (NVIDIA H100) by CUDA_VISIBLE_DEVICES=0",)
    few = situation(devices=(card(0),), order={"gpus": 3}, hidden=hidden)
    result = judged(order.check_count, few)
    assert "CUDA_VISIBLE_DEVICES" in result.action and "seller" in result.action


def test_hidden_cards_beside_enough_visible_ones_are_noted() -> None:
    """Cards that one hides oneself are no warning where what was bought is visible."""
    hidden = ("gpu2 (NVIDIA H100) by CUDA_VISIBLE_DEVICES=0,1",)
    result = judged(order.check_count, situation(order={"gpus": 2}, hidden=hidden))
    assert (result.status, result.reason) == ("pass", f"2 of 2; hidden: {hidden[0]}")


def test_a_lost_card_is_named() -> None:
    """A card that does not answer is told; a fact that is missing is no card."""
    absences = (
        Absence(what="gpu2", reason="device lost"),
        Absence(what="memory of gpu1", reason="not supported"),
    )
    few = judged(order.check_count, situation(order={"gpus": 3}, absences=absences))
    assert few.status == "fail"
    assert few.reason.endswith("; not answering: gpu2: device lost")
    enough = judged(order.check_count, situation(order={"gpus": 2}, absences=absences))
    assert (enough.status, enough.reason) == (
        "warn",
        "all 2 cards that were bought are visible; not answering: gpu2: device lost",
    )
    assert "there is a sick card" in enough.action


def test_no_card_at_all() -> None:
    """Nothing found fails with 0 of what was bought, before any talk of versions."""
    result = judged(order.check_count, situation(devices=(), order=TWO_B200))
    assert (result.status, result.reason) == ("fail", "0 of 2 B200 were found")
    assert "driver.present" in result.action and "seller" in result.action


def test_cards_that_wait_for_their_driver_are_not_the_sellers_yet() -> None:
    """The driver is mended first; then they are counted."""
    bus = (on_bus(0, Absence(reason="not found")), on_bus(1, Absence(reason="not found")))
    found = situation(devices=(), order=TWO_B200, machine=facts(bus=bus))
    result = judged(order.check_count, found)
    assert result.reason.startswith(
        "0 of 2 B200 were found: on the PCI bus and not in the driver's"
    )
    assert result.action == (
        "no driver shows a card: mend what driver.present names, and run again"
    )


@pytest.mark.parametrize(
    "reason", ["failed", "deadline", "no permission", "library and kernel module differ"]
)
def test_a_driver_that_did_not_answer_is_no_count_of_zero(reason: str) -> None:
    """The call that went wrong is named, and nobody says that there are no cards."""
    absence = Absence(what="number of devices", reason=reason, detail="Unknown Error")
    stuck = situation(devices=(), order=TWO_B200, absences=(absence,))
    with pytest.raises(CannotLook, match=f"number of devices: {reason}") as caught:
        judged(order.check_count, stuck)
    assert caught.value.evidence == "Unknown Error"


def test_a_failed_question_beside_cards_stops_no_count() -> None:
    """The cards are there: what else the driver did not say is another check's matter."""
    absence = Absence(what="CUDA version of the driver", reason="failed")
    found = situation(order={"gpus": 2}, absences=(absence,))
    assert judged(order.check_count, found).status == "pass"


def test_a_driver_that_is_not_there_counts_nothing() -> None:
    """No library and no module is an answer, and so is a shut device file that is no count."""
    absences = (
        Absence(what="NVML", reason="not found"),
        Absence(what="KFD", reason="not found"),
        Absence(what="/dev/kfd", reason="no permission"),
    )
    result = judged(order.check_count, situation(devices=(), order={"gpus": 2}, absences=absences))
    assert (result.status, result.reason) == ("fail", "0 of 2 cards were found")


def test_a_look_that_did_not_end_is_an_error() -> None:
    """Without facts of the machine nothing is counted."""
    found = situation(order={"gpus": 2})
    found.inventory = Inventory(
        host=found.inventory.host, nodes=(), looked_for=("nvmlInit did not end in 20 s",)
    )
    with pytest.raises(CannotLook, match="nvmlInit"):
        judged(order.check_count, found)


def test_more_than_bought_is_a_warning() -> None:
    """Two of eight on a shared machine: the others are somebody's."""
    eight = tuple(card(index) for index in range(8))
    result = judged(order.check_count, situation(devices=eight, order={"gpus": 2}))
    assert result.status == "warn"
    assert result.reason.startswith("8 cards are visible and 2 were bought")
    assert "CUDA_VISIBLE_DEVICES" in result.action


def test_a_card_without_an_address_is_named_by_its_uuid() -> None:
    """What identifies a card best is shown."""
    devices = (card(0, pci=None, uuid="GPU-abc"), card(1, pci=None, uuid=None))
    result = judged(order.check_count, situation(devices=devices, order={"gpus": 8}))
    assert result.reason.endswith("gpu0 GPU-abc, gpu1")


def halves(count: int) -> tuple[Device, ...]:
    """Devices of MI250X cards, which show two each at addresses of their own."""
    product = {"product": "AMD Instinct MI250X", "memory_GiB": 63.98, "architecture": "gfx90a"}
    return tuple(mi300x(index, **product) for index in range(count))


@pytest.mark.parametrize(
    ("devices", "found", "status"), [(8, 4, "pass"), (7, 3, "fail"), (4, 2, "fail")]
)
def test_two_halves_are_one_mi250x(devices: int, found: int, status: str) -> None:
    """Four MI250X show eight devices; a half whose other half is missing is no card."""
    machine = situation(devices=halves(devices), order={"gpus": 4, "product": "MI250X"})
    result = judged(order.check_count, machine)
    assert (result.status, result.measurements[0].value) == (status, found)
    if status == "fail":
        assert result.reason.startswith(f"{found} of 4 MI250X were found: gpu0 0000:1b:00.0")
        assert f"(2 devices make one card, {devices} are there)" in result.reason


def test_partitions_of_one_card_are_one_card() -> None:
    """Eight devices of one MI300X in CPX are no eight cards."""
    slices = tuple(mi300x(index, pci="0000:0a:00.0") for index in range(8))
    result = judged(
        order.check_count, situation(devices=slices, order={"gpus": 8, "product": "MI300X"})
    )
    assert result.reason == (
        "1 of 8 MI300X was found: gpu0 0000:0a:00.0 (divided into 8 devices: order.whole speaks of "
        "that)"
    )


def test_cards_of_another_vendor_are_not_the_missing_ones() -> None:
    """An AMD display adapter beside NVIDIA cards is no missing B200."""
    radeon = on_bus(1, "vfio-pci", vendor="AMD", pci_id="1002:1478")
    result = judged(order.check_count, one_of_two(on_bus(0), radeon))
    assert "1002:1478" not in result.reason


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


@pytest.mark.parametrize("check", ["check_count", "check_nodes"])
def test_a_rehearsal_judges_no_purchase(check: str) -> None:
    """On the CPU what was bought is skipped, though a plan tells it."""
    result = judged(getattr(order, check), rehearsal(order={"gpus": 2, "nodes": 2}))
    assert (result.status, result.reason) == ("skip", "a rehearsal has no cards")


def test_a_simulated_machine_is_judged() -> None:
    """The cards of a profile are counted like real ones."""
    simulated = situation(order={"gpus": 3}, options={"mode": "simulate"})
    assert judged(order.check_count, simulated).status == "fail"


def test_a_node_is_judged_on_its_share() -> None:
    """Sixteen cards over two nodes are eight here."""
    result = judged(order.check_count, situation(order={"gpus": 16, "nodes": 2}))
    assert result.measurements[0].limit is not None
    assert result.measurements[0].limit.value == 8


def test_unseen_nodes_are_not_required() -> None:
    """A run on one node of four is a run all the same."""
    (mark,) = order.check_nodes.pytestmark
    assert mark.kwargs["required"] is False


@pytest.mark.parametrize(
    ("nodes", "status", "reason"),
    [
        (None, "skip", "no plan says how many nodes were bought"),
        (1, "skip", "one node was bought"),
        (2, "pass", "2 of 2 nodes"),
        (4, "warn", "this run saw 2 of 4 nodes"),
    ],
)
def test_nodes_that_the_run_did_not_see(nodes: int | None, status: str, reason: str) -> None:
    """What was seen on some nodes says nothing of the others, and fails nothing."""
    found = situation(order={"nodes": nodes})
    found.inventory = Inventory(
        host=found.inventory.host,
        nodes=(Node(name="node-a"), Node(name="node-b", rank=1)),
        machine=found.inventory.machine,
    )
    result = judged(order.check_nodes, found)
    assert (result.status, result.reason) == (status, reason)
