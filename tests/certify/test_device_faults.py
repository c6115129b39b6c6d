"""A fault of one device is found, and no other device is named."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from fakegpu.build import Libraries
from fakegpu.environment import ILLEGAL_ACCESS, NO_KERNEL, fault

from certify.command import Run, plan_text, run_command

SICK = 1
"""Of two devices."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A fault, the stage that is to show it, and what is to be said."""

    name: str
    op: str
    kind: str
    stage: str
    check: str
    says: str
    skip: int = 0


CASES = (
    Case(
        name="no kernel image",
        op="aten::add",
        kind=NO_KERNEL,
        stage="kernel",
        check="kernel.first",
        says="no kernel image is available for execution on the device (in first kernel)",
    ),
    Case(
        name="illegal access told at the next synchronisation",
        op="aten::add",
        kind=ILLEGAL_ACCESS,
        stage="kernel",
        check="kernel.first",
        says="an illegal memory access was encountered (in first kernel)",
    ),
    Case(
        name="wrong product",
        op="aten::mm",
        kind="flip",
        stage="kernel",
        check="kernel.matmul",
        says="float32 error over bound: ",
    ),
    Case(
        name="NaN in the backward pass of attention",
        op="aten::_softmax_backward_data",
        kind="nan",
        stage="backward",
        check="backward.gradients",
        says="transformer float32 error over bound is not a finite number",
    ),
    Case(
        name="out of memory",
        op="aten::empty.memory_format",
        kind="oom",
        stage="kernel",
        check="kernel.matmul",
        says="OutOfMemoryError: CUDA out of memory",
        skip=2,
    ),
    Case(
        name="a copy that corrupts",
        op="aten::copy_",
        kind="flip",
        stage="kernel",
        check="kernel.first",
        says="1 of 65537 elements are wrong",
    ),
    Case(
        name="killed in an operation",
        op="aten::mm",
        kind="kill",
        stage="kernel",
        check="kernel.matmul",
        says="SIGKILL",
    ),
)


def faulty_run(libraries: Libraries, folder: Path, case: Case) -> Run:
    """The stage of the case on two devices, one of them sick."""
    sick = fault(case.op, case.kind, device=SICK, skip=case.skip)
    plan = plan_text(gpus=2)
    return run_command(libraries, folder, plan=plan, only=case.stage, FAKEGPU_COUNT="2", **sick)


def judge(run: Run, case: Case) -> None:
    """The sick device fails with the right words; the other passes the whole stage."""
    assert run.exit_code == 1, run.table()
    found = run.named(case.check, f"gpu{SICK}")
    assert found.status == "fail", run.table()
    assert case.says in found.reason, run.table()
    assert found.action
    assert run.guilty() == {f"gpu{SICK}"}, run.table()
    others = {c.status for c in run.record.checks if c.device == "gpu0"}
    assert others == {"pass"}, run.table()


def test_a_device_without_code_is_named_and_no_other(libraries: Libraries, tmp_path: Path) -> None:
    """Error 209 on one device of two fails kernel.first there alone."""
    judge(faulty_run(libraries, tmp_path, CASES[0]), CASES[0])


@pytest.mark.long
@pytest.mark.parametrize("case", CASES[1:], ids=lambda case: case.name)
def test_a_sick_device_is_named_and_no_other(
    libraries: Libraries, tmp_path: Path, case: Case
) -> None:
    """Each fault on one device of two fails the check that is to find it, there alone."""
    judge(faulty_run(libraries, tmp_path, case), case)


@pytest.mark.long
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="two devices need a core each to be compared")
def test_a_slow_device_is_named_and_no_other(libraries: Libraries, tmp_path: Path) -> None:
    """A device whose products are many times slower fails kernel.peers by its name."""
    slow = fault("aten::mm", "sleep 100", device=SICK)
    plan = plan_text(gpus=2, performance="judge")
    run = run_command(libraries, tmp_path, plan=plan, only="kernel", FAKEGPU_COUNT="2", **slow)
    peers = run.named("kernel.peers")
    assert peers.status == "fail", run.table()
    assert f"gpu{SICK}" in peers.reason, run.table()
    assert "gpu0" not in peers.reason, run.table()
    assert run.guilty() == set(), run.table()
