"""The ranks of one process group, each a probe process owned by this supervisor."""

from __future__ import annotations

import contextlib
import select
import socket
from collections.abc import Mapping, Sequence
from typing import Any

from preflight import clock
from preflight.harness.channel import POLL_S, Channel, Message
from preflight.harness.culprit import RankState, name_culprit
from preflight.harness.injecting import InjectedFault
from preflight.harness.outcomes import (
    KILLED_ACTION,
    LATE_ACTION,
    SILENT_ACTION,
    ProbeFailed,
)
from preflight.harness.probing import await_ready, join_evidence

LEAVE_DEADLINE_S = 5.0
ECHO_GRACE_S = 1.0
"""How long the other ranks may still speak after the first trouble, before all are killed."""


class RankGroup:
    """``len(devices)`` ranks that join one process group and then answer calls together.

    ``environment`` is added to the user's own in every rank. Any failure ends the whole group.
    """

    def __init__(
        self,
        python: str,
        devices: Sequence[str],
        *,
        backend: str,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._python = python
        self._devices = tuple(devices)
        self._backend = backend
        self._environment = dict(environment or {})
        self._channels: list[Channel] = []

    @property
    def is_joined(self) -> bool:
        """Whether the ranks are up."""
        return bool(self._channels)

    def join(self, *, deadline_s: float) -> list[dict[str, Any]]:
        """Start the ranks and form the group; each rank's answer.

        Raises CannotLook when an interpreter does not come up, ProbeFailed naming the rank when
        the group does not form.
        """
        port = _free_port()
        try:
            for rank in range(len(self._devices)):
                self._channels.append(Channel(self._python, self._place(rank, port)))
            for rank, channel in enumerate(self._channels):
                await_ready(channel, f"the interpreter of rank {rank}", self._python)
        except BaseException:
            self.close()
            raise
        return self.call(
            "ranks.join",
            deadline_s=deadline_s,
            each=[{"device": device} for device in self._devices],
            backend=self._backend,
            timeout_s=deadline_s + 60.0,  # ours must be the deadline that speaks
        )

    def call(
        self,
        name: str,
        /,
        *,
        deadline_s: float,
        each: Sequence[Mapping[str, Any]] | None = None,
        injected: Mapping[int, InjectedFault] | None = None,
        **params: Any,
    ) -> list[dict[str, Any]]:
        """Answer of every rank to one call, by rank.

        ``each`` adds parameters rank by rank, ``injected`` faults.

        Raises ProbeFailed naming the rank at fault.
        """
        until_s = clock.seconds() + deadline_s
        answers: dict[int, Message] = {}
        for rank, channel in enumerate(self._channels):
            due = (injected or {}).get(rank)
            given = {**params, **(each[rank] if each else {})}
            channel.send(name, given, due.take() if due else None)
        trouble_s: float | None = None
        while len(answers) < len(self._channels):
            running = [channel.child.is_running() for channel in self._channels]
            self._collect(answers)
            lost = [r for r, up in enumerate(running) if not up and r not in answers]
            bad = lost or [r for r, m in answers.items() if m["event"] == "raised"]
            now_s = clock.seconds()
            if bad and trouble_s is None:
                trouble_s = now_s
            if now_s >= until_s or (trouble_s is not None and now_s >= trouble_s + ECHO_GRACE_S):
                break
            select.select([c for c in self._channels if c.is_open], [], [], POLL_S)
        if len(answers) == len(self._channels) and not _raised(answers):
            for rank, due in (injected or {}).items():
                if answers[rank]["fault_waits"]:
                    due.put_back()
            return [answers[rank]["value"] for rank in range(len(self._channels))]
        raise self._failure(answers, deadline_s, timed_out=trouble_s is None)

    def close(self) -> None:
        """Kill every rank's group."""
        for channel in self._channels:
            channel.close()
        self._channels = []

    def leave(self) -> None:
        """Let the ranks take their group down, then kill what is left.

        A rank that does not manage has nothing more to say: its group was well until then.
        """
        if self._channels:
            with contextlib.suppress(ProbeFailed):
                self.call("ranks.leave", deadline_s=LEAVE_DEADLINE_S)
        self.close()

    def _place(self, rank: int, port: int) -> dict[str, str]:
        world = str(len(self._devices))
        return {
            **self._environment,
            "RANK": str(rank),
            "LOCAL_RANK": str(rank),
            "WORLD_SIZE": world,
            "LOCAL_WORLD_SIZE": world,
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
        }

    def _collect(self, answers: dict[int, Message]) -> None:
        for rank, channel in enumerate(self._channels):
            for message in channel.messages():
                if message["event"] in ("returned", "raised"):
                    answers[rank] = message

    def _failure(
        self, answers: Mapping[int, Message], deadline_s: float, *, timed_out: bool
    ) -> ProbeFailed:
        states = [self._state(rank, answers.get(rank)) for rank in range(len(self._channels))]
        channels = self._channels
        self.close()
        rank, sentence = name_culprit(states)
        outputs = [
            f"--- rank {i}, last in {c.step}\n"
            + join_evidence(_trace(answers, i), c.child.output.text())
            for i, c in enumerate(channels)
        ]
        late = f"no answer within {deadline_s:.0f} s; " if timed_out else ""
        own = next((s for s in states if s.rank == rank), None)
        action = LATE_ACTION if timed_out else ""
        if own is not None and own.ending:
            action = KILLED_ACTION if "killed" in own.ending else SILENT_ACTION
        evidence = "\n".join(outputs)
        return ProbeFailed(late + sentence, evidence=evidence, rank=rank, action=action)

    def _state(self, rank: int, answer: Message | None) -> RankState:
        channel = self._channels[rank]
        progress = channel.last_progress or {}
        ending = None
        if not channel.child.is_running():
            end = channel.child.exit()
            ending = (
                f"killed by {end.signal_name} in {channel.step}"
                if end.signal_name
                else f"exited with code {end.code} without a word, in {channel.step}"
            )
        error = None
        if answer is not None and answer["event"] == "raised":
            first = str(answer["message"]).strip().splitlines() or [""]
            error = f"{answer['type']}: {first[0][:400]}"
        return RankState(
            rank=rank,
            answered=answer is not None and answer["event"] == "returned",
            error=error,
            ending=ending,
            stopped=channel.child.state() in ("T", "t"),
            step=channel.step,
            spoke=bool(channel.own_step),
            seq=int(progress.get("seq") or 0),
            entered=bool(progress.get("entered")),
            fingerprint=str(progress.get("fingerprint") or ""),
        )


def _raised(answers: Mapping[int, Message]) -> bool:
    return any(message["event"] == "raised" for message in answers.values())


def _trace(answers: Mapping[int, Message], rank: int) -> str:
    message = answers.get(rank)
    return str(message["traceback"]) if message and message["event"] == "raised" else ""


def _free_port() -> int:
    """A port that was free a moment ago on the loopback address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
    return port
