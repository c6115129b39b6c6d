"""The one launcher: every child process has its own session, a deadline and bounded output."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from preflight import clock

OUTPUT_BYTES = 64 * 1024
"""How much of the end of a child's output is kept."""
KILL_GRACE_S = 5.0
"""How long a killed child may take to be gone; one in state D cannot be waited for."""
SET_ASIDE = "PREFLIGHT_SET_ASIDE"
"""JSON of the user's variables that our own pytest must not see and that probes get back."""


class Output:
    """The last ``OUTPUT_BYTES`` that a child wrote, read as it writes so that it never blocks."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._kept = bytearray()
        self._dropped = 0
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        with os.fdopen(self._descriptor, "rb", buffering=0) as stream:
            while data := stream.read(65536):
                with self._lock:
                    self._kept += data
                    extra = len(self._kept) - OUTPUT_BYTES
                    if extra > 0:
                        del self._kept[:extra]
                        self._dropped += extra

    def text(self, *, settle_s: float = 0.5) -> str:
        """What is kept; waits ``settle_s`` for its end, which a grandchild may put off."""
        self._thread.join(settle_s)
        with self._lock:
            text = self._kept.decode("utf-8", errors="replace")
        if self._dropped:
            return f"[{self._dropped} bytes before this are left out]\n{text}"
        return text


@dataclass(frozen=True, kw_only=True)
class Exit:
    """How a child ended."""

    code: int | None
    """Exit code; None when a signal ended it or it did not die."""
    signal_name: str | None
    """``SIGSEGV``; None when it exited."""
    timed_out: bool
    """It ran past its deadline and was killed."""
    died: bool
    """False when even SIGKILL did not end it (a process in uninterruptible sleep)."""
    output: str
    """Last lines of standard output and error together."""
    duration_s: float

    def sentence(self) -> str:
        """How it ended, to follow the name of what was run."""
        if not self.died:
            return "could not be killed: it is stuck inside the kernel"
        if self.timed_out:
            return f"did not end within {self.duration_s:.0f} s"
        if self.signal_name:
            return f"was ended by {self.signal_name}"
        return f"exited with code {self.code}"


class Child:
    """A running child process in a session of its own.

    ``give`` are descriptors that the child inherits. Standard input is a pipe when ``commands``,
    else /dev/null. Raises OSError when the program cannot be started.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        give: Sequence[int] = (),
        commands: bool = False,
        folder: Path | None = None,
    ) -> None:
        self.started_s = clock.seconds()
        reading, writing = os.pipe()
        try:
            self._process = subprocess.Popen(
                list(argv),
                stdin=subprocess.PIPE if commands else subprocess.DEVNULL,
                stdout=writing,
                stderr=writing,
                env=None if environment is None else dict(environment),
                pass_fds=tuple(give),
                start_new_session=True,
                cwd=folder,
            )
        except BaseException:
            os.close(reading)
            raise
        finally:
            os.close(writing)
        self.output = Output(reading)
        self.pid = self._process.pid

    def is_running(self) -> bool:
        """Whether it has not ended yet."""
        return self._process.poll() is None

    def write(self, line: bytes) -> None:
        """Send one command line; raises BrokenPipeError when the child is gone."""
        stream = self._process.stdin
        assert stream is not None, "this child takes no commands"
        stream.write(line)
        stream.flush()

    def state(self) -> str:
        """Linux process state (``R``, ``S``, ``D``, ``T``, ``Z``); empty without a /proc."""
        try:
            text = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""
        return text.rpartition(")")[2].split()[0]

    def send_signal(self, number: signal.Signals) -> None:
        """Signal the child alone, not its group."""
        self._process.send_signal(number)

    def close_input(self) -> None:
        """End its standard input: a probe leaves on that."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()

    def kill(self) -> bool:
        """SIGKILL to its whole group; whether the child is gone afterwards."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(KILL_GRACE_S)
        self.close_input()
        return self._process.poll() is not None

    def wait(self, seconds: float) -> bool:
        """Wait for its end; whether it has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.poll() is not None

    def exit(self, *, timed_out: bool = False) -> Exit:
        """How it ended; call it after ``wait`` or ``kill``."""
        code = self._process.poll()
        ended_by = signal_name(-code) if code is not None and code < 0 else None
        return Exit(
            code=code if code is not None and code >= 0 else None,
            signal_name=ended_by,
            timed_out=timed_out,
            died=code is not None,
            output=self.output.text(),
            duration_s=clock.seconds() - self.started_s,
        )


def run_child(
    argv: Sequence[str],
    *,
    deadline_s: float,
    environment: Mapping[str, str] | None = None,
    give: Sequence[int] = (),
    folder: Path | None = None,
) -> Exit:
    """Run a program to its end or its deadline; its group is gone afterwards in either case."""
    child = Child(argv, environment=environment, give=give, folder=folder)
    try:
        ended = child.wait(deadline_s)
    finally:
        child.kill()
    return child.exit(timed_out=not ended)


def signal_name(number: int) -> str:
    """``SIGSEGV`` for 11; ``signal 99`` for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def user_environment(**added: str) -> dict[str, str]:
    """The environment as the user gave it, for probes, with preflight's own ``added``."""
    environment = dict(os.environ)
    aside = environment.pop(SET_ASIDE, None)
    if aside is not None:  # this is one of our pytest sessions: its own PYTEST_* are not the user's
        environment = {
            k: v
            for k, v in environment.items()
            if not k.startswith(("PYTEST_", "PREFLIGHT_HANDED"))
        }
        environment.update(json.loads(aside))
    environment.update(added)
    return environment
