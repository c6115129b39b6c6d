"""The judgement of the driver's version and kind."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.events import Environment
from preflight.facts import Absence, Driver
from preflight.harness import CannotLook
from preflight.harness.result import Result
from preflight.records import Device, Versions

from .situations import (
    asking,
    b200,
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

driver = load("check_021_driver_versions.py")

V100 = {"product": "Tesla V100-PCIE-16GB", "memory_GiB": 15.75, "architecture": "sm_70"}
TITAN = {"product": "TITAN Xp", "memory_GiB": 11.9, "architecture": "sm_61"}
RTX_3060 = {"product": "NVIDIA GeForce RTX 3060", "memory_GiB": 12.0, "architecture": "sm_86"}
RTX_4090 = {"product": "NVIDIA GeForce RTX 4090", "memory_GiB": 23.99, "architecture": "sm_89"}
A10 = {"product": "NVIDIA A10", "memory_GiB": 22.49, "architecture": "sm_86"}
ERROR_804 = (
    "Unexpected error from cudaGetDeviceCount(). Did you run some cuda functions before calling "
    "NumCudaDevices() that might have already set an error?\n"
    "Error 804: forward compatibility was attempted on non supported HW"
)


def toolkit(answer: Environment, machine: dict[str, Any] | None = None, **fields: Any) -> Result:
    """The judgement of one card's driver against torch's CUDA."""
    made = situation(machine=machine)
    return judged(driver.check_toolkit, card(0, **fields), made, ask_torch=asking(answer))


def silent(words: str, **torch: Any) -> Environment:
    """A torch that does not start, in its own words."""
    return environment(cuda_available=False, cuda_error=words, **torch)


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
    assert result.action == (
        "install driver 580.65.06 or newer on the host, or the cuda-compat package of CUDA 13.0, "
        "or a torch built for an older CUDA (this driver speaks 13.0)"
    )


def test_no_compatibility_package_is_advised_where_none_works() -> None:
    """A GeForce is told of the driver and of an older torch alone."""
    result = toolkit(environment(cuda_available=False), **RTX_4090, driver="535.183.01")
    assert result.status == "fail" and "cuda-compat" not in result.action


def test_before_cuda_11_each_toolkit_has_its_own_floor() -> None:
    """V100 under driver 418.67 with torch 1.6 of CUDA 10.2: no minor version compatibility."""
    answer = silent("The NVIDIA driver on your system is too old", torch="1.6.0", cuda="10.2")
    result = toolkit(answer, **V100, driver="418.67")
    assert result.status == "fail"
    assert "driver 418.67 is older than 440.33, the floor of CUDA 10.2" in result.reason
    assert "release notes" in result.reason


def test_a_torch_that_does_not_start_over_a_new_driver_is_no_matter_of_versions() -> None:
    """TITAN Xp under driver 410.129 with CUDA 10.0: new enough, and torch says no."""
    result = toolkit(silent("", torch="1.4.0", cuda="10.0"), **TITAN, driver="410.129")
    assert result.status == "fail"
    assert result.reason == (
        "driver 410.129 is new enough for CUDA 10.0, and torch does not start: it finds no device"
    )
    assert "/dev/nvidia-uvm" in result.action and "reboot" in result.action


def test_torchs_own_words_choose_the_action() -> None:
    """Error 802 is the fabric manager's, whatever the version."""
    result = toolkit(silent("Error 802: system not yet initialized"), driver="580.126.09")
    assert "torch does not start: Error 802" in result.reason
    assert "nvidia-fabricmanager" in result.action


def test_an_old_driver_with_a_compatibility_package_passes() -> None:
    """A10 under driver 470 with CUDA 12.1: torch starts, so a package serves it."""
    result = toolkit(environment(cuda="12.1", torch="2.4.0"), **A10, driver="470.129.06")
    assert result.status == "pass"
    assert result.reason == (
        "driver 470.129.06 is older than 525.60.13, and torch starts with it: a forward "
        "compatibility package (cuda-compat)"
    )
    assert toolkit(environment(), driver="535.183.01").status == "pass"


def test_an_old_driver_of_a_card_that_allows_no_package_is_a_warning() -> None:
    """A GeForce cannot have one, so something is odd though torch starts."""
    result = toolkit(environment(), **RTX_4090, driver="535.183.01")
    assert result.status == "warn"
    assert "RTX 4090 allows no forward compatibility package" in result.reason


@pytest.mark.parametrize("version", ["525.147.05", "580.65.06"])
def test_a_package_on_a_card_that_allows_none(version: str) -> None:
    """Error 804 names the card and the folder, whether the driver is old or new enough."""
    path = {"LD_LIBRARY_PATH": "/usr/local/cuda/compat:/opt/lib"}
    result = toolkit(silent(ERROR_804), facts(environment=path), **RTX_3060, driver=version)
    assert result.status == "fail"
    assert "NVIDIA GeForce RTX 3060 allows none" in result.reason and "error 804" in result.reason
    assert result.action.startswith("take /usr/local/cuda/compat out of LD_LIBRARY_PATH")
    assert "804" in result.evidence


def test_a_package_that_shadows_the_driver_of_windows() -> None:
    """Under WSL the library of Windows has to come first."""
    result = toolkit(silent("Error 803: system has unsupported display driver"), **RTX_4090)
    assert "it is not of the version of the kernel's driver 580.65.06: error 803" in result.reason
    assert "keep /usr/lib/wsl/lib first" in result.action


