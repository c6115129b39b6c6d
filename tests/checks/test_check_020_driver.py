"""The judgement of whether there is a driver, and of its device files."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.events import Environment
from preflight.facts import Absence, BusCard, DeviceFile, Driver, HostFacts
from preflight.harness import CannotLook
from preflight.harness.result import Result
from preflight.records import Versions

from .situations import (
    asking,
    card,
    environment,
    facts,
    judged,
    load,
    mi300x,
    never,
    rehearsal,
    situation,
)

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
    """All cards hidden is a failure that names what hides them, and that is what to take away."""
    hidden = ("gpu0 (NVIDIA H100) by CUDA_VISIBLE_DEVICES=",)
    result = judged(driver.check_present, nothing(hidden=hidden), ask_torch=never)
    assert "hidden: gpu0 (NVIDIA H100) by CUDA_VISIBLE_DEVICES=" in result.reason
    assert result.action == "take away what hides the cards (CUDA_VISIBLE_DEVICES=), run again"


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
    denied = (Absence(what="/dev/kfd", reason="no permission", detail="Permission denied"),)
    result = judged(driver.check_present, situation(absences=denied), ask_torch=never)
    assert result.status == "fail"
    assert "the driver lists cards, and /dev/kfd may not be opened by this user" in result.reason
    assert "usermod -aG render,video" in result.action


def test_the_kernels_own_words_are_told_where_the_file_was_opened() -> None:
    """The inventory's absence carries advice; the file's own says what the kernel answered."""
    advice = Absence(what="/dev/kfd", reason="failed", detail="Invalid argument: ask the provider")
    own = Absence(what="/dev/kfd", reason="failed", detail="Invalid argument")
    files = Driver(files=(DeviceFile(path="/dev/kfd", is_open=own),))
    machine = situation(absences=(advice,), machine=facts(driver=files))
    result = judged(driver.check_present, machine, ask_torch=never)
    assert result.reason.endswith("refuses to open it (failed: Invalid argument)")


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
    result = judged(driver.check_present, machine, ask_torch=never)
    assert words in result.action


def test_absences_are_evidence() -> None:
    """What could not be read is kept word for word."""
    lost = (Absence(what="gpu3", reason="device lost", detail="GPU is lost"),)
    result = judged(driver.check_present, situation(absences=lost), ask_torch=never)
    assert "gpu3: device lost. GPU is lost" in result.evidence


def on_bus(driver_name: str | Absence, vendor: str = "NVIDIA") -> BusCard:
    """A card on the PCI bus, and who holds it."""
    return BusCard(pci="0000:1b:00.0", vendor=vendor, pci_id="10de:2901", driver=driver_name)


NO_DRIVER = Absence(what="driver", reason="not found")


@pytest.mark.parametrize(
    ("held_by", "container", "reason", "action"),
    [
        (NO_DRIVER, None, "(no driver has taken it)", "sudo modprobe nvidia"),
        ("vfio-pci", None, "(held by vfio-pci)", "ask the seller to give the cards"),
        ("vfio-pci", "docker", "(held by vfio-pci)", "ask the seller to give the cards"),
        ("nvidia", "docker", "(held by nvidia)", "start it with --gpus all"),
        ("nvidia", "kubernetes", "(held by nvidia)", "nvidia.com/gpu"),
        ("nvidia", None, "(held by nvidia)", "read dmesg"),
    ],
)
def test_cards_on_the_bus_that_no_driver_shows(
    held_by: str | Absence, container: str | None, reason: str, action: str
) -> None:
    """Who has the card decides: nobody, a virtual machine, or the host outside the container."""
    host = HostFacts(container=container or "none")
    machine = nothing(machine=facts(bus=(on_bus(held_by),), host=host))
    result = judged(driver.check_present, machine, ask_torch=never)
    assert result.status == "fail"
    assert f"on the PCI bus: NVIDIA 0000:1b:00.0 {reason}" in result.reason
    assert action in result.action


def test_a_pod_without_a_card_asks_for_one() -> None:
    """Nothing on the bus and no driver in sight: the pod's resources come first."""
    host = HostFacts(container="kubernetes")
    result = judged(driver.check_present, nothing(machine=facts(host=host)), ask_torch=never)
    assert result.action.startswith("the pod was given no card: ask for nvidia.com/gpu")


def test_amds_module_is_amdgpu() -> None:
    """The module to load is that of the card's vendor."""
    machine = nothing(machine=facts(bus=(on_bus(NO_DRIVER, "AMD"),)))
    result = judged(driver.check_present, machine, ask_torch=never)
    assert "sudo modprobe amdgpu" in result.action


def test_a_display_adapter_is_no_accelerator() -> None:
    """The board's own graphics do not make a machine one with cards."""
    adapter = BusCard(pci="0000:03:00.0", vendor="AMD", pci_id="1002:1", is_accelerator=False)
    machine = nothing(machine=facts(bus=(adapter,)))
    result = judged(driver.check_present, machine, ask_torch=asking(environment()))
    assert "0000:03:00.0" not in result.reason and "modprobe" not in result.action


@pytest.mark.parametrize(
    ("absence", "wanted", "unwanted"),
    [
        (Absence(reason="no permission", detail="Permission denied"), "--group-add", "seller"),
        (Absence(reason="failed", detail="Invalid argument"), "ask the seller", "usermod"),
    ],
)
def test_a_shut_device_file_comes_before_the_driver(
    absence: Absence, wanted: str, unwanted: str
) -> None:
    """A refusal of /dev/kfd is mended at /dev/kfd; EINVAL is no matter of groups."""
    files = (DeviceFile(path="/dev/kfd", is_open=absence),)
    machine = facts(bus=(on_bus("amdgpu", "AMD"),), driver=Driver(files=files))
    result = judged(driver.check_present, nothing(machine=machine), ask_torch=never)
    assert "/dev/kfd" in result.reason and absence.detail in result.reason
    assert wanted in result.action and unwanted not in result.action


