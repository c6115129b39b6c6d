"""Runs small folders of checks through the real phases, or through the real engine."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from preflight import engine
from preflight.engine import Outcome, Request
from preflight.events import Event, Inventory, Opened, Options
from preflight.harness.children import Child
from preflight.harness.journal import FILE_NAME, Journal, read_journal
from preflight.harness.phases import PhaseRunner
from preflight.harness.sweep import survivors, sweep
from preflight.plan import Plan
from preflight.records import Check, Device, Host, Node, Order, Record, Run, decode_record
from preflight.stages import STAGE_NAMES

FAULTS = Path(__file__).parent
MODULES = FAULTS / "modules"
ALL_STAGES = tuple(name for name in STAGE_NAMES if name != "soak")
PATIENCE_S = 60.0
"""How long a test waits for what takes a second; a shared machine is slow at times."""

HEAD = """\
import ctypes, os, signal, sys, time
from pathlib import Path
import pytest
from preflight.harness import CannotLook, ProbeFailed, at_least, at_most, exactly

"""


def check_text(
    name: str,
    body: str = "pass",
    *,
    stage: str = "system",
    arguments: str = "",
    deadline: str = "30s",
    doc: str = "A fact holds.",
    **marker: Any,
) -> str:
    """Source of one check ``<stage>.<name>``."""
    more = "".join(f", {key}={value!r}" for key, value in marker.items())
    return (
        f'@pytest.mark.check(id="{stage}.{name}", stage="{stage}", deadline="{deadline}"{more})\n'
        f"def check_{name}({arguments}):\n"
        f'    """{doc}"""\n{textwrap.indent(textwrap.dedent(body).strip(), "    ")}\n\n\n'
    )


def write_checks(folder: Path, *checks: str, name: str = "check_900_small.py") -> Path:
    """A folder with one check file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(HEAD + "".join(checks), encoding="utf-8")
    return folder


def options(*folders: Path, **changes: Any) -> Options:
    """Options of a rehearsal over ``folders`` alone."""
    fields: dict[str, Any] = {
        "python": sys.executable,
        "level": "quick",
        "mode": "rehearse",
        "accelerator": "cpu",
        "ranks": 2,
        "seed": 7,
        "deadline_s": 300.0,
        "selected": ALL_STAGES,
        "checks_folders": tuple(str(folder) for folder in folders),
    }
    return Options(**{**fields, **changes})


def device(name: str, **changes: Any) -> Device:
    """A card that no driver serves; torch is said to call it the CPU."""
    fields = {"name": name, "node": "node-a", "kind": "cuda", "product": "Fake 9000"}
    return Device(**{**fields, "torch_device": "cpu", **changes})


def inventory(*names: str) -> Inventory:
    """A machine with cards of these names."""
    return Inventory(
        host=Host(name="node-a"),
        nodes=(Node(name="node-a"),),
        devices=tuple(device(name) for name in names),
    )


def card_check(name: str, body: str = "pass", stage: str = "kernel", **marker: object) -> str:
    """A check of each device."""
    return check_text(name, body, stage=stage, arguments="device, result", **marker)


def open_run(folder: Path, given: Options, *devices: str, mode: str | None = None) -> Journal:
    """A journal as it stands when the first phase begins."""
    folder.mkdir(parents=True, exist_ok=True)
    journal = Journal(folder)
    run = Run(
        id=folder.name,
        started="2026-12-01T09:00:00Z",
        level=given.level,
        mode=mode or given.mode,
        seed=given.seed,
        tool_version="0",
    )
    journal.append(Opened(run=run, order=Order(), options=given))
    journal.append(inventory(*devices))
    return journal


class Phases:
    """All phases over small folders of checks, and what came of them."""

    def __init__(self, folder: Path, given: Options, *devices: str) -> None:
        open_run(folder, given, *devices)
        self.folder = folder
        self.seen: list[Event] = []
        try:
            PhaseRunner(folder, self.seen.extend).run()
        finally:
            self.left = sweep(folder)
        self.events = read_journal(folder)
        self.record: Record = engine.rebuild(folder)
        self.log = (folder / "run.log").read_text(encoding="utf-8")

    def check(self, name: str, device: str | None = None) -> Check:
        """The result of a check."""
        return one(self.record.checks, name, device)

    def statuses(self) -> dict[str, str]:
        """``kernel.first gpu0`` to its status."""
        return {
            f"{check.id} {check.device or ''}".strip(): check.status for check in self.record.checks
        }


RunPhases = Callable[..., Phases]
"""Takes checks, ``devices`` and changed options, as the fixture ``phases`` does."""


