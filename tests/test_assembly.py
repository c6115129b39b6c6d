"""From the events of a journal to the record, for finished and killed runs."""

from __future__ import annotations

from typing import Any

import pytest
from rendering import sample

from preflight.assembly import assemble
from preflight.errors import RecordError
from preflight.events import (
    Closed,
    Ended,
    Environment,
    Event,
    Inventory,
    Opened,
    Options,
    Planned,
    PlannedCheck,
    Started,
)
from preflight.records import Check, Device, Node, Order, Record, Versions
from preflight.stages import BY_NAME, COLLECTION

OPTIONS = Options(
    python="/usr/bin/python3",
    level="quick",
    mode="certify",
    accelerator="auto",
    ranks=2,
    seed=7,
    deadline_s=120.0,
    selected=("order", "kernel"),
    checks_folders=("/checks",),
    plan={"order": {"gpus": 2}},
)
OPENED = Opened(
    run=sample.run(finished=None, duration_s=None), order=sample.order(), options=OPTIONS
)
INVENTORY = Inventory(
    host=sample.HOST, nodes=(Node(name="node-a"),), devices=(sample.card(0), sample.card(1))
)
CLOSED = Closed(finished="2026-12-01T09:05:01Z", duration_s=48.7)


def planned(name: str, device: str | None = None, **fields: Any) -> PlannedCheck:
    """A check that was collected."""
    stage = name.partition(".")[0]
    return PlannedCheck(
        id=name,
        stage=stage,
        title=f"Title of {name}",
        phase=BY_NAME[stage].phase,
        nodeid=f"check.py::{name}[{device}]",
        device=device,
        deadline_s=10.0,
        **fields,
    )


PLANNED = Planned(
    checks=(
        planned("order.count"),
        planned("kernel.first", "gpu0"),
        planned("kernel.first", "gpu1"),
    )
)
COUNT, KERNEL_0, KERNEL_1 = RESULTS = (
    sample.check("order.count"),
    sample.check("kernel.first", device="gpu0"),
    sample.check("kernel.first", device="gpu1"),
)


def ended(*checks: Check) -> list[Event]:
    """The events of some results."""
    return [Ended(check=check) for check in checks]


def assembled(*events: Event) -> Record:
    """The record of a journal that begins as it should."""
    return assemble((OPENED, INVENTORY, PLANNED, *events), where="run-folder")


def found(record: Record, name: str, device: str | None = None) -> Check:
    """The only result of a check on a device."""
    (check,) = [c for c in record.checks if (c.id, c.device) == (name, device)]
    return check


def test_a_run_that_finished() -> None:
    """A complete journal gives every result, the end of the run, and a good word."""
    record = assembled(*ended(*RESULTS), CLOSED)
    assert record.checks == RESULTS
    assert record.run.finished == CLOSED.finished
    assert record.run.duration_s == CLOSED.duration_s
    assert record.run.interrupted is None
    assert record.verdict.word == "READY"
    assert record.plan == {"order": {"gpus": 2}}
    assert record.order == OPENED.order
    assert record.host == sample.HOST


def test_a_run_that_was_killed() -> None:
    """Without its last line a run was killed: INCONCLUSIVE, though all that ended passed."""
    record = assembled(*ended(COUNT, KERNEL_0))
    assert record.run.interrupted == "killed"
    assert record.run.finished is None
    assert record.verdict.word == "INCONCLUSIVE"
    missing = found(record, "kernel.first", "gpu1")
    assert missing.status == "error"
    assert missing.reason == "the run was killed before this check had run"
    assert missing.title == "Title of kernel.first"
    assert (missing.node, missing.action) == ("node-a", "run again")


def test_a_run_that_was_killed_after_its_last_result() -> None:
    """Even with every result, a run without its end is not READY."""
    assert assembled(*ended(*RESULTS)).verdict.word == "INCONCLUSIVE"


def test_a_run_that_was_killed_after_a_failure() -> None:
    """What was seen to fail before the kill is still NOT READY."""
    failed = sample.check("kernel.first", device="gpu0", status="fail", reason="wrong values")
    assert assembled(*ended(COUNT, failed)).verdict.word == "NOT_READY"


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("SIGINT", "interrupted"),
        ("SIGTERM", "terminated"),
        ("SIGHUP", "terminal went away"),
        ("deadline", "deadline of the whole run"),
    ],
)
def test_an_early_end_is_told_for_each_check_that_is_missing(how: str, words: str) -> None:
    """A planned check without a result is an error that says what ended the run."""
    closed = Closed(finished=CLOSED.finished, duration_s=3.0, interrupted=how)
    record = assembled(*ended(COUNT), closed)
    for device in ("gpu0", "gpu1"):
        missing = found(record, "kernel.first", device)
        assert missing.status == "error"
        assert words in missing.reason
    assert record.run.interrupted == how
    assert record.verdict.word == "INCONCLUSIVE"


def test_a_check_that_left_no_result_in_a_run_that_finished() -> None:
    """A lost result is never silently absent, whatever the run says of itself."""
    record = assembled(*ended(COUNT, KERNEL_0), CLOSED)
    assert found(record, "kernel.first", "gpu1").reason == "it was planned and left no result"
    assert record.verdict.word == "INCONCLUSIVE"


