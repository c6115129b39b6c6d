"""Runs the phases of a run, each a pytest session in a child, and bounds every check in them."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from preflight import clock
from preflight.errors import CheckContractError, OutputError
from preflight.events import (
    Ended,
    Event,
    Inventory,
    Planned,
    PlannedCheck,
    Refused,
    Started,
)
from preflight.harness.children import SET_ASIDE, Child
from preflight.harness.journal import Journal
from preflight.harness.own_python import own_command
from preflight.harness.plugin import PHASE_VARIABLE, lost
from preflight.harness.sweep import RUN_VARIABLE
from preflight.probes.lifeline import PARENT_VARIABLE
from preflight.records import Check
from preflight.redaction import redact_text
from preflight.stages import PHASES, Phase

CHECK_GRACE_S = 10.0
"""A check ends itself at its deadline; this long after it, its process is killed."""
IDLE_S = 60.0
"""A session in which no check runs and nothing happens for this long is stuck, and killed."""
TAIL_LINES = 12
POLL_S = 0.05

Key = tuple[str, str | None]
Watch = Callable[[Sequence[Event]], None]
"""Called many times a second with the new events; it may raise to end the run."""


class PhaseRunner:
    """Runs phase after phase of the run in ``folder``; ``watch`` sees every event once."""

    def __init__(
        self, folder: Path, watch: Watch, variables: Mapping[str, str] | None = None
    ) -> None:
        self._folder = folder
        self._variables = dict(variables or {})
        self._watch = watch
        self._journal = Journal(folder)
        self._planned: dict[Key, PlannedCheck] = {}
        self._done: set[Key] = set()
        self._running: dict[Key, tuple[Started, float]] = {}
        self._node = ""
        self._quiet_since_s = clock.seconds()
        self._log = folder / "run.log"

    def run(self) -> None:
        """All phases in order.

        Raises CheckContractError when a check file breaks the contract, and whatever ``watch``
        raises; children are gone in every case.
        """
        for phase in PHASES:
            while (phase == "host" and not self._planned) or self._missing(phase):
                if not self._attempt(phase):
                    break

    def absorb(self) -> None:
        """Read new events of the journal and hand them to ``watch``."""
        events = self._journal.new_events()
        for event in events:
            self._note(event)
        if events:
            self._quiet_since_s = clock.seconds()
        self._watch(events)

    def _note(self, event: Event) -> None:
        if isinstance(event, Refused):
            raise CheckContractError(event.what, where=event.where, mend=event.mend)
        if isinstance(event, Inventory):
            self._node = event.nodes[0].name
        elif isinstance(event, Planned):
            self._planned = {(row.id, row.device): row for row in event.checks}
        elif isinstance(event, Started):
            self._running[event.id, event.device] = (event, clock.seconds())
        elif isinstance(event, Ended):
            key = (event.check.id, event.check.device)
            self._running.pop(key, None)
            self._done.add(key)

    def _missing(self, phase: Phase) -> list[PlannedCheck]:
        return [
            row
            for key, row in self._planned.items()
            if row.phase == phase and key not in self._done
        ]

    def _attempt(self, phase: Phase) -> bool:
        """One session of a phase; whether another one has something to do."""
        before = len(self._done)
        command = own_command("preflight.harness.session")
        environment = {
            **os.environ,
            **self._variables,
            RUN_VARIABLE: str(self._folder),
            PHASE_VARIABLE: phase,
            PARENT_VARIABLE: str(os.getpid()),
        }
        environment.pop(SET_ASIDE, None)
        child = Child(command, environment=environment)
        self._quiet_since_s = clock.seconds()
        try:
            while child.is_running():
                self._bound(child, phase)
                self.absorb()
                child.wait(POLL_S)
        finally:
            child.kill()
            end = child.exit()
            self._write_log(f"== {phase}: {end.sentence()}\n{end.output}")
        self.absorb()
        if not self._planned:
            raise_uncollected(end.output)
        self._give_up_running(end.sentence(), end.output)
        if len(self._done) == before:
            for row in self._missing(phase):
                self._fail(row, f"its session {end.sentence()}", end.output)
        return bool(self._missing(phase))

    def _bound(self, child: Child, phase: Phase) -> None:
        """Kill what is past its deadline: the process of a check, or a session that is stuck."""
        now_s = clock.seconds()
        for key, (started, since_s) in list(self._running.items()):
            row = self._planned.get(key)
            if row is None or now_s < since_s + row.deadline_s + CHECK_GRACE_S:
                continue
            self._fail(row, f"the check did not return within its {row.deadline_s:.0f} s", "")
            with contextlib.suppress(ProcessLookupError):
                os.kill(started.pid, signal.SIGKILL)
        done = bool(self._planned) and not self._missing(phase)
        limit_s = CHECK_GRACE_S if done else IDLE_S
        if not self._running and now_s > self._quiet_since_s + limit_s:
            child.kill()

    def _give_up_running(self, how: str, output: str) -> None:
        for key in list(self._running):
            row = self._planned.get(key)
            if row is not None:
                self._fail(row, f"its session {how}", output)

    def _fail(self, row: PlannedCheck, why: str, output: str) -> None:
        check = lost(row, self._node, why)
        tail = redact_text("\n".join(output.splitlines()[-TAIL_LINES:]))
        self._journal.append(Ended(check=with_evidence(check, tail)))
        self.absorb()

    def _write_log(self, text: str) -> None:
        try:
            with self._log.open("a", encoding="utf-8") as file:
                file.write(redact_text(text.rstrip()) + "\n")
        except OSError as error:
            raise OutputError(
                f"cannot write the log: {error.strerror}",
                where=str(self._log),
                mend="free space there, or name another folder with --out",
            ) from error


def with_evidence(check: Check, text: str) -> Check:
    """The check with ``text`` as its evidence."""
    return msgspec.structs.replace(check, evidence=text)


def raise_uncollected(output: str) -> None:
    """No check was collected at all: an error, never a pass."""
    tail = "\n".join(output.splitlines()[-TAIL_LINES:])
    raise CheckContractError(
        f"no check could be collected\n{tail}",
        where="checks",
        mend="without --checks this is a fault of preflight: send us these lines",
    )
