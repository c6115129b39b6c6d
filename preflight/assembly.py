"""From the journal of a run to its record: a pure function, for finished and killed runs alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import TypeVar

import msgspec

from preflight.errors import RecordError
from preflight.events import (
    Closed,
    Ended,
    Environment,
    Event,
    Inventory,
    Opened,
    Planned,
    PlannedCheck,
    Started,
)
from preflight.records import Check, Device, Host, Record, Run, StageSummary, Versions
from preflight.stages import position_of
from preflight.verdict import judge, worst

_E = TypeVar("_E")


def assemble(events: Sequence[Event], *, where: str) -> Record:
    """The record of a journal's events.

    A run without its last line was killed: it says so, every check that was planned and has no
    result is an ``error``, and the verdict is INCONCLUSIVE at best. Raises RecordError, naming
    ``where``, for a journal that does not begin with a run.
    """
    if not events or not isinstance(events[0], Opened):
        raise RecordError(
            "the journal does not begin with a run",
            where=where,
            mend="give the folder that `preflight run` made",
        )
    opened = events[0]
    run = _ending(opened.run, _last(events, Closed))
    inventory = _last(events, Inventory)
    environment = _last(events, Environment)
    host = inventory.host if inventory else Host(name=opened.run.id.partition("-")[2] or "unknown")
    node = inventory.nodes[0].name if inventory and inventory.nodes else host.name
    checks = _in_order(
        [e.check for e in events if isinstance(e, Ended)],
        _last(events, Planned),
        {(e.id, e.device) for e in events if isinstance(e, Started)},
        run,
        node,
    )
    return Record(
        run=run,
        order=opened.order,
        plan=opened.options.plan or None,
        host=host,
        nodes=inventory.nodes if inventory else (),
        devices=_devices(inventory, environment),
        machines=(inventory.machine,) if inventory and inventory.machine else (),
        versions=_versions(inventory, environment),
        stages=_summaries(checks),
        checks=checks,
        verdict=judge(run, checks, _unmeasured(opened, checks)),
    )


def _unmeasured(opened: Opened, checks: Sequence[Check]) -> tuple[str, ...]:
    """Floors of the plan that no measurement of a whole certifying run bears the name of."""
    run, limits = opened.run, opened.options.plan.get("limits", {})
    if run.mode != "certify" or run.selected or limits.get("performance") == "record":
        return ()
    measured = {measurement.name for check in checks for measurement in check.measurements}
    return tuple(n for n in limits if n != "performance" and n not in measured)


def _last(events: Iterable[Event], kind: type[_E]) -> _E | None:
    found = [event for event in events if isinstance(event, kind)]
    return found[-1] if found else None


def _ending(run: Run, closed: Closed | None) -> Run:
    if closed is None:
        return msgspec.structs.replace(run, interrupted="killed")
    return msgspec.structs.replace(
        run,
        finished=closed.finished,
        duration_s=closed.duration_s,
        interrupted=closed.interrupted,
    )


def _devices(inventory: Inventory | None, environment: Environment | None) -> tuple[Device, ...]:
    devices = (*inventory.devices, *inventory.stand_ins) if inventory else ()
    names = environment.torch_devices if environment else {}
    return tuple(
        msgspec.structs.replace(d, torch_device=names.get(d.name, d.torch_device)) for d in devices
    )


def _versions(inventory: Inventory | None, environment: Environment | None) -> Versions:
    versions = environment.versions if environment else Versions()
    if inventory is None:
        return versions
    driver = next((d.driver for d in inventory.devices if d.driver), None)
    return msgspec.structs.replace(versions, driver=driver, kernel=inventory.host.kernel)


_ENDINGS = {
    "SIGINT": "the run was interrupted",
    "SIGTERM": "the run was terminated",
    "SIGHUP": "the terminal went away",
    "deadline": "the deadline of the whole run passed",
    "killed": "the run was killed",
}


def _in_order(
    checks: Sequence[Check],
    planned: Planned | None,
    started: Set[tuple[str, str | None]],
    run: Run,
    node: str,
) -> tuple[Check, ...]:
    """Results in path order, with an ``error`` for each planned check that has none.

    The first result of a check counts: a phase that was started again runs none twice.
    """
    found: dict[tuple[str, str | None], Check] = {}
    for check in checks:
        found.setdefault((check.id, check.device), check)
    rows = planned.checks if planned else ()
    expected = {(row.id, row.device): row for row in rows}
    ordered = [
        found.get(key) or _missing(row, run, node, was_running=key in started)
        for key, row in expected.items()
    ]
    ordered += [check for key, check in found.items() if key not in expected]
    return tuple(sorted(ordered, key=lambda check: position_of(check.stage)))


def _missing(row: PlannedCheck, run: Run, node: str, *, was_running: bool) -> Check:
    ending = _ENDINGS.get(run.interrupted or "")
    when = "while this check ran" if was_running else "before this check had run"
    reason = f"{ending} {when}" if ending else "it was planned and left no result"
    return Check(
        id=row.id,
        stage=row.stage,
        title=row.title,
        node=node,
        device=row.device,
        status="error",
        reason=reason,
        action="run again",
        required=row.required,
    )


def _summaries(checks: Sequence[Check]) -> tuple[StageSummary, ...]:
    """Worst status of each stage; its seconds, where devices ran side by side the slowest's."""
    names = dict.fromkeys(check.stage for check in checks)
    summaries = []
    for name in names:
        rows = [check for check in checks if check.stage == name]
        seconds: dict[str | None, float] = {}
        for check in rows:
            seconds[check.device] = seconds.get(check.device, 0.0) + (check.duration_s or 0.0)
        shared = seconds.pop(None, 0.0)
        summaries.append(
            StageSummary(
                name=name,
                status=worst(check.status for check in rows),
                duration_s=round(shared + max(seconds.values(), default=0.0), 3),
            )
        )
    return tuple(summaries)
