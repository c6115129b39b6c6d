"""A few ranks for tests: probe processes with pipes, all answering one call after another."""

from __future__ import annotations

import json
import os
import select
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import preflight.probes

SERVE = Path(preflight.probes.__file__).parent / "serve.py"


class RankError(Exception):
    """A rank raised, or ended; ``answers`` holds what every rank said last."""

    def __init__(self, answers: dict[int, dict[str, Any]]) -> None:
        self.answers = answers
        super().__init__(json.dumps({rank: a.get("message") for rank, a in answers.items()}))


class ProcessGroup:
    """``world`` ranks on the CPU with Gloo; ``progress`` keeps every message of every rank.

    With ``join`` false they are probe processes that have joined no group.
    """

    def __init__(
        self, world: int, environment: dict[str, str] | None = None, *, join: bool = True
    ) -> None:
        self.world = world
        self.progress: list[list[dict[str, Any]]] = [[] for _ in range(world)]
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._ranks = [self._start(rank, port, environment or {}) for rank in range(world)]
        self._rest = [b""] * world
        if join:
            self.call("ranks.join", backend="gloo", device="cpu", timeout_s=60)

    def _start(
        self, rank: int, port: int, environment: dict[str, str]
    ) -> tuple[subprocess.Popen[bytes], int]:
        ours, theirs = os.pipe()
        place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": self.world, "MASTER_PORT": port}
        process = subprocess.Popen(
            [sys.executable, str(SERVE)],
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=self._output,
            pass_fds=(theirs,),
            env={
                **os.environ,
                **{name: str(value) for name, value in place.items()},
                "MASTER_ADDR": "127.0.0.1",
                "OMP_NUM_THREADS": "1",
                "PREFLIGHT_REPLY_FD": str(theirs),
                **environment,
            },
        )
        os.close(theirs)
        return process, ours

    def call(
        self, name: str, /, each: list[dict[str, Any]] | None = None, **params: Any
    ) -> list[dict[str, Any]]:
        """Every rank's answer, by rank; raises RankError if one of them is not a value."""
        for rank, (process, _) in enumerate(self._ranks):
            command = {"call": name, "params": {**params, **(each[rank] if each else {})}}
            assert process.stdin is not None
            process.stdin.write(json.dumps(command).encode() + b"\n")
            process.stdin.flush()
        answers: dict[int, dict[str, Any]] = {}
        deadline = time.monotonic() + 120
        while len(answers) < self.world:
            pipes = [pipe for rank, (_, pipe) in enumerate(self._ranks) if rank not in answers]
            ready = select.select(pipes, [], [], max(0.0, deadline - time.monotonic()))[0]
            if not ready:
                raise TimeoutError(f"{name}: no answer of {set(range(self.world)) - set(answers)}")
            for rank, (_, pipe) in enumerate(self._ranks):
                if pipe in ready:
                    self._read(rank, pipe, answers)
        if any(answer["event"] != "returned" for answer in answers.values()):
            raise RankError(answers)
        return [answers[rank]["value"] for rank in range(self.world)]

    def _read(self, rank: int, pipe: int, answers: dict[int, dict[str, Any]]) -> None:
        data = os.read(pipe, 1 << 16)
        if not data:
            answers[rank] = {"event": "ended", "message": self.output()}
        *lines, self._rest[rank] = (self._rest[rank] + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            if message["event"] in ("returned", "raised"):
                answers[rank] = message
            else:
                self.progress[rank].append(message)

    def output(self) -> str:
        """What the ranks printed."""
        self._output.seek(0)
        return self._output.read().decode(errors="replace")

    def __enter__(self) -> ProcessGroup:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the ranks."""
        for process, pipe in self._ranks:
            process.kill()
            process.wait()
            assert process.stdin is not None
            process.stdin.close()
            os.close(pipe)
        self._output.close()