def test_missing_device_files_are_named_where_a_card_is_on_the_bus() -> None:
    """The files that a container was not given; without a card their absence is natural."""
    gone = Driver(files=(DeviceFile(path="/dev/nvidiactl", is_open=Absence(reason="not found")),))
    there = nothing(machine=facts(bus=(on_bus("nvidia"),), driver=gone))
    assert (
        "/dev/nvidiactl is not there" in judged(driver.check_present, there, ask_torch=never).reason
    )
    without = judged(
        driver.check_present,
        nothing(machine=facts(driver=gone)),
        ask_torch=asking(environment()),
    )
    assert "/dev/nvidiactl" not in without.reason


def test_under_wsl_the_driver_is_that_of_windows() -> None:
    """No module is loaded there; a compatibility package in the path is the usual cause."""
    machine = nothing(machine=facts(host=HostFacts(wsl=True)))
    action = judged(driver.check_present, machine, ask_torch=never).action
    assert "wsl --update" in action and "/usr/lib/wsl/lib" in action


def test_a_simulation_asks_no_torch_of_this_host() -> None:
    """A profile without a card is judged from the profile alone."""
    result = judged(driver.check_present, nothing(options={"mode": "simulate"}), ask_torch=never)
    assert result.status == "fail" and "install the driver" in result.action


def opened(*files: DeviceFile, **fields: Any) -> Result:
    """What the check of device files says."""
    machine = facts(driver=Driver(files=files))
    return judged(driver.check_files, situation(machine=machine, **fields))


def file(path: str, reason: str = "", detail: str = "") -> DeviceFile:
    """A device file that opens, or why not."""
    return DeviceFile(path=path, is_open=Absence(reason=reason, detail=detail) if reason else True)


NVIDIAS = (file("/dev/nvidiactl"), file("/dev/nvidia0"), file("/dev/nvidia1"))


def test_device_files_that_open() -> None:
    """All of them open; what display and profilers use is nobody's need."""
    result = opened(*NVIDIAS, file("/dev/nvidia-uvm"), file("/dev/nvidia-modeset", "not found"))
    assert result.status == "pass"
    assert result.reason == "/dev/nvidiactl, /dev/nvidia0, /dev/nvidia1, /dev/nvidia-uvm"


@pytest.mark.parametrize(
    ("reason", "detail", "sentence", "action"),
    [
        ("no permission", "Permission denied", "may not be opened by this user", "usermod"),
        ("failed", "Invalid argument", "the kernel refuses to open it", "ask the seller"),
        ("not found", "", "/dev/kfd is not there", "--device /dev/kfd"),
    ],
)
def test_three_ways_to_be_shut_out(reason: str, detail: str, sentence: str, action: str) -> None:
    """EACCES, EINVAL and ENOENT are three faults with three remedies."""
    result = opened(file("/dev/kfd", reason, detail), devices=(mi300x(0),))
    assert result.status == "fail" and sentence in result.reason
    assert action in result.action
    assert f"/dev/kfd: {reason}" in result.evidence


def test_the_file_of_somebody_elses_card_is_not_needed() -> None:
    """Two cards of eight: the other files are shut, and rightly so."""
    others = [file(f"/dev/nvidia{index}", "no permission") for index in range(2, 8)]
    assert opened(*NVIDIAS, *others).status == "pass"


def test_uvm_that_is_not_there_yet_is_a_warning() -> None:
    """The first CUDA program makes it on a host; a container has to be given it."""
    result = opened(*NVIDIAS, file("/dev/nvidia-uvm", "not found"))
    assert result.status == "warn"
    assert "/dev/nvidia-uvm is not there" in result.reason
    assert "nvidia-modprobe" in result.action


def test_nvml_that_shows_cards_needs_no_files_that_we_know() -> None:
    """Under WSL none of them is there and all is well; one that is refused is none the less."""
    absent = file("/dev/nvidiactl", "not found"), file("/dev/nvidia-uvm", "not found")
    result = opened(*absent)
    assert result.status == "skip" and "through other files" in result.reason
    refused = opened(*absent, file("/dev/nvidia0", "no permission", "Permission denied"))
    assert refused.status == "fail" and "/dev/nvidia0 may not be opened" in refused.reason


def test_without_cards_absent_files_are_natural_and_refusals_are_not() -> None:
    """driver.present speaks of the absence; a refusal is the cause and fails here."""
    absent = opened(file("/dev/nvidiactl", "not found"), file("/dev/kfd", "not found"), devices=())
    assert absent.status == "skip" and "driver.present" in absent.reason
    refused = opened(file("/dev/kfd", "failed", "Invalid argument"), devices=())
    assert refused.status == "fail"


def test_files_that_could_not_be_looked_at() -> None:
    """An unread folder is an error; a driver without files that we know of is no matter."""
    unread = Absence(what="/dev", reason="no permission", detail="Permission denied")
    with pytest.raises(CannotLook, match="/dev: no permission"):
        judged(driver.check_files, situation(machine=facts(driver=Driver(files=unread))))
    assert judged(driver.check_files, situation()).status == "skip"


@pytest.mark.parametrize(
    ("check", "arguments"), [("check_present", {"ask_torch": never}), ("check_files", {})]
)
def test_a_rehearsal_has_no_driver(check: str, arguments: dict[str, Any]) -> None:
    """On the CPU the driver is skipped, and torch is not asked."""
    result = judged(getattr(driver, check), situation=rehearsal(), **arguments)
    assert (result.status, result.reason) == ("skip", "a rehearsal has no cards")
