"""Devices without a fault are READY."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakegpu.build import Libraries

from certify.command import Run, plan_text, run_command
from preflight.harness.sweep import survivors
from preflight.stages import STAGE_NAMES

STAGES = set(STAGE_NAMES) - {"soak"}


@pytest.fixture(scope="module")
def two_devices(libraries: Libraries, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A quick run on two devices; the clocks of the probes are watched."""
    folder = tmp_path_factory.mktemp("two")
    return run_command(libraries, folder, plan=plan_text(gpus=2), **devices(2, folder))


def devices(count: int, folder: Path) -> dict[str, str]:
    """So many devices, and a log of clocks that are read too early."""
    return {
        "FAKEGPU_COUNT": str(count),
        "FAKEGPU_CLOCK_LOG": str(folder / "clocks.txt"),
        "FAKEGPU_CLOCK_OF": str(Path(__file__).parents[2] / "preflight"),
    }


def test_two_devices_are_ready(two_devices: Run) -> None:
    """Two good devices pass every stage over nccl: READY and exit code 0."""
    run = two_devices
    assert (run.record.verdict.word, run.exit_code) == ("READY", 0), run.table()
    assert run.record.run.mode == "certify"
    assert {check.stage for check in run.record.checks} == STAGES
    assert "over nccl" in (run.named("collective.all_reduce").reason or "")


def test_every_skip_of_a_ready_run_has_its_reason(two_devices: Run) -> None:
    """Only what does not apply is skipped, and nothing is blocked."""
    skipped = [check for check in two_devices.record.checks if check.status == "skip"]
    assert {check.id for check in skipped} <= {
        "import.extensions",
        "kernel.peers",
        "compile.steady",
    }
    assert all(check.reason and check.blocked_by is None for check in skipped)


def test_the_devices_of_torch_and_of_the_driver_are_joined(two_devices: Run) -> None:
    """The record names each device as NVML does, by UUID and PCI address."""
    found = [(d.name, d.uuid, d.pci) for d in two_devices.record.devices]
    assert found == [
        ("gpu0", "GPU-fa4e0000-0000-0000-0000-000000000000", "0000:01:00.0"),
        ("gpu1", "GPU-fa4e0000-0000-0000-0000-000000000001", "0000:02:00.0"),
    ]


def test_no_clock_of_a_probe_is_read_before_the_device_has_finished(two_devices: Run) -> None:
    """No time that a probe takes on a device leaves out work that was queued."""
    log = two_devices.folder.parents[2] / "clocks.txt"
    assert not log.exists(), log.read_text(encoding="utf-8")


def test_nothing_runs_on_after_the_command(two_devices: Run) -> None:
    """Workers, probes and ranks have ended when the command returns."""
    assert survivors(two_devices.folder) == ()


@pytest.mark.long
def test_eight_devices_are_ready(libraries: Libraries, tmp_path: Path) -> None:
    """A node of eight good devices passes every stage, eight ranks over nccl: READY."""
    run = run_command(libraries, tmp_path, plan=plan_text(gpus=8), **devices(8, tmp_path))
    assert (run.record.verdict.word, run.exit_code) == ("READY", 0), run.table()
    passed = run.of_status("pass")
    assert {("kernel.matmul", f"gpu{i}") for i in range(8)} <= passed
    assert "8 ranks over nccl" in (run.named("collective.all_reduce").reason or "")
    assert not (tmp_path / "clocks.txt").exists()
