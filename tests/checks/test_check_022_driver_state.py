"""The judgement of the state in which the driver has the cards."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.facts import Absence, Card, Ecc, Fabric, HostFacts, Service
from preflight.harness import CannotLook
from preflight.harness.result import Result

from .situations import b200, card, facts, judged, load, mi300x, rehearsal, situation

driver = load("check_022_driver_state.py")


def fabric(state: str | Absence, host: HostFacts | None = None, **fields: Any) -> Result:
    """What the check of the fabric says of one B200."""
    one = Card(device="gpu0", fabric=Fabric(state=state, **fields))
    made = situation(
        devices=(b200(0),),
        order={"reference": "ORD-3"},
        machine=facts(one, host=host or HostFacts()),
    )
    return judged(driver.check_fabric, b200(0), made)


def test_a_card_that_has_joined() -> None:
    """Completed, with success and in health; older drivers tell less."""
    healthy = fabric("completed", status="success", health="healthy")
    assert (healthy.status, healthy.reason) == ("pass", "the fabric is complete")
    assert fabric("completed", status="success").status == "pass"


@pytest.mark.parametrize("state", ["in progress", "not started"])
def test_a_card_that_never_joins(state: str) -> None:
    """An H200 alone or among others: error 802 follows, and it is the seller's to mend."""
    result = fabric(state)
    assert result.status == "fail"
    assert result.reason == (
        f"gpu0: registering with the NVSwitch fabric is {state}; error 802 follows (system not yet "
        "initialized); nvidia-fabricmanager was not looked for"
    )
    assert "(order ORD-3): restart nvidia-fabricmanager" in result.action


def test_a_registration_that_ended_badly() -> None:
    """Completed and not with success is none."""
    result = fabric("completed", status="not supported")
    assert "registering with the NVSwitch fabric ended in: not supported" in result.reason


def test_a_fabric_in_bad_health() -> None:
    """The card has joined, and its bandwidth is not what it should be."""
    result = fabric("completed", status="success", health="degraded bandwidth")
    assert result.reason == "gpu0 has joined the fabric, whose health is: degraded bandwidth"


@pytest.mark.parametrize(
    ("host", "words"),
    [
        (
            {"services": (Service(name="nvidia-fabricmanager", state="running"),)},
            "nvidia-fabricmanager is running",
        ),
        (
            {"services": (Service(name="nvidia-fabricmanager", state="not seen"),)},
            "nvidia-fabricmanager was not seen running",
        ),
        ({"container": "docker"}, "was not seen, as a container does not show the host's"),
    ],
)
def test_the_fabric_manager_is_spoken_of(host: dict[str, Any], words: str) -> None:
    """Seen, not seen, or out of sight."""
    assert fabric("in progress", HostFacts(**host)).reason.endswith(words)


@pytest.mark.parametrize(
    "state",
    [
        "not supported",
        Absence(reason="not supported"),
        Absence(reason="driver lacks the call"),
        Absence(reason="not asked"),
    ],
)
def test_a_card_on_no_fabric_is_skipped(state: str | Absence) -> None:
    """A single card passed into a virtual machine, PCIe cards, old drivers."""
    assert fabric(state).status == "skip"


def test_a_fabric_that_could_not_be_read_is_an_error() -> None:
    """The call is named."""
    unread = Absence(what="nvmlDeviceGetGpuFabricInfoV", reason="failed", detail="Unknown Error")
    with pytest.raises(CannotLook, match=r"fabric of gpu0 .*nvmlDeviceGetGpuFabricInfoV: failed"):
        fabric(unread)


def test_amds_cards_are_on_no_nvswitch() -> None:
    """XGMI needs no manager."""
    made = situation(devices=(mi300x(0),))
    assert judged(driver.check_fabric, mi300x(0), made).status == "skip"


def mode(value: str | Absence, **fields: Any) -> Result:
    """What the check of the compute mode says."""
    made = situation(machine=facts(Card(device="gpu0", compute_mode=value, **fields)))
    return judged(driver.check_mode, card(0), made)


def test_the_default_mode_serves_every_program() -> None:
    """Persistence that is off is a note."""
    assert mode("default").reason == "compute mode default"
    off = mode("default", persistence=False)
    assert off.status == "pass" and "persistence mode is off" in off.reason


def test_a_prohibited_card_serves_none() -> None:
    """The command that opens it names the card."""
    result = mode("prohibited")
    assert result.status == "fail"
    assert result.action == "sudo nvidia-smi -i 0000:1b:00.0 -c DEFAULT"


