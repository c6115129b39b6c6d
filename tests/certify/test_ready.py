"""Devices without a fault are READY."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakegpu.build import Libraries

from certify.command import Run, plan_text, run_command
from preflight.harness.sweep import survivors
from preflight.stages import STAGE_NAMES

STAGES = set(STAGE_NAMES) - {"soak"}


def devices(count: int, folder: Path) -> dict[str, str]:
    """So many devices, and a log of clocks that are read too early."""
    return {
        "FAKEGPU_COUNT": str(count),
        "FAKEGPU_CLOCK_LOG": str(folder / "clocks.txt"),
        "FAKEGPU_CLOCK_OF": str(Path(__file__).parents[2] / "preflight"),
    }


def test_two_devices_are_ready(libraries: Libraries, tmp_path: Path) -> None:
    """Two good devices pass every stage over nccl: READY and exit code 0.

    One test for one run, since a run takes most of a minute.
    """
    run = run_command(libraries, tmp_path, plan=plan_text(gpus=2), **devices(2, tmp_path))
    assert (run.record.verdict.word, run.exit_code) == ("READY", 0), run.table()
    assert run.record.run.mode == "certify"
    assert {check.stage for check in run.record.checks} == STAGES
    assert "over nccl" in run.named("collective.all_reduce").reason
    judge_skips(run)
    judge_join(run)
    judge_clocks(tmp_path)
    assert survivors(run.folder) == ()


def judge_skips(run: Run) -> None:
    """Only what does not apply is skipped, with its reason, and nothing is blocked."""
    skipped = [check for check in run.record.checks if check.status == "skip"]
    # The stand-in for NVML tells little of a card's health, so that most of system does not apply.
    assert {check.id for check in skipped if check.stage != "system"} <= {
        "arch.triton",
        "import.extensions",
        "kernel.peers",
        "driver.fabric",
        "driver.files",
        "driver.mode",
        "driver.module",
        "order.link",
        "order.nodes",
        "strategy.plan",
        "compile.steady",
    }
    assert all(check.reason and check.blocked_by is None for check in skipped)
    judged = {c.id for c in run.record.checks if c.stage == "system" and c.status == "pass"}
    assert {"system.shm", "system.memory", "system.limits", "system.variables"} <= judged


def judge_join(run: Run) -> None:
    """The record names each device as NVML does and knows it by torch's name."""
    uuid = "GPU-fa4e0000-0000-0000-0000-00000000000"
    assert [(d.name, d.uuid, d.pci, d.torch_device) for d in run.record.devices] == [
        ("gpu0", f"{uuid}0", "0000:01:00.0", "cuda:0"),
        ("gpu1", f"{uuid}1", "0000:02:00.0", "cuda:1"),
    ]


def judge_clocks(folder: Path) -> None:
    """No time that a probe took on a device leaves out work that was queued."""
    log = folder / "clocks.txt"
    assert not log.exists(), log.read_text(encoding="utf-8")


@pytest.mark.long
def test_eight_devices_are_ready(libraries: Libraries, tmp_path: Path) -> None:
    """A node of eight good devices passes every stage, eight ranks over nccl: READY."""
    run = run_command(libraries, tmp_path, plan=plan_text(gpus=8), **devices(8, tmp_path))
    assert (run.record.verdict.word, run.exit_code) == ("READY", 0), run.table()
    passed = run.of_status("pass")
    assert {("kernel.matmul", f"gpu{i}") for i in range(8)} <= passed
    assert "8 ranks over nccl" in (run.named("collective.all_reduce").reason or "")
    judge_clocks(tmp_path)