@pytest.mark.parametrize(
    ("answer", "fields", "words"),
    [
        ({"cuda": None}, {}, "torch is no CUDA build"),
        ({}, {"driver": None}, "the driver tells no version"),
        ({"cuda": "14.0"}, {}, "no floor is known for CUDA 14.0"),
        ({}, {"driver": "R580"}, "no floor is known"),
        ({}, {"kind": "hip"}, "only CUDA has a driver floor"),
    ],
)
def test_what_nobody_can_say_is_skipped(
    answer: dict[str, Any], fields: dict[str, Any], words: str
) -> None:
    """An unknown pair of driver and toolkit is neither a pass nor a failure."""
    result = toolkit(environment(**answer), **fields)
    assert result.status == "skip" and words in result.reason


def test_without_torch_there_is_no_toolkit() -> None:
    """import.torch says why torch does not import."""
    broken = Environment(versions=Versions(), failed=True, cause="No module named 'torch'")
    assert toolkit(broken).status == "skip"


@pytest.mark.parametrize("check", ["check_toolkit", "check_product"])
def test_a_version_that_could_not_be_read_is_an_error(check: str) -> None:
    """The driver was asked and did not say."""
    absence = Absence(what="driver version", reason="failed", detail="Unknown Error")
    made = situation(absences=(absence,))
    asked = {"ask_torch": never} if check == "check_toolkit" else {}
    with pytest.raises(CannotLook, match="driver's version could not be read: failed"):
        judged(getattr(driver, check), card(0, driver=None), made, **asked)


def known(device: Device, **machine: Any) -> Result:
    """What the check of the product's first driver says."""
    return judged(driver.check_product, device, situation(machine=machine or None))


@pytest.mark.parametrize(
    ("version", "status"),
    [("570.133.20", "pass"), ("580.65.06", "pass"), ("570.86.15", "fail"), ("560.35.03", "fail")],
)
def test_a_b200_needs_a_driver_that_knows_it(version: str, status: str) -> None:
    """570.86 knows the architecture and not the product."""
    result = known(b200(0, driver=version))
    assert result.status == status
    if status == "fail":
        assert f"driver {version} is older than 570.133.20, the first that knows B200 (" in (
            result.reason
        )
        assert "install driver 570.133.20 or newer on the host" in result.action


def test_a_floor_that_nobody_verified_only_warns() -> None:
    """The catalogue says which of its fields no source was read for."""
    result = known(card(0, **RTX_4090, driver="515.48.07"))
    assert result.status == "warn"
    assert "515.48.07 is older than 520, the first that knows RTX 4090" in result.reason


@pytest.mark.parametrize(
    ("rocm", "status", "words"),
    [
        ("6.4.1", "pass", "ROCm 6.4.1, MI300X needs 6.0"),
        ("5.7.0", "warn", "ROCm 5.7.0 is older than 6.0"),
        (None, "skip", "no floor is known for amdgpu 6.12.12"),
    ],
)
def test_amds_floor_is_of_rocm(rocm: str | None, status: str, words: str) -> None:
    """The numbers of the packaged driver are in no table that we have."""
    result = known(mi300x(0), driver=Driver(rocm=rocm) if rocm else Driver())
    assert result.status == status and words in result.reason


@pytest.mark.parametrize(
    ("device", "words"),
    [
        (card(0, **A10), "NVIDIA A10 is unknown to the catalogue"),
        (card(0, driver=None), "the driver tells no version"),
        (card(0, driver="R580"), "R580 is no version"),
        (mi300x(0, driver=None), "the amdgpu driver of the kernel tells no version"),
        (
            mi300x(0, product="AMD Instinct MI210", memory_GiB=63.98, architecture="gfx90a"),
            "no first ROCm is known for MI210",
        ),
    ],
)
def test_a_floor_that_is_not_known_is_skipped(device: Device, words: str) -> None:
    """Neither old nor new enough."""
    result = known(device)
    assert result.status == "skip" and words in result.reason


def module(device: Device, flavour: str | Absence) -> Result:
    """What the check of the kernel module says."""
    made = situation(machine=facts(driver=Driver(flavour=flavour)))
    return judged(driver.check_module, device, made)


def test_blackwell_runs_under_the_open_module_alone() -> None:
    """The proprietary one loads and drives nothing there."""
    result = module(b200(0), "proprietary")
    assert result.status == "fail"
    assert result.reason == (
        "the proprietary kernel module is loaded, and only the open one drives B200"
    )
    assert "nvidia-open" in result.action
    assert module(b200(0), "open").status == "pass"


@pytest.mark.parametrize("flavour", ["open", "proprietary"])
def test_hopper_runs_under_both(flavour: str) -> None:
    """Either module drives an H100."""
    result = module(card(0), flavour)
    assert (result.status, result.reason) == ("pass", f"the {flavour} kernel module")


@pytest.mark.parametrize(
    ("device", "flavour", "words"),
    [
        (b200(0), Absence(reason="not found"), "not told: not found"),
        (card(0, **A10), "open", "NVIDIA A10 is not known"),
        (mi300x(0), "open", "only NVIDIA's driver"),
    ],
)
def test_a_module_that_cannot_be_judged_is_skipped(
    device: Device, flavour: str | Absence, words: str
) -> None:
    """An unknown kind of module, or a product whose kind nobody knows."""
    result = module(device, flavour)
    assert result.status == "skip" and words in result.reason


@pytest.mark.parametrize("check", ["check_toolkit", "check_product", "check_module"])
def test_a_rehearsal_has_no_driver(check: str) -> None:
    """On the CPU nothing is judged, and torch is not asked."""
    asked = {"ask_torch": never} if check == "check_toolkit" else {}
    result = judged(getattr(driver, check), card(0), rehearsal(), **asked)
    assert (result.status, result.reason) == ("skip", "a rehearsal has no cards")
