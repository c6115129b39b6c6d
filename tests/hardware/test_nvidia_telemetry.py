"""Telemetry through NVML, with the real nvidia-ml-py over a library that is a fake."""

from __future__ import annotations

import pynvml
import pytest

from preflight import clock
from preflight.facts import ABSENCE_REASONS, Absence
from preflight.hardware.nvidia_telemetry import NvidiaTelemetry
from preflight.hardware.telemetry import Sample

from .telemetry_nvml import TelemetryNvml

PCI = "0000:1b:00.0"


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> TelemetryNvml:
    """A healthy card that copies; found functions and error texts are forgotten."""
    library = TelemetryNvml()
    monkeypatch.setattr(pynvml, "nvmlLib", library)
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {}, raising=False)
    monkeypatch.setattr(pynvml.NVMLError, "_errcode_to_string", {}, raising=False)
    return library


def sample(pci: str = PCI) -> Sample:
    """One look at the card."""
    return NvidiaTelemetry(clock.seconds()).sample(pci)


def reasons(found: Sample) -> dict[str, str]:
    """Field to the reason of its absence."""
    values = {name: getattr(found, name) for name in Sample.__struct_fields__}
    return {n: v.reason for n, v in values.items() if isinstance(v, Absence)}


def test_a_card_at_work(nvml: TelemetryNvml) -> None:
    """Every fact with its unit: watts from milliwatts, GiB from bytes, words from bits."""
    found = sample()
    assert (found.pcie_generation, found.pcie_width) == (5, 16)
    assert (found.sm_MHz, found.memory_MHz) == (1980, 2619)
    assert (found.power_W, found.temperature_C) == (691.25, 61.0)
    assert found.slowed_by == ("sw power cap", "sw thermal slowdown")
    assert found.memory_used_GiB == 3.0
    assert 0 <= found.at_s < 60


def test_a_clock_that_nothing_holds_back(nvml: TelemetryNvml) -> None:
    """No bit is no word, which is not the same as an absence."""
    nvml.reasons = 0
    assert sample().slowed_by == ()


def test_an_old_driver_knows_the_reasons_by_their_old_name(nvml: TelemetryNvml) -> None:
    """Before driver 535 the call had another name and the same bits."""
    nvml.lacking.add("nvmlDeviceGetCurrentClocksEventReasons")
    assert sample().slowed_by == ("sw power cap", "sw thermal slowdown")


def test_one_refusal_costs_one_fact(nvml: TelemetryNvml) -> None:
    """A fact that the card does not tell is absent with its reason, and the others are there."""
    nvml.broken["nvmlDeviceGetPowerUsage"] = pynvml.NVML_ERROR_NOT_SUPPORTED
    found = sample()
    assert reasons(found) == {"power_W": "not supported"}
    assert found.pcie_generation == 5


@pytest.mark.parametrize(
    ("function", "code", "reason"),
    [
        ("nvmlInitWithFlags", pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "driver not loaded"),
        ("nvmlDeviceGetHandleByPciBusId_v2", pynvml.NVML_ERROR_GPU_IS_LOST, "device lost"),
        ("nvmlDeviceGetHandleByPciBusId_v2", 31337, "failed"),
    ],
)
def test_a_card_that_cannot_be_found_is_absent_as_a_whole(
    nvml: TelemetryNvml, function: str, code: int, reason: str
) -> None:
    """No fact has a value, each says why, and nothing is raised."""
    nvml.broken[function] = code
    found = reasons(sample())
    assert set(found) == set(Sample.__struct_fields__) - {"at_s"}
    assert set(found.values()) == {reason} <= set(ABSENCE_REASONS)


def test_another_address_is_no_card(nvml: TelemetryNvml) -> None:
    """An address that the driver does not know is not found."""
    assert set(reasons(sample("0000:2a:00.0")).values()) == {"not found"}


def test_a_driver_that_comes_back_is_asked_again(nvml: TelemetryNvml) -> None:
    """A refusal to begin is no end: the next sample tries anew."""
    telemetry = NvidiaTelemetry(clock.seconds())
    nvml.broken["nvmlInitWithFlags"] = pynvml.NVML_ERROR_UNKNOWN
    assert isinstance(telemetry.sample(PCI).pcie_width, Absence)
    nvml.broken.clear()
    assert telemetry.sample(PCI).pcie_width == 16
