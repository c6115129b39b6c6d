"""One device's probe process: serves probe after probe, replaced after any failure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from preflight import clock
from preflight.harness.channel import Channel, Message
from preflight.harness.injecting import InjectedFault
from preflight.harness.outcomes import (
    KILLED_ACTION,
    LATE_ACTION,
    SILENT_ACTION,
    CannotLook,
    ProbeFailed,
)

START_DEADLINE_S = 60.0
"""A bare interpreter starts in well under a second; a cold network disk may take this long."""


class Probe:
    """Calls functions of ``preflight/probes`` in the interpreter under test.

    ``environment`` is added to the user's own. The process starts with the first call.
    """

    def __init__(self, python: str, environment: Mapping[str, str] | None = None) -> None:
        self._python = python
        self._environment = dict(environment or {})
        self._channel: Channel | None = None
        self.partial: list[Message] = []
        """Messages that the last call sent besides its answer."""

    def call(
        self,
        name: str,
        /,
        *,
        deadline_s: float,
        injected: InjectedFault | None = None,
        **params: Any,
    ) -> dict[str, Any]:
        """Answer of ``module.function`` called with ``params``, ``injected`` put into it.

        Raises ProbeFailed when the probed code raises, crashes, ends or is not done after
        ``deadline_s`` seconds; CannotLook when the interpreter does not come up.
        """
        until_s = clock.seconds() + deadline_s
        channel = self._channel or self._start()
        self._channel = None  # until it has answered well, it is not one to use again
        self.partial = []
        channel.send(name, params, injected.take() if injected else None)
        try:
            answer = self._answer(channel, until_s, deadline_s, injected)
        except BaseException:
            channel.close()
            raise
        self._channel = channel
        return answer

    def close(self) -> None:
        """End the process, if there is one."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _start(self) -> Channel:
        channel = Channel(self._python, self._environment)
        await_ready(channel, f"the interpreter {self._python}", self._python)
        return channel

    def _answer(
        self, channel: Channel, until_s: float, deadline_s: float, injected: InjectedFault | None
    ) -> dict[str, Any]:
        while (message := channel.await_message(until_s)) is not None:
            if message["event"] == "returned":
                if injected is not None and message["fault_waits"]:
                    injected.put_back()
                value: dict[str, Any] = message["value"]
                return value
            if message["event"] == "raised":
                raise raised(message, channel.own_step, channel.child.output.text(settle_s=0.1))
            self.partial.append(message)
        raise ended(channel, deadline_s)


def raised(message: Message, step: str, output: str, *, rank: int | None = None) -> ProbeFailed:
    """The failure of a probe that raised an exception."""
    first = str(message["message"]).strip().splitlines() or [""]
    cause = f"{message['type']}: {first[0]}" if first[0] else str(message["type"])
    if step:
        cause += f" (in {step})"
    return ProbeFailed(cause[:500], evidence=join_evidence(message["traceback"], output), rank=rank)


def ended(channel: Channel, deadline_s: float, *, rank: int | None = None) -> ProbeFailed:
    """The failure of a probe that ended or ran past its deadline; it is killed first."""
    timed_out = channel.child.is_running()
    state = channel.child.state() if timed_out else ""
    step = channel.step
    channel.close()
    end = channel.child.exit(timed_out=timed_out)
    action = LATE_ACTION
    if not end.died:
        cause = f"hangs inside the kernel (state D) in {step}; even SIGKILL did not end it"
    elif timed_out:
        stopped = ", its process is stopped" if state in ("T", "t") else ""
        cause = f"no answer within {deadline_s:.0f} s, in {step}{stopped}"
    elif end.signal_name:
        cause, action = f"killed by {end.signal_name} in {step}", KILLED_ACTION
    else:
        cause = f"exited with code {end.code} without a word, in {step}"
        action = SILENT_ACTION
    return ProbeFailed(cause, evidence=end.output, rank=rank, action=action)


def await_ready(channel: Channel, name: str, python: str) -> None:
    """Wait for the first word of a probe; raises CannotLook, beginning with ``name``."""
    message = channel.await_message(clock.seconds() + START_DEADLINE_S)
    if message is not None and message["event"] == "ready":
        return
    running = channel.child.is_running()
    channel.close()
    end = channel.child.exit(timed_out=running)
    late = f"did not answer within {end.duration_s:.0f} s"
    how = late if end.timed_out and end.died else f"{end.sentence()} before it answered"
    raise CannotLook(
        f"{name} {how}",
        evidence=end.output,
        action=f"check that this Python starts: {python} -c pass",
    )


def join_evidence(*texts: str) -> str:
    """Texts with content, one after the other."""
    return "\n".join(text.strip() for text in texts if text.strip())
