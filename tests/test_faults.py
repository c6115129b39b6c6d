"""Every fault that --inject knows, injected for real: what is said of it, and what is left."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from preflight.harness.sweep import survivors
from preflight.injection import FAULTS, HARMLESS
from preflight.records import Check, Record, decode_record

pytestmark = pytest.mark.long

CHECK_DEADLINE_S = 40
"""Long enough for a loaded machine to import torch, short enough to wait for."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A fault and what must be said of it."""

    inject: str
    only: str
    id: str
    status: str = "fail"
    reason: str = ""
    device: str | None = None
    rank: int | None = None
    exit_code: int = 1

    def __str__(self) -> str:
        return self.inject


def _device(fault: str, reason: str, **fields: object) -> Case:
    values: dict[str, object] = {"id": "kernel.first", "device": "cpu", "reason": reason}
    return Case(inject=f"kernel={fault}", only="kernel", **{**values, **fields})  # type: ignore[arg-type]


def _rank(fault: str, reason: str, **fields: object) -> Case:
    values: dict[str, object] = {"id": "collective.all_reduce", "rank": 1, "reason": reason}
    return Case(inject=f"collective={fault}", only="collective", **{**values, **fields})  # type: ignore[arg-type]


CASES = (
    _device("raise", "RuntimeError: injected: the probe raises"),
    _device("segfault", "killed by SIGSEGV in kernel.first"),
    _device("exit", "exited with code 0 without a word"),
    _device("flood", "", status="pass", exit_code=0),
    _device("hang", r"no answer within \d+ s, in kernel.first"),
    _device("hang-gil", r"no answer within \d+ s, in kernel.first"),
    _device("ignore-term", r"no answer within \d+ s, in kernel.first"),
    _device("grandchild", "", status="pass", exit_code=0),
    _device("wrong", "1 of 65537 elements are wrong"),
    _device("nan", "1 of 65537 elements are wrong"),
    _device("oom", "can't allocate memory"),
    _device("slow", "", status="pass", exit_code=0),
    Case(
        inject="forward:cpu=nan",
        only="forward",
        id="forward.transformer",
        reason="float32 error over bound is not a finite number",
        device="cpu",
    ),
    Case(
        inject="backward=wrong",
        only="backward",
        id="backward.gradients",
        reason="error over bound: .* must be <= 1",
        device="cpu",
    ),
    Case(
        inject="import=segfault",
        only="import",
        id="import.torch",
        reason="killed by SIGSEGV in environment.facts",
    ),
    _rank("rank-kill", "killed by SIGKILL in all_reduce"),
    _rank("rank-stop", "its process is stopped"),
    _rank("rank-wrong", "1 elements are wrong on rank 1"),
    _rank("rank-late", "did not come on from .* where the others wait for it"),
    Case(
        inject="collective:0=segfault",
        only="collective",
        id="collective.all_reduce",
        reason="killed by SIGSEGV",
        rank=0,
    ),
    Case(
        inject="strategy=rank-wrong",
        only="strategy",
        id="strategy.ddp",
        reason="step 0 leaves the training of one process",
        rank=1,
    ),
    Case(
        inject="checkpoint=bitflip",
        only="checkpoint",
        id="checkpoint.restore",
        reason="does not hold what was written",
    ),
    Case(
        inject="checkpoint=disk-full",
        only="checkpoint",
        id="checkpoint.write",
        reason="No space left on device",
        rank=1,
    ),
)


def _run(case: Case, out: Path) -> tuple[Record, int, Path]:
    command = [
        *(sys.executable, "-m", "preflight", "run", "--device", "cpu", "--level", "quick"),
        *("--deadline", "10m", "--check-deadline", f"{CHECK_DEADLINE_S}s"),
        *("--only", case.only, "--inject", case.inject, "--out", str(out)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=400, check=False)
    (folder,) = out.glob("*/*")
    data = (folder / "record.json").read_bytes()
    assert "Traceback" not in done.stderr, done.stderr
    return decode_record(data, where=str(folder)), done.returncode, folder


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_fault_is_named_and_nothing_is_left(case: Case, tmp_path: Path) -> None:
    """The struck check has the right status and cause, names the place, and no process stays."""
    record, exit_code, folder = _run(case, tmp_path / "out")
    struck = next(check for check in record.checks if check.id == case.id)
    assert struck.status == case.status, struck
    assert re.search(case.reason, struck.reason), struck.reason
    if case.status == "fail":
        assert (struck.device, struck.rank) == (case.device, case.rank)
        assert struck.action
    assert exit_code == case.exit_code
    assert record.run.injected == (case.inject,)
    assert survivors(folder) == ()
    assert struck.duration_s is not None
    assert struck.duration_s < 2 * (CHECK_DEADLINE_S + 15)


def test_independent_checks_still_run(tmp_path: Path) -> None:
    """A crash in the forward stage leaves kernel and collective judged."""
    case = Case(inject="forward=segfault", only="kernel,forward,backward,collective", id="")
    record, _, _ = _run(case, tmp_path / "out")
    stages = {stage.name: stage.status for stage in record.stages}
    assert stages["kernel"] == "pass"
    assert stages["collective"] == "pass"
    blocked = [check for check in record.checks if check.stage == "backward"]
    assert {_blocked(check) for check in blocked} == {("skip", "forward.transformer on cpu")}


def _blocked(check: Check) -> tuple[str, str | None]:
    return check.status, check.blocked_by


def test_every_fault_is_tried() -> None:
    """No fault of the list is without a case, and the harmless ones are those that pass."""
    tried = {case.inject.partition("=")[2] for case in CASES}
    assert tried == set(FAULTS)
    passing = {case.inject.partition("=")[2] for case in CASES if case.status == "pass"}
    assert passing == HARMLESS
