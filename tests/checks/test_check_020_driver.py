"""The judgement of the driver."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.events import Environment
from preflight.facts import Absence
from preflight.harness import CannotLook
from preflight.records import Versions

from .situations import asking, card, environment, judged, load, never, rehearsal, situation

driver = load("check_020_driver.py")


def nothing(**fields: Any) -> Any:
    """A machine on which no accelerator was found."""
    looked = ("NVML: not found", "KFD of the amdgpu driver: not found", "PCI bus: no accelerator")
    return situation(devices=(), looked_for=looked, **fields)


def test_a_driver_with_cards() -> None:
    """A driver that shows cards passes without asking torch."""
    result = judged(driver.check_present, situation(), ask_torch=never)
    assert (result.status, result.reason) == ("pass", "driver 580.65.06, 2 device(s)")


def test_the_driver_of_the_kernel_has_no_version() -> None:
    """amdgpu of the kernel tells no version, and passes."""
    result = judged(
        driver.check_present, situation(devices=(card(0, driver=None),)), ask_torch=never
    )
    assert (result.status, result.reason) == ("pass", "driver of the kernel, 1 device(s)")


def test_nothing_found_says_where_it_looked_and_how_to_rehearse() -> None:
    """No accelerator is a failure with every place that was looked at, and the way on without."""
    result = judged(driver.check_present, nothing(), ask_torch=asking(environment()))
    assert result.status == "fail"
    for place in ("NVML: not found", "KFD", "PCI bus: no accelerator"):
        assert place in result.reason
    assert "preflight run --device cpu" in result.action


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({}, "torch 2.13.0+cu130 needs an NVIDIA driver >= 580.65.06"),
        ({"torch": "2.9.0+rocm6.4", "cuda": None, "hip": "6.4"}, "needs the amdgpu driver"),
        ({"torch": "2.13.0+cpu", "cuda": None}, "install the driver, or pass the devices"),
    ],
)
def test_the_action_is_in_terms_of_the_torch_that_is_there(
    facts: dict[str, Any], words: str
) -> None:
    """What to install follows from the build of torch."""
    result = judged(driver.check_present, nothing(), ask_torch=asking(environment(**facts)))
    assert words in result.action


def test_no_torch_either() -> None:
    """Without torch the action speaks of the driver alone."""
    broken = Environment(versions=Versions(), failed=True, cause="No module named 'torch'")
    result = judged(driver.check_present, nothing(), ask_torch=asking(broken))
    assert result.action.startswith("install the driver")


def test_hidden_cards_are_told_where_none_is_left() -> None:
    """All cards hidden is a failure that names what hides them."""
    hidden = ("gpu0 (NVIDIA H100) by CUDA_VISIBLE_DEVICES=",)
    result = judged(driver.check_present, nothing(hidden=hidden), ask_torch=asking(environment()))
    assert "CUDA_VISIBLE_DEVICES=" in result.reason


def test_a_driver_that_does_not_answer_could_not_be_looked_at() -> None:
    """A vendor call past its deadline is an error, not a missing driver."""
    stuck = (Absence(what="inventory", reason="deadline", detail="last words"),)
    looked = ("the driver's own library: the process that asked it did not end in 20 s",)
    machine = situation(devices=(), absences=stuck, looked_for=looked)
    with pytest.raises(CannotLook, match="did not end in 20 s") as caught:
        judged(driver.check_present, machine, ask_torch=never)
    assert caught.value.evidence == "last words"
    assert "reset the node" in caught.value.action


def test_a_device_file_without_permission_is_a_failure() -> None:
    """Cards that are listed and cannot be opened are no use, and the way to mend it is told."""
    denied = (Absence(what="/dev/kfd", reason="no permission", detail="add this user to render"),)
    result = judged(driver.check_present, situation(absences=denied), ask_torch=never)
    assert (result.status, result.action) == ("fail", "add this user to render")
    assert "/dev/kfd" in result.reason


def test_a_missing_device_file_is_a_failure() -> None:
    """A container that shows the topology and not the device is told how to be started."""
    missing = (Absence(what="/dev/kfd", reason="not found"),)
    result = judged(driver.check_present, situation(absences=missing), ask_torch=never)
    assert result.status == "fail"
    assert "--device /dev/kfd" in result.action


def test_a_fact_without_permission_is_a_warning_where_cards_are_seen() -> None:
    """A number that may not be read makes no card unfit."""
    denied = (Absence(what="UUID of gpu0", reason="no permission", detail="ask root"),)
    result = judged(driver.check_present, situation(absences=denied), ask_torch=never)
    assert (result.status, result.action) == ("warn", "ask root")


@pytest.mark.parametrize(
    ("reason", "words"),
    [("library and kernel module differ", "reboot"), ("driver not loaded", "modprobe nvidia")],
)
def test_what_nvml_says_decides_the_action(reason: str, words: str) -> None:
    """A driver that was half updated wants a reboot, not another driver."""
    absence = Absence(what="NVML", reason=reason, detail="NVML's own words")
    machine = situation(devices=(), absences=(absence,), looked_for=(f"NVML: {reason}",))
    result = judged(driver.check_present, machine, ask_torch=asking(environment()))
    assert words in result.action


def test_absences_are_evidence() -> None:
    """What could not be read is kept word for word."""
    lost = (Absence(what="gpu3", reason="device lost", detail="GPU is lost"),)
    result = judged(driver.check_present, situation(absences=lost), ask_torch=never)
    assert "gpu3: device lost. GPU is lost" in result.evidence


@pytest.mark.parametrize(
    ("check", "arguments"), [("check_present", {}), ("check_toolkit", {"device": card(0)})]
)
def test_a_rehearsal_has_no_driver(check: str, arguments: dict[str, Any]) -> None:
    """On the CPU the driver is skipped, and torch is not asked."""
    result = judged(getattr(driver, check), situation=rehearsal(), ask_torch=never, **arguments)
    assert (result.status, result.reason) == ("skip", "a rehearsal has no cards")


def toolkit(answer: Environment, **fields: Any) -> Any:
    """The judgement of one card's driver against torch's CUDA."""
    device = card(0, **fields)
    return judged(driver.check_toolkit, device, situation(), ask_torch=asking(answer))


def test_a_driver_that_is_new_enough() -> None:
    """A driver at the floor of torch's CUDA passes."""
    result = toolkit(environment())
    assert (result.status, result.reason) == ("pass", "driver 580.65.06 for CUDA 13.0")


