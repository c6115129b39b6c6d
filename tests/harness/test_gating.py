"""Which check blocks which, and what the plan requires, in whole phases."""

from __future__ import annotations

from pathlib import Path

import pytest
from faults.runs import (
    RunPhases,
    card_check,
    check_text,
)

DIE = "os.kill(os.getpid(), signal.SIGKILL)"
FAIL_ON_1 = "if device.name == 'gpu1': result.fail('wrong sum')"


def test_a_failure_blocks_its_device_and_what_spans_devices(phases: RunPhases) -> None:
    """kernel.first fails on gpu1: forward and backward wait there alone, collective everywhere."""
    found = phases(
        card_check("first", FAIL_ON_1),
        card_check("block_f", stage="forward"),
        card_check("block_b", stage="backward"),
        check_text("together", stage="collective"),
        check_text("plan", stage="strategy"),
        check_text("write", stage="checkpoint"),
        devices=("gpu0", "gpu1"),
    )
    assert found.check("forward.block_f", "gpu0").status == "pass"
    assert found.check("backward.block_b", "gpu0").status == "pass"
    for name, place in (
        ("forward.block_f", "gpu1"),
        ("backward.block_b", "gpu1"),
        ("collective.together", None),
        ("strategy.plan", None),
        ("checkpoint.write", None),
    ):
        check = found.check(name, place)
        assert (check.status, check.blocked_by) == ("skip", "kernel.first on gpu1")
        assert check.reason == "blocked by kernel.first on gpu1"
    assert found.record.verdict.word == "NOT_READY"


@pytest.mark.long
def test_an_error_blocks_like_a_failure(phases: RunPhases) -> None:
    """A lost worker has proved nothing, so what builds on it does not run."""
    found = phases(
        card_check("first", f"if device.name == 'gpu1': {DIE}"),
        card_check("block_f", stage="forward"),
        devices=("gpu0", "gpu1"),
    )
    assert found.check("forward.block_f", "gpu0").status == "pass"
    assert found.check("forward.block_f", "gpu1").blocked_by == "kernel.first on gpu1"
    assert found.record.verdict.word == "INCONCLUSIVE"


@pytest.mark.long
def test_a_warning_blocks_nothing(phases: RunPhases) -> None:
    """Nor does a check that does not gate, or that is not required."""
    found = phases(
        card_check("warns", "result.warn('hot')"),
        card_check("soft", "result.fail('x')", gates=False),
        card_check("optional", "result.fail('x')", required=False),
        card_check("block_f", stage="forward"),
    )
    assert found.check("forward.block_f", "gpu0").status == "pass"


@pytest.mark.long
def test_a_gate_through_a_stage_that_was_not_chosen_is_open(phases: RunPhases) -> None:
    """Without forward in between, backward is reached from kernel by no gate."""
    found = phases(
        card_check("first", "result.fail('wrong sum')"),
        card_check("block_f", stage="forward"),
        card_check("block_b", stage="backward"),
        selected=("kernel", "backward"),
    )
    assert found.statuses() == {"kernel.first gpu0": "fail", "backward.block_b gpu0": "pass"}


def test_needs_hold_within_a_stage(phases: RunPhases) -> None:
    """What needs a failed check is blocked by it; what needs that one is blocked by the first."""
    found = phases(
        check_text("a", "assert False, 'broken'"),
        check_text("b", needs=("system.a",)),
        check_text("c", needs=("system.b",)),
        check_text("d"),
    )
    assert found.statuses() == {
        "system.a": "fail",
        "system.b": "skip",
        "system.c": "skip",
        "system.d": "pass",
    }
    assert found.check("system.b").blocked_by == found.check("system.c").blocked_by == "system.a"


@pytest.mark.long
def test_a_skip_does_not_block(phases: RunPhases) -> None:
    """What is not applicable leaves the gate open."""
    found = phases(
        card_check("first", "pytest.skip('not here')"), card_check("block_f", stage="forward")
    )
    assert found.check("forward.block_f", "gpu0").status == "pass"


@pytest.mark.parametrize(
    ("table", "required"),
    [
        ("", {"system.a": True, "system.b": False, "order.c": True}),
        (
            '[required]\nstages = ["order"]\n',
            {"system.a": True, "system.b": False, "order.c": True},
        ),
        (
            '[required]\nchecks = ["system.b"]\n',
            {"system.a": True, "system.b": True, "order.c": True},
        ),
    ],
)
def test_the_plan_says_what_is_required(
    phases: RunPhases, tmp_path: Path, table: str, required: dict[str, bool]
) -> None:
    """It adds to what the checks require of themselves, and takes nothing away."""
    plan = tmp_path / "plan.toml"
    plan.write_text(table)
    found = phases(
        check_text("a"),
        check_text("b", required=False),
        check_text("c", stage="order"),
        plan_file=str(plan),
    )
    assert {check.id: check.required for check in found.record.checks} == required