def test_a_check_that_had_only_begun_is_missing() -> None:
    """A start without an end is no result."""
    started = Started(id="kernel.first", device="gpu1", pid=7, at="2026-12-01T09:04:12Z")
    record = assembled(*ended(COUNT, KERNEL_0), started)
    assert found(record, "kernel.first", "gpu1").status == "error"


def test_a_missing_check_that_is_not_required_stays_so() -> None:
    """What is missing and not required does not keep the run from a good word."""
    rows = Planned(checks=(planned("order.count"), planned("order.extra", required=False)))
    record = assemble((OPENED, INVENTORY, rows, *ended(COUNT), CLOSED), where="x")
    assert not found(record, "order.extra").required
    assert record.verdict.word == "READY_WITH_WARNINGS"


def test_the_first_result_of_a_check_counts() -> None:
    """A session that was started again cannot turn a failure into a pass."""
    failed = sample.check("kernel.first", device="gpu0", status="fail", reason="wrong values")
    record = assembled(*ended(COUNT, failed, KERNEL_0, KERNEL_1), CLOSED)
    assert found(record, "kernel.first", "gpu0").status == "fail"
    assert len(record.checks) == 3


def test_results_stand_in_path_order_whatever_came_first() -> None:
    """Devices end in any order; the record has that of the plan and the path."""
    record = assembled(*ended(KERNEL_1, KERNEL_0, COUNT), CLOSED)
    assert record.checks == RESULTS


def test_a_result_that_nobody_planned_is_kept() -> None:
    """A check file that could not be collected leaves a result, which stands last and counts."""
    broken = Check(id="checks.mine", stage=COLLECTION, title="mine.py", status="error")
    record = assembled(*ended(broken, *RESULTS), CLOSED)
    assert record.checks[-1] == broken
    assert record.stages[-1].name == COLLECTION
    assert record.verdict.word == "INCONCLUSIVE"


def test_a_stage_has_its_worst_status_and_the_time_of_its_slowest_device() -> None:
    """Devices run side by side: shared seconds add up, those of devices count as the longest."""
    checks = (
        sample.check("kernel.shared", duration_s=1.0),
        sample.check("kernel.first", device="gpu0", duration_s=2.0),
        sample.check("kernel.dtypes", device="gpu0", duration_s=0.5),
        sample.check("kernel.first", device="gpu1", duration_s=2.25, status="warn"),
        sample.check("order.count", duration_s=None),
    )
    record = assemble((OPENED, INVENTORY, *ended(*checks), CLOSED), where="x")
    rows = [(row.name, row.status, row.duration_s) for row in record.stages]
    assert rows == [("order", "pass", 0.0), ("kernel", "warn", 3.5)]


def test_torch_names_its_devices_once_it_was_asked() -> None:
    """The environment tells which of the machine's devices torch calls what."""
    environment = Environment(
        versions=Versions(torch="2.13.0"), torch_devices={"gpu0": "cuda:1", "gpu1": "cuda:0"}
    )
    record = assembled(environment, *ended(*RESULTS), CLOSED)
    assert [device.torch_device for device in record.devices] == ["cuda:1", "cuda:0"]


def test_versions_come_from_both_sides() -> None:
    """The driver and the kernel are the machine's, the rest is the interpreter's."""
    record = assembled(Environment(versions=Versions(torch="2.13.0")), CLOSED)
    assert record.versions.torch == "2.13.0"
    assert record.versions.driver == "580.95.05"
    assert record.versions.kernel == sample.HOST.kernel


def test_the_driver_is_that_of_the_first_device_which_tells_it() -> None:
    """A lost card without a driver version does not hide the version of the others."""
    silent = Device(name="gpu0", node="node-a", kind="cuda", product="unknown NVIDIA device")
    inventory = Inventory(host=sample.HOST, nodes=(), devices=(silent, sample.card(1)))
    record = assemble((OPENED, inventory, CLOSED), where="x")
    assert record.versions.driver == "580.95.05"


def test_a_run_that_was_killed_at_once() -> None:
    """The first line alone gives a record: the host's name is that of the run's folder."""
    record = assemble((OPENED,), where="x")
    assert record.host.name == "node-a"
    assert (record.checks, record.devices, record.stages) == ((), (), ())
    assert record.verdict.word == "INCONCLUSIVE"


def test_no_plan_is_null() -> None:
    """Without a plan the record says so by null, not by an empty table."""
    options = Options(**{f: getattr(OPTIONS, f) for f in OPTIONS.__struct_fields__ if f != "plan"})
    opened = Opened(run=OPENED.run, order=Order(), options=options)
    assert assemble((opened, CLOSED), where="x").plan is None


@pytest.mark.parametrize("events", [(), (INVENTORY,), (CLOSED, OPENED)])
def test_a_journal_that_does_not_begin_with_a_run_is_refused(events: tuple[Event, ...]) -> None:
    """What is no journal of a run ends in a message that names the folder."""
    with pytest.raises(RecordError, match=r"^there: the journal does not begin with a run"):
        assemble(events, where="there")
