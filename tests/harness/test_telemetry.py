"""A device is watched from a process of its own, which costs the check nothing when it hangs."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pynvml
import pytest

from preflight import clock
from preflight.facts import NOT_ASKED, Absence
from preflight.hardware.telemetry import Sample
from preflight.harness import telemetry_child
from preflight.harness.sweep import RUN_VARIABLE, survivors
from preflight.harness.telemetry import Sampler, Samples
from preflight.records import Device

H100 = Device(
    name="gpu0", node="node-a", kind="cuda", product="NVIDIA H100 80GB HBM3", pci="0000:1b:00.0"
)
CPU = Device(name="cpu", node="node-a", kind="cpu", product="EPYC")
NVML = """
import pathlib
real = {real!r}
exec(compile(pathlib.Path(real).read_text(), real, "exec"))
from hardware.telemetry_nvml import TelemetryNvml
nvmlLib = TelemetryNvml()
"""
"""nvidia-ml-py itself, over the library of tests/hardware/telemetry_nvml.py."""


@pytest.fixture
def vendor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The vendor's library as our processes find it; what a child leaves behind is looked for."""
    folder = tmp_path / "path"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setenv(RUN_VARIABLE, str(tmp_path))
    file = folder / "pynvml.py"
    file.write_text(NVML.format(real=pynvml.__file__))
    return file


def add(vendor: Path, line: str) -> None:
    """One more line of the library."""
    vendor.write_text(f"{vendor.read_text()}\n{line}\n")


def await_that(holds: Callable[[], bool]) -> None:
    """Wait until something holds; the test fails where it never does."""
    until_s = clock.seconds() + 30
    while not holds():
        assert clock.seconds() < until_s, "it did not come"
        time.sleep(0.01)


def count(sampler: Sampler) -> int:
    """How many samples have come so far."""
    return len(sampler._reader.samples(wait_s=0)) if sampler._reader else 0


def test_a_card_is_sampled_until_the_block_ends(vendor: Path, tmp_path: Path) -> None:
    """Samples come in order, on the clock of this process, and no process stays."""
    before_s = clock.seconds()
    with Sampler(H100) as sampler:
        await_that(lambda: count(sampler) >= 3)
    found = sampler.samples
    assert found.absence is None
    assert len(found.samples) >= 3
    moments = [found.began_s + sample.at_s for sample in found.samples]
    assert before_s < moments[0] and moments == sorted(moments) and moments[-1] < clock.seconds()
    assert (found.peak("pcie_generation"), found.peak("pcie_width")) == (5, 16)
    assert survivors(tmp_path) == ()


def test_the_block_begins_with_a_sample(vendor: Path) -> None:
    """What is copied at once is seen, although the child takes its time to start."""
    with Sampler(H100) as sampler:
        at_s = clock.seconds()
    assert sampler.samples.began_s + sampler.samples.samples[0].at_s < at_s


def test_a_driver_that_blocks_at_once_is_told(
    vendor: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No sample, ``deadline``, the block runs, and its end does not wait for the driver."""
    monkeypatch.setattr("preflight.harness.telemetry.FIRST_SAMPLE_S", 1.0)
    add(vendor, "nvmlLib.blocked['nvmlInitWithFlags'] = 0")
    with Sampler(H100) as sampler:
        pass
    found = sampler.samples
    assert found.samples == ()
    assert found.absence is not None and found.absence.reason == "deadline"
    assert found.peak("pcie_generation") == found.absence
    assert survivors(tmp_path) == ()


def test_a_driver_that_blocks_later_keeps_what_was_seen(vendor: Path, tmp_path: Path) -> None:
    """Samples up to the call that never returned stay, with why there are no more."""
    mark = tmp_path / "blocked"
    add(vendor, f"nvmlLib.blocked['nvmlDeviceGetPowerUsage'] = 1; nvmlLib.mark = {str(mark)!r}")
    with Sampler(H100) as sampler:
        await_that(mark.exists)
        ends_s = clock.seconds()
    found = sampler.samples
    assert len(found.samples) == 1
    assert found.absence is not None and found.absence.reason == "deadline"
    assert found.absence.detail == "the driver did not answer any more; samples before that: 1"
    assert found.peak("pcie_width") == 16
    assert clock.seconds() - ends_s < 10
    assert survivors(tmp_path) == ()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("import ctypes; ctypes.string_at(0)", "was ended by SIGSEGV"),
        ("raise RuntimeError('no such driver')", "no such driver"),
    ],
)
def test_a_library_that_crashes_is_told(vendor: Path, text: str, says: str) -> None:
    """The end of the child is the reason, with its last words; the block runs all the same."""
    vendor.write_text(f"{text}\n")
    with Sampler(H100) as sampler:
        pass
    found = sampler.samples
    assert found.samples == ()
    assert found.absence is not None and found.absence.reason == "failed"
    assert says in found.absence.detail


@pytest.mark.parametrize(
    ("device", "reason"),
    [
        (CPU, "not asked"),
        (Device(name="gpu0", node="node-a", kind="cuda", product="H100"), "not found"),
    ],
)
def test_nothing_is_started_for_what_cannot_be_sampled(device: Device, reason: str) -> None:
    """The CPU has no telemetry, and without a PCI address nobody knows whom to ask."""
    with Sampler(device) as sampler:
        assert sampler._child is None
    assert sampler.samples.absence is not None
    assert sampler.samples.absence.reason == reason
    assert sampler.samples.peak("pcie_width") == sampler.samples.absence


def test_a_reason_to_sample_nothing_is_kept() -> None:
    """A simulated card is not looked for on the real machine."""
    absence = Absence(what="telemetry", reason="not asked", detail="simulated")
    with Sampler(H100, absence=absence) as sampler:
        assert sampler._child is None
    assert sampler.samples.absence == absence


def test_only_samples_of_a_time_count() -> None:
    """A link that rests before and after the work says nothing of the work."""
    resting = [Sample(at_s=at, pcie_generation=1) for at in (0.0, 0.9, 2.1)]
    working = [Sample(at_s=1.0, pcie_generation=3), Sample(at_s=1.5, pcie_generation=4)]
    samples = Samples(samples=(*resting, *working), began_s=100.0)
    assert samples.peak("pcie_generation") == 4
    assert samples.between(100.95, 101.2).peak("pcie_generation") == 3
    assert samples.between(100.0, 100.95).peak("pcie_generation") == 1
    nothing = samples.between(103.0, 104.0).peak("pcie_generation")
    assert isinstance(nothing, Absence) and nothing.reason == "not found"


def test_statistics_leave_out_what_could_not_be_read() -> None:
    """A median is of the values there are; without any, the first reason is given."""
    lost = Absence(what="SM clock", reason="device lost")
    samples = Samples(
        samples=(
            Sample(at_s=0.0, sm_MHz=1980),
            Sample(at_s=0.1, sm_MHz=lost),
            Sample(at_s=0.2, sm_MHz=1200),
            Sample(at_s=0.3, sm_MHz=1980),
        )
    )
    assert samples.median("sm_MHz") == 1980.0
    assert samples.median("power_W") == NOT_ASKED
    assert Samples(samples=(samples.samples[1],)).median("sm_MHz") == lost


def test_the_cpu_has_nothing_but_moments() -> None:
    """Its samples hold no value that could be taken for one of a card."""
    found = telemetry_child.telemetry_of("cpu", clock.seconds()).sample("")
    assert found == Sample(at_s=found.at_s)
