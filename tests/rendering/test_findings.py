from __future__ import annotations

from preflight.rendering import findings

from . import sample

FAIL = {"status": "fail", "reason": "wrong", "action": "act"}


def first_id(*checks: sample.Check) -> str | None:
    """Id of the first problem of a record with these checks."""
    found = findings.first_problem(sample.record(checks))
    return found.id if found else None


def test_a_healthy_record_has_no_problem() -> None:
    """Passes and skips are no problems."""
    assert findings.first_problem(sample.passing()) is None
    assert first_id(sample.check("kernel.first", status="skip")) is None


def test_the_first_problem_is_a_failure_before_all_else() -> None:
    """A failure outweighs an earlier error, and an error an earlier warning."""
    warn = sample.check("order.count", status="warn")
    error = sample.check("driver.version", status="error", reason="no answer")
    assert first_id(warn) == "order.count"
    assert first_id(warn, error) == "driver.version"
    assert first_id(warn, error, sample.check("kernel.first", **FAIL)) == "kernel.first"


def test_the_earliest_on_the_path_comes_first() -> None:
    """Of equal findings the path decides, not the order in the record."""
    assert (
        first_id(sample.check("forward.x", **FAIL), sample.check("kernel.x", **FAIL)) == "kernel.x"
    )


def test_required_checks_come_first() -> None:
    """What is not required never hides what decides the verdict, be it a failure or an error."""
    optional = sample.check("order.count", required=False, **FAIL)
    assert first_id(optional, sample.check("kernel.x", **FAIL)) == "kernel.x"
    assert first_id(optional, sample.check("kernel.x", status="error")) == "kernel.x"


def test_equal_findings_of_many_devices_are_one_problem() -> None:
    """One id, status and reason on several devices is told once, with every device."""
    checks = tuple(sample.check("kernel.first", device=f"gpu{i}", **FAIL) for i in range(2))
    (problem,) = findings.problems(sample.record(checks))
    assert problem.where == "gpu0, gpu1"


def test_a_place_names_the_node_only_where_there_are_several() -> None:
    """One node needs no name; ranks at fault are named."""
    check = sample.check("collective.all_reduce", rank=3, device="gpu3")
    one = sample.record((check,))
    assert findings.place(one, check) == "gpu3 rank 3"
    two = sample.record((check,), nodes=(sample.Node(name="node-a"), sample.Node(name="node-b")))
    assert findings.place(two, check) == "node-a gpu3 rank 3"


def test_a_blocked_check_outweighs_a_pass_and_one_that_does_not_apply_does_not() -> None:
    """In a cell of the grid, blocked is shown over passed, and passed over not applicable."""
    good = sample.check("kernel.a")
    blocked = sample.check("kernel.b", status="skip", blocked_by="driver.version on gpu0")
    absent = sample.check("kernel.c", status="skip", reason="no fp8 here")
    assert findings.worst_check((good, blocked, absent)) is blocked
    assert findings.worst_check((absent, good)) is good


def test_a_stage_without_a_summary_is_still_shown() -> None:
    """Checks of a stage that this version does not know come last, with their worst status."""
    record = sample.record((sample.check("zeta.x", **FAIL), sample.check("kernel.first")))
    bare = sample.replace(record, stages=())
    assert [(r.name, r.status) for r in findings.stage_rows(bare)] == [
        ("kernel", "pass"),
        ("zeta", "fail"),
    ]
