"""Runs the path once: folder, inventory, phases, record, reports."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import msgspec

from preflight import __version__, clock
from preflight.assembly import assemble
from preflight.errors import OutputError, PreflightError
from preflight.events import Closed, Event, Opened, Options
from preflight.harness.checkpoint_site import remove_site
from preflight.harness.inventory_child import look_at_machine
from preflight.harness.journal import Journal, read_journal
from preflight.harness.phases import PhaseRunner
from preflight.harness.places import places_of
from preflight.harness.situation import HANDED_VARIABLE, Handed
from preflight.harness.sweep import RUN_VARIABLE, sweep
from preflight.injection import refuse_misplaced
from preflight.outputs import write_outputs
from preflight.plan import Plan
from preflight.records import Order, Record, Run
from preflight.redaction import redact_text
from preflight.run_folder import make_run_folder
from preflight.stages import STAGE_NAMES

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, kw_only=True)
class Request:
    """What to run: the command line and the plan, checked."""

    options: Options
    order: Order
    plan: Plan
    out: Path
    strict: bool
    argv: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What a run left behind."""

    record: Record
    folder: Path
    report: Path | None
    """The HTML report; None when the reports could not be written."""
    exit_code: int
    trouble: PreflightError | None = None
    """Why the outputs are not all there."""


class Interrupted(BaseException):
    """A signal or the deadline of the run ends it; ``name`` goes into the record."""

    def __init__(self, name: str, number: int = 0) -> None:
        super().__init__(name)
        self.name = name
        self.number = number


Watch = Callable[[Sequence[Event]], None]


def run(request: Request, watch: Watch) -> Outcome:
    """Run the path; ``watch`` is called many times a second with the new events.

    Raises UsageError before anything ran, for a folder that cannot be written and for a check file
    that breaks the contract.
    """
    moment, began_s = clock.now(), clock.seconds()
    folder = make_run_folder(request.out, request.order.reference, moment)
    journal = Journal(folder)
    try:
        return _supervised(request, folder, journal, watch, clock.stamp(moment), began_s)
    finally:
        journal.release()


def _supervised(
    request: Request, folder: Path, journal: Journal, watch: Watch, started: str, began_s: float
) -> Outcome:
    """Run the phases and finish in good order, whatever ends them."""
    ended: Interrupted | None = None
    trouble: PreflightError | None = None
    with _signals():
        try:
            journal.append(_opened(request, folder.name, started))
            journal.hold()
            _run_phases(request, folder, journal, watch, began_s)
        except Interrupted as interruption:
            ended = interruption
        except PreflightError as error:
            if error.exit_code == 2:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            trouble = error
        except OSError as error:
            trouble = PreflightError(
                f"a process cannot be started: {error.strerror}",
                mend="look at the limits of processes, open files and memory (ulimit -a)",
            )
        finally:
            _ignore_signals()  # until _signals gives the old handlers back
            sweep(folder)
            remove_site(request.plan, request.options.plan_file, folder)
            shutil.rmtree(folder / "scratch", ignore_errors=True)
        return _finish(folder, journal, began_s, ended, trouble)


def _run_phases(
    request: Request, folder: Path, journal: Journal, watch: Watch, began_s: float
) -> None:
    until_s = began_s + request.options.deadline_s

    def bounded(events: Sequence[Event]) -> None:
        watch(events)
        if clock.seconds() >= until_s:
            raise Interrupted("deadline")

    watch(())
    variables = {RUN_VARIABLE: str(folder)}
    inventory = look_at_machine(
        request.options.accelerator,
        run_variables=variables,
        simulate=request.options.simulated,
        paths=places_of(request.plan, request.options.plan_file, folder),
    )
    journal.append(inventory)
    names = [device.name for device in inventory.stand_ins or inventory.devices]
    ranks = request.options.ranks if request.options.mode != "certify" else len(names)
    refuse_misplaced(request.options.injections, names, ranks)
    handed = Handed(options=request.options, plan=request.plan)
    private = {HANDED_VARIABLE: msgspec.json.encode(handed).decode()}
    PhaseRunner(folder, bounded, private).run()


def _opened(request: Request, name: str, started: str) -> Opened:
    options = request.options
    everything = tuple(options.selected) == tuple(s for s in STAGE_NAMES if s != "soak")
    return Opened(
        run=Run(
            id=name,
            started=started,
            level=options.level,
            mode=options.mode,
            simulated=options.simulated,
            seed=options.seed,
            tool_version=__version__,
            argv=request.argv,
            selected=() if everything else options.selected,
            strict=request.strict,
            injected=tuple(injection.text for injection in options.injections),
        ),
        order=request.order,
        options=redacted(options),
    )


def _finish(
    folder: Path,
    journal: Journal,
    began_s: float,
    ended: Interrupted | None,
    trouble: PreflightError | None,
) -> Outcome:
    """Close the journal, assemble the record and write what can be written."""
    closed = Closed(
        finished=clock.stamp(),
        duration_s=round(clock.seconds() - began_s, 3),
        interrupted=ended.name if ended else None,
    )
    report = None
    events = read_journal(folder) if journal.path.exists() else ()
    if not events:
        raise trouble or OutputError(
            "the folder of this run is gone, and its record with it",
            where=str(folder),
            mend="run again, and leave the folder where it is",
        )
    try:
        journal.append(closed)
    except PreflightError as error:
        trouble = trouble or error
    record = assemble((*events, closed), where=str(folder))
    try:
        report = write_outputs(record, folder)
    except PreflightError as error:
        trouble = trouble or error
    code = record.verdict.exit_code
    if ended is not None and ended.number:
        code = 128 + ended.number
    if trouble is not None:
        code = trouble.exit_code
    return Outcome(record=record, folder=folder, report=report, exit_code=code, trouble=trouble)


def redacted(options: Options) -> Options:
    """The options as the journal may have them; the phases get them whole by their environment."""
    return msgspec.structs.replace(
        options,
        python=redact_text(options.python),
        checks_folders=tuple(map(redact_text, options.checks_folders)),
        plan_file=redact_text(options.plan_file) if options.plan_file else None,
    )


@contextlib.contextmanager
def _signals() -> Iterator[None]:
    """The first signal ends the run in good order; those after it are ignored meanwhile."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        _ignore_signals()
        raise Interrupted(signal.Signals(number).name, number)

    before = {one: signal.getsignal(one) for one in SIGNALS}
    for one in SIGNALS:
        nohup = one == signal.SIGHUP and before[one] == signal.SIG_IGN
        if not nohup:  # a shell lets jobs in the background ignore SIGINT, which is no wish
            signal.signal(one, interrupt)
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _ignore_signals() -> None:
    """Nothing interrupts the writing of what there is.

    A mask of this thread would not do: another thread, such as the reader of a child's output,
    takes the signal then, and Python runs the handler in this one all the same.
    """
    for one in SIGNALS:
        signal.signal(one, signal.SIG_IGN)


def rebuild(folder: Path) -> Record:
    """The record of a run that was killed, from its journal; raises RecordError without one."""
    return assemble(read_journal(folder), where=os.fspath(folder))