def test_an_exclusive_card_serves_one_process() -> None:
    """A second process on it fails."""
    result = mode("exclusive process")
    assert result.status == "warn" and "one process at a time" in result.reason


def test_a_mode_that_is_none_or_unread() -> None:
    """AMD has none; what could not be read is an error."""
    amd = situation(devices=(mi300x(0),))
    skipped = judged(driver.check_mode, mi300x(0), amd)
    assert (skipped.status, skipped.reason) == ("skip", "this card has no compute mode")
    with pytest.raises(CannotLook, match="nvmlDeviceGetComputeMode: deadline"):
        mode(Absence(what="nvmlDeviceGetComputeMode", reason="deadline"))


def answers(*cards: Card, **fields: Any) -> Result:
    """What the check of the driver's answers says."""
    made = situation(machine=facts(*cards), order={"reference": "ORD-4"}, **fields)
    return judged(driver.check_answers, made)


def test_a_silent_card_stops_no_other_one() -> None:
    """The check speaks of all cards at once, so it closes no gate."""
    (mark,) = driver.check_answers.pytestmark
    assert mark.kwargs["gates"] is False


def test_every_card_answered() -> None:
    """What a card does not have, or the driver does not know, is no silence."""
    ordinary = Card(
        device="gpu0",
        vbios=Absence(reason="not supported"),
        board=Absence(reason="driver lacks the call"),
        serial=Absence(reason="not found"),
    )
    result = answers(ordinary, Card(device="gpu1"))
    assert (result.status, result.reason) == ("pass", "2 card(s) answered")


def test_a_card_that_is_lost_is_named() -> None:
    """Off the bus: it fails with the card, whatever else could not be read."""
    lost = Absence(what="nvmlDeviceGetEccMode", reason="device lost", detail="GPU is lost")
    denied = Absence(what="nvmlDeviceGetSerial", reason="no permission")
    result = answers(Card(device="gpu0", serial=denied), Card(device="gpu1", ecc=Ecc(enabled=lost)))
    assert result.status == "fail"
    assert result.reason == "gpu1 has fallen off the bus (GPU is lost)"
    assert "XID 79" in result.action and "gpu1 GPU-00000001" in result.action
    assert "GPU is lost" in result.evidence


def test_a_card_that_was_lost_before_it_was_described() -> None:
    """The inventory knows it by name alone."""
    result = answers(Card(device="gpu0"), absences=(Absence(what="gpu3", reason="device lost"),))
    assert result.reason == "gpu3 has fallen off the bus"


@pytest.mark.parametrize("reason", ["no permission", "deadline", "failed", "not readable"])
def test_a_question_without_an_answer_is_an_error(reason: str) -> None:
    """The call and its card are named, and nobody says that all is well."""
    gap = Absence(what="nvmlDeviceGetSerial", reason=reason, detail="Insufficient Permissions")
    with pytest.raises(CannotLook, match=rf"1 question.*gpu0 nvmlDeviceGetSerial: {reason}"):
        answers(Card(device="gpu0", serial=gap))
    whole = Absence(what="CUDA version of the driver", reason=reason)
    with pytest.raises(CannotLook, match="CUDA version of the driver"):
        answers(Card(device="gpu0"), absences=(whole,))


def test_an_order_of_cards_that_is_not_sure_is_a_warning() -> None:
    """A variable that counts cards in an order which no driver tells is no silent driver."""
    unsure = Absence(what="CUDA_VISIBLE_DEVICES", reason="failed", detail="counts fastest first")
    result = answers(Card(device="gpu0"), absences=(unsure,))
    assert (result.status, result.reason) == ("warn", "CUDA_VISIBLE_DEVICES: counts fastest first")
    assert "CUDA_DEVICE_ORDER=PCI_BUS_ID" in result.action


def test_what_other_checks_speak_of_is_left_to_them() -> None:
    """Device files, and a driver that is not loaded."""
    absences = (
        Absence(what="/dev/kfd", reason="no permission"),
        Absence(what="NVML", reason="driver not loaded"),
    )
    result = answers(devices=(), absences=absences)
    assert result.status == "skip" and "driver.present" in result.reason


def test_a_rehearsal_has_no_driver() -> None:
    """On the CPU nothing is judged."""
    for check, arguments in (
        (driver.check_fabric, (card(0),)),
        (driver.check_mode, (card(0),)),
        (driver.check_answers, ()),
    ):
        result = judged(check, *arguments, rehearsal())
        assert (result.status, result.reason) == ("skip", "a rehearsal has no cards")
