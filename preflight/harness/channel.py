"""A probe process as its supervisor sees it: commands in, messages out, and how it ended."""

from __future__ import annotations

import contextlib
import json
import os
import select
from collections import deque
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from preflight import clock
from preflight.harness.children import Child, user_environment
from preflight.harness.outcomes import CannotLook

SERVE = Path(__file__).resolve().parent.parent / "probes" / "serve.py"
POLL_S = 0.05

Message = dict[str, Any]


class Channel:
    """One probe process and its reply pipe.

    Raises CannotLook when the interpreter cannot be started.
    """

    def __init__(self, python: str, environment: Mapping[str, str] | None = None) -> None:
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        self._reading = reading
        self._rest = b""
        self._inbox: deque[Message] = deque()
        self._ended = False
        self.step = "starting"
        """What the probe last said it was doing, or the call that it was given."""
        self.own_step = ""
        """What the probe itself said of the call that it was given."""
        self.last_progress: Message | None = None
        self.heard_s = clock.seconds()
        try:
            self.child = Child(
                [python, str(SERVE)],
                environment=user_environment(
                    PREFLIGHT_REPLY_FD=str(writing),
                    PREFLIGHT_PARENT=str(os.getpid()),
                    PYTHONUNBUFFERED="1",
                    **(environment or {}),
                ),
                give=(writing,),
                commands=True,
            )
        except OSError as error:
            os.close(reading)
            raise CannotLook(
                f"the interpreter {python} cannot be started: {error.strerror}",
                action="name a working interpreter with --python",
            ) from error
        finally:
            os.close(writing)

    def send(self, call: str, params: Mapping[str, Any], fault: str | None = None) -> None:
        """Give a command, and the fault to inject into it.

        A probe that is gone is noticed when its answer is awaited.
        """
        self.heard_s = clock.seconds()
        self.step, self.own_step = call, ""
        command = {"call": call, "params": dict(params), "fault": fault}
        line = json.dumps(command).encode() + b"\n"
        with contextlib.suppress(BrokenPipeError):
            self.child.write(line)

    def fileno(self) -> int:
        """The reply pipe, for select."""
        return self._reading

    @property
    def is_open(self) -> bool:
        """Whether messages may still come; a pipe at its end would make select return at once."""
        return not self._ended

    def messages(self) -> list[Message]:
        """Messages that have arrived; never waits."""
        while True:
            try:
                data = os.read(self._reading, 1 << 20)
            except BlockingIOError:
                break
            if not data:
                self._ended = True
                break
            self._rest += data
        *lines, self._rest = self._rest.split(b"\n")
        found = [json.loads(line) for line in lines if line]
        for message in found:
            self.heard_s = clock.seconds()
            if message["event"] == "progress":
                self.step = self.own_step = message["step"]
                self.last_progress = message
        return found

    def await_message(self, deadline_s: float) -> Message | None:
        """The next message that is not progress; None when the probe ended or time is up.

        ``deadline_s`` is a moment of the monotonic clock. Which of the two it was is told by
        ``child.is_running()``.
        """
        while True:
            running = self.child.is_running()
            self._inbox.extend(m for m in self.messages() if m["event"] != "progress")
            if self._inbox:
                return self._inbox.popleft()
            if not running or clock.seconds() >= deadline_s:
                return None
            select.select([self] if self.is_open else [], [], [], POLL_S)

    def close(self) -> None:
        """Kill the group of the probe and let go of the pipe; calling it again does nothing."""
        if self._reading >= 0:
            self.child.kill()
            os.close(self._reading)
            self._reading = -1