def one(checks: Sequence[Check], name: str, device: str | None = None) -> Check:
    """The one result of that name on that device."""
    (found,) = [check for check in checks if (check.id, check.device) == (name, device)]
    return found


def request(out: Path, *folders: Path, **changes: Any) -> Request:
    """A request of a rehearsal over ``folders`` alone."""
    return Request(
        options=options(*folders, **changes),
        order=Order(reference="ORD-1"),
        plan=Plan(),
        out=out,
        strict=False,
        argv=("preflight", "run"),
    )


def run_engine(out: Path, *folders: Path, **changes: Any) -> Outcome:
    """The whole engine in this process."""
    return engine.run(request(out, *folders, **changes), lambda events: None)


class Command:
    """A process that runs the engine, as ``preflight run`` does, over small folders."""

    def __init__(
        self,
        out: Path,
        *folders: Path,
        environment: Mapping[str, str] | None = None,
        working: Path | None = None,
        **changes: Any,
    ) -> None:
        self.out = out
        given = msgspec.json.encode(options(*folders, **changes)).decode()
        self._child = Child(
            [sys.executable, "-m", "faults.command", str(out), given],
            environment={
                **os.environ,
                "PYTHONPATH": str(FAULTS.parent),
                "PYTHONSAFEPATH": "1",
                **(environment or {}),
            },
            folder=working,
        )
        self.pid = self._child.pid

    @property
    def folder(self) -> Path:
        """The folder of the run, once it is there."""

        def is_there() -> bool:
            assert self._child.is_running() or any(self.out.iterdir()), self._child.output.text()
            return any(self.out.glob(f"*/*/{FILE_NAME}"))

        wait_until(is_there, "the journal")
        return next(self.out.glob(f"*/*/{FILE_NAME}")).parent

    def wait_for(self, text: str) -> None:
        """Wait until the journal holds ``text``."""
        path = self.folder / FILE_NAME
        wait_until(lambda: text in path.read_text(encoding="utf-8"), text)

    def signal(self, number: signal.Signals) -> None:
        """Signal the controller alone."""
        self._child.send_signal(number)

    def end(self) -> tuple[int | None, str]:
        """Its exit code (None where a signal ended it) and what it printed."""
        ended = self._child.wait(PATIENCE_S)
        self._child.kill()
        end = self._child.exit(timed_out=not ended)
        assert ended, end.output
        return end.code, end.output

    def record(self) -> Record:
        """The record it wrote."""
        path = self.folder / "record.json"
        return decode_record(path.read_bytes(), where=str(path))


@contextlib.contextmanager
def command(out: Path, *folders: Path, **changes: Any) -> Iterator[Command]:
    """A running engine; whatever happens, nothing of it is left afterwards.

    It minds SIGHUP, though these tests may run under nohup themselves.
    """
    before = signal.getsignal(signal.SIGHUP)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    try:
        running = Command(out, *folders, **changes)
    finally:
        signal.signal(signal.SIGHUP, before)
    try:
        yield running
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(running.pid, signal.SIGKILL)
        running._child.kill()
        for journal in out.glob(f"*/*/{FILE_NAME}"):
            sweep(journal.parent)


def wait_until(holds: Callable[[], bool], what: str) -> None:
    """Wait for something that another process does."""
    until_s = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < until_s, f"{what} did not come"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    """Whether a process exists and is no zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def open_files(pid: int | str = "self") -> list[str]:
    """What the descriptors of a process are, as ``/proc`` names them."""
    return [
        str(entry.readlink()) for entry in Path(f"/proc/{pid}/fd").iterdir() if entry.is_symlink()
    ]


def count_descriptors() -> int:
    """Descriptors that this process holds open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def nothing_runs(folder: Path) -> bool:
    """Whether no process of the run in ``folder`` is left."""
    return survivors(folder) == ()


def preflight(*arguments: str, **fields: Any) -> subprocess.CompletedProcess[str]:
    """The command, to its end."""
    return subprocess.run(
        [sys.executable, "-m", "preflight", *arguments],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        **fields,
    )


def as_json(value: Any) -> Any:
    """A value as it looks after a trip through JSON."""
    return json.loads(json.dumps(value))


GOOD = check_text("good", "result.note('well')", arguments="result")
SLEEP = check_text("sleeps", "time.sleep(600)", deadline="10m")
LATE = check_text("late", stage="collective")
GRANDCHILD = """
import subprocess
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
"""


def record_of(folder: Path) -> Record:
    """The record in the folder of a run."""
    path = folder / "record.json"
    return decode_record(path.read_bytes(), where=str(path))


def statuses(record: Record) -> dict[str, str]:
    """Check to status."""
    return {check.id: check.status for check in record.checks}
