"""The pytest plugin: collects, orders, gates and records the checks of one phase of a run."""

from __future__ import annotations

import difflib
import inspect
import os
import traceback
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from preflight import clock
from preflight.errors import CheckContractError
from preflight.events import Ended, Planned, PlannedCheck, Refused, Started
from preflight.gates import blocker
from preflight.harness.conclusion import conclude
from preflight.harness.contract import MARKER, CheckSpec, read_spec, refuse_duplicates
from preflight.harness.injecting import Injector
from preflight.harness.journal import Journal
from preflight.harness.outcomes import CannotLook
from preflight.harness.result import Result
from preflight.harness.situation import Situation, read_situation
from preflight.harness.sweep import RUN_VARIABLE
from preflight.probes.lifeline import die_with_parent
from preflight.records import Check, Device
from preflight.redaction import redact_text
from preflight.stages import BY_NAME, COLLECTION, position_of

PHASE_VARIABLE = "PREFLIGHT_PHASE"
DEVICE_VARIABLE = "PREFLIGHT_DEVICE"
PREFIX = "check_"
NO_DEVICE = "none"
"""Stands for a device where none was found, so that the checks of devices still have results."""

SPEC = pytest.StashKey[CheckSpec]()
RESULT = pytest.StashKey[Result]()
UNTIL_S = pytest.StashKey[float]()
"""Moment of the monotonic clock at which the check must be done."""
_TROUBLES = pytest.StashKey[list[BaseException]]()
_BLOCKED = pytest.StashKey["str | None"]()
PLUGIN = pytest.StashKey["ChecksPlugin"]()


def pytest_configure(config: pytest.Config) -> None:
    """Called in the process of a phase and in each of its xdist workers."""
    config.addinivalue_line("markers", f"{MARKER}(id, stage, deadline, ...): what a check is")
    plugin = ChecksPlugin(config)
    config.stash[PLUGIN] = plugin
    config.pluginmanager.register(plugin, "preflight-checks")
    if plugin.is_worker:
        die_with_parent()