def test_a_driver_that_is_too_old() -> None:
    """A driver below the floor fails with the floor, its source, and both ways to mend it."""
    result = toolkit(environment(cuda_available=False), driver="535.183.01")
    assert result.status == "fail"
    assert "535.183.01 is older than 580.65.06, the floor of CUDA 13.0" in result.reason
    assert "CUDA Compatibility" in result.reason
    assert "install driver 580.65.06 or newer" in result.action


def test_an_old_driver_with_a_compatibility_package_is_a_warning() -> None:
    """Where torch starts all the same, the old driver is a warning."""
    result = toolkit(environment(cuda_available=True), driver="535.183.01")
    assert result.status == "warn"
    assert "torch starts with it" in result.reason


@pytest.mark.parametrize(
    ("facts", "fields", "words"),
    [
        ({"cuda": None}, {}, "torch is no CUDA build"),
        ({}, {"driver": None}, "the driver tells no version"),
        ({"cuda": "14.0"}, {}, "no floor is known for CUDA 14.0"),
        ({}, {"driver": "R580"}, "no floor is known"),
        ({}, {"kind": "hip"}, "only CUDA has a driver floor"),
    ],
)
def test_what_nobody_can_say_is_skipped(
    facts: dict[str, Any], fields: dict[str, Any], words: str
) -> None:
    """An unknown pair of driver and toolkit is neither a pass nor a failure."""
    result = toolkit(environment(**facts), **fields)
    assert result.status == "skip" and words in result.reason