class ChecksPlugin:
    """State of one process of a phase."""

    def __init__(self, config: pytest.Config) -> None:
        self.folder = Path(os.environ[RUN_VARIABLE])
        self.phase = os.environ[PHASE_VARIABLE]
        self.is_worker = hasattr(config, "workerinput")
        self.own_device = os.environ.get(DEVICE_VARIABLE) if self.is_worker else None
        self.journal = Journal(self.folder)
        events = self.journal.new_events()
        self.situation: Situation = read_situation(events)
        self.injector = Injector(self.situation.options.injections)
        self._planned: Planned | None = next((e for e in events if isinstance(e, Planned)), None)

    # -- collecting ----------------------------------------------------------------------------

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """One item per device for a check that takes ``device``."""
        if "device" in metafunc.fixturenames:
            marker = metafunc.definition.get_closest_marker(MARKER)
            names = [d.name for d in self._devices_of(marker)] or [NO_DEVICE]
            if self.own_device is not None:
                names = [name for name in names if name == self.own_device]
            metafunc.parametrize("device", names, indirect=True, ids=names)

    def _devices_of(self, marker: pytest.Mark | None) -> tuple[Device, ...]:
        """What a check that takes ``device`` speaks of: facts are of cards, probes may not be."""
        stage = BY_NAME.get(marker.kwargs.get("stage", "")) if marker else None
        judged = stage is not None and stage.phase == "host"
        return self.situation.inventory.devices if judged else self.situation.probed

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """A check file that leaves while it is imported ends nothing but itself."""
        try:
            return (yield)
        except SystemExit:
            return pytest.CollectReport(collector.nodeid, "failed", traceback.format_exc(), [])

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A check file that cannot be collected is a result of its own: nobody could look."""
        if not report.failed or self.phase != "host":
            return
        name = Path(str(report.nodeid).partition("::")[0]).stem or "folder"
        self._record(
            Check(
                id=f"{COLLECTION}.{name}",
                stage=COLLECTION,
                title=f"The checks of {report.nodeid or 'the folder'} can be collected",
                node=self.situation.node,
                status="error",
                reason=f"{report.nodeid or 'a folder of checks'} cannot be collected",
                action="mend the file; the evidence names the line",
                evidence=redact_text(report.longreprtext[-8000:]),
            )
        )

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Refuse what breaks the contract, put the path in order, keep this phase's checks."""
        specs = [self._spec(item) for item in items]
        try:
            refuse_duplicates(specs)
            _refuse_parameters(items)
            if self._planned is None:
                self._refuse_empty_files(items)
                self._refuse_unknown_requirements(specs)
        except CheckContractError as error:
            self._refuse(error)
        items.sort(key=_place)
        if self._planned is None:
            self._planned = self._plan(items)
            self.journal.append(self._planned)
        gone = [item for item in items if not self._is_mine(item)]
        items[:] = [item for item in items if self._is_mine(item)]
        if gone:
            config.hook.pytest_deselected(items=gone)

    def pytest_pycollect_makeitem(self, collector: pytest.Collector, name: str, obj: Any) -> None:
        """A function that carries the marker and is not named like a check would vanish."""
        marks = getattr(obj, "pytestmark", [])
        marked = isinstance(marks, list) and any(mark.name == MARKER for mark in marks)
        if marked and not name.startswith(PREFIX) and inspect.isfunction(obj):
            where = f"{collector.path}:{obj.__code__.co_firstlineno}"
            mend = f"call it {PREFIX}{name}"
            self._refuse(
                CheckContractError(f"{name} is no name of a check", where=where, mend=mend)
            )

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool:
        """Call the check; one that answers with a value means something by it that nobody reads."""
        names = pyfuncitem._fixtureinfo.argnames
        value = pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names})
        if value is not None:
            raise TypeError(f"it returned {value!r}; a check asserts, or speaks through result")
        return True

    def _refuse_empty_files(self, items: list[pytest.Item]) -> None:
        """Every file of checks gives one, or has failed to be collected."""
        files = {item.path for item in items}
        failed = {check.id for check in self.situation.results if check.stage == COLLECTION}
        for folder in self.situation.options.checks_folders:
            for path in sorted(Path(folder).glob(f"{PREFIX}*.py")):
                if path not in files and f"{COLLECTION}.{path.stem}" not in failed:
                    raise CheckContractError(
                        "no check was found in it",
                        where=str(path),
                        mend=f"a check is a function at the top of the file, named {PREFIX}...",
                    )

    def _refuse_unknown_requirements(self, specs: list[CheckSpec]) -> None:
        """An id that the plan requires and nobody has would never be looked at."""
        known = {spec.id for spec in specs}
        for name in self.situation.plan.required.checks:
            if name not in known:
                near = difflib.get_close_matches(name, sorted(known), n=1)
                raise CheckContractError(
                    f"no check has the id {name!r}",
                    where="plan: required.checks",
                    mend=(f"did you mean {near[0]}? " if near else "") + "preflight list has all",
                )

    def _spec(self, item: pytest.Item) -> CheckSpec:
        path, line, _ = item.reportinfo()
        where = f"{path}:{(line or 0) + 1}"
        function = getattr(item, "function", None)
        try:
            if function is None:
                raise CheckContractError(
                    "only functions are checks", where=where, mend="write a function check_..."
                )
            spec = read_spec(function, item.get_closest_marker(MARKER), where)
        except CheckContractError as error:
            self._refuse(error)
        cap_s = self.situation.options.check_deadline_s
        if cap_s is not None:
            spec = replace(spec, deadline_s=min(spec.deadline_s, cap_s))
        item.stash[SPEC] = spec
        return spec

    def _refuse(self, error: CheckContractError) -> Any:
        self.journal.append(Refused(what=error.what, where=error.where, mend=error.mend))
        raise pytest.UsageError(str(error)) from error

    def _plan(self, items: list[pytest.Item]) -> Planned:
        selected = self.situation.options.selected
        rows = []
        for item in items:
            spec = item.stash[SPEC]
            if spec.stage in selected:
                rows.append(
                    PlannedCheck(
                        id=spec.id,
                        stage=spec.stage,
                        title=spec.title,
                        phase=spec.phase,
                        nodeid=redact_text(item.nodeid),
                        device=_device_of(item),
                        deadline_s=spec.deadline_s,
                        required=self._is_required(spec),
                        gates=spec.gates,
                    )
                )
        return Planned(checks=tuple(rows))

    def _is_mine(self, item: pytest.Item) -> bool:
        spec = item.stash[SPEC]
        done = {(check.id, check.device) for check in self.situation.results}
        return (
            spec.phase == self.phase
            and spec.stage in self.situation.options.selected
            and (spec.id, _device_of(item)) not in done
        )

    def _is_required(self, spec: CheckSpec) -> bool:
        """What the check says of itself; the plan can require more, never less."""
        required = self.situation.plan.required
        return spec.required or spec.stage in required.stages or spec.id in required.checks

    # -- running -------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Say that a check begins, run it, and record how it ended."""
        spec, device = item.stash[SPEC], _device_of(item)
        started, began_s = clock.stamp(), clock.seconds()
        item.stash[RESULT] = Result(self._floors())
        troubles: list[BaseException] = []
        item.stash[_TROUBLES] = troubles
        item.stash[_BLOCKED] = None
        item.stash[UNTIL_S] = began_s + spec.deadline_s
        self.journal.append(Started(id=spec.id, device=device, pid=os.getpid(), at=started))
        outcome = yield
        self._record(
            conclude(
                spec,
                item.stash[RESULT],
                troubles,
                node=self.situation.node,
                device=device,
                required=self._is_required(spec),
                blocked_by=item.stash[_BLOCKED],
                started=started,
                duration_s=clock.seconds() - began_s,
            )
        )
        return outcome

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Skip what an earlier failure blocks, and what needs a device where there is none."""
        spec = item.stash[SPEC]
        assert self._planned is not None
        cause = blocker(
            spec.stage,
            _device_of(item),
            spec.needs,
            self.situation.results,
            selected=self.situation.options.selected,
            gating={row.id for row in self._planned.checks if row.gates},
        )
        if cause is not None:
            item.stash[_BLOCKED] = cause
            pytest.skip(f"blocked by {cause}")
        alone = _device_of(item) is None and not self.situation.inventory.devices
        if alone and (spec.per_device or spec.phase == "node"):
            if self.situation.is_rehearsal:  # there is always a CPU: its inventory has failed
                raise CannotLook("; ".join(self.situation.inventory.looked_for))
            pytest.skip("no device was found")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keep the exceptions of set-up, call and tear-down."""
        report = yield
        if call.excinfo is not None:
            item.stash[_TROUBLES].append(call.excinfo.value)
        return report

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config) -> Any:
        """xdist: one worker per device, and what replaces a dead one runs what is left."""
        from preflight.harness.scheduling import DeviceScheduling

        return DeviceScheduling(config)

    @pytest.hookimpl(optionalhook=True)
    def pytest_handlecrashitem(self, crashitem: str) -> None:
        """xdist: the worker that ran ``crashitem`` is dead, and with it what it knew."""
        assert self._planned is not None, "the phase of devices comes after the first collection"
        for row in self._planned.checks:
            if row.nodeid == redact_text(crashitem):
                self._record(lost(row, self.situation.node, "its worker process died"))

    def _floors(self) -> dict[str, float]:
        """The plan's floors, where they are to be judged: they speak of cards."""
        limits = self.situation.plan.limits
        judged = limits.performance == "judge" and not self.situation.is_rehearsal
        return dict(limits.floors) if judged else {}

    def _record(self, check: Check) -> None:
        self.situation.results.append(check)
        self.journal.append(Ended(check=check))


def lost(row: PlannedCheck, node: str, why: str) -> Check:
    """The result of a check that was planned and whose process is gone."""
    return Check(
        id=row.id,
        stage=row.stage,
        title=row.title,
        node=node,
        device=row.device,
        status="error",
        reason=f"nobody could look: {why}",
        action="run again; if it stays, send us run.log",
        required=row.required,
        started=clock.stamp(),
    )


def _refuse_parameters(items: list[pytest.Item]) -> None:
    """Raise CheckContractError for a check with several results on one device."""
    seen = set()
    for item in items:
        spec = item.stash[SPEC]
        key = (spec.id, _device_of(item))
        if key in seen:
            raise CheckContractError(
                f"{spec.id} is parametrized, and a check has one result",
                where=spec.where,
                mend="write a loop, or a check with an id of its own for each",
            )
        seen.add(key)


def _device_of(item: pytest.Item) -> str | None:
    """Name of the device an item speaks of."""
    callspec = getattr(item, "callspec", None)
    name: str | None = callspec.params.get("device") if callspec is not None else None
    return None if name == NO_DEVICE else name


def _place(item: pytest.Item) -> tuple[int, str, int]:
    """Stage on the path, then file, then line; pytest keeps the order of devices."""
    path, line, _ = item.reportinfo()
    return position_of(item.stash[SPEC].stage), str(path), line or 0
