"""Probes that do what broken libraries do; they stand beside a copy of serve.py."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from typing import Any

from . import reply

FOR_EVER_S = 600


def echo(**params: Any) -> dict[str, Any]:
    """The parameters as they came, and the process that got them."""
    return {"params": params, "pid": os.getpid()}


def environment(name: str) -> dict[str, Any]:
    """One variable as this process sees it, and all that begin with PYTEST_."""
    every = sorted(key for key in os.environ if key.startswith("PYTEST_"))
    return {"value": os.environ.get(name), "pytest": every}


def misbehave(how: str, step: str | None = None) -> dict[str, Any]:
    """Do ``how``, having said ``step`` before."""
    if step is not None:
        reply.progress(step)
    return FAULTS[how]()


def say(message: str) -> dict[str, Any]:
    """Print a line on each stream and answer."""
    print(message)
    print(message.upper(), file=sys.stderr)
    return {}


def send(event: str, **fields: Any) -> dict[str, Any]:
    """Send a message besides the answer."""
    reply.send(event, **fields)
    return {}


def read_input() -> dict[str, Any]:
    """Try to eat the commands of the supervisor."""
    return {"read": sys.stdin.read(), "descriptor": os.read(0, 100).decode()}


def infinite() -> dict[str, Any]:
    """Numbers that JSON does not have."""
    return {"up": float("inf"), "not": [float("nan"), 1.0]}


def raise_error(message: str, errno: int | None = None) -> dict[str, Any]:
    """Raise as a library does."""
    print("the library printed this before")
    if errno is not None:
        raise OSError(errno, message)
    raise RuntimeError(message)


def leave_grandchild() -> dict[str, Any]:
    """Start a process in a session of its own, and forget it."""
    command = [sys.executable, "-c", f"import time; time.sleep({FOR_EVER_S})"]
    child = subprocess.Popen(command, start_new_session=True)
    return {"pid": child.pid}


def _crash() -> dict[str, Any]:
    ctypes.string_at(0)
    return {}


def _hang() -> dict[str, Any]:
    time.sleep(FOR_EVER_S)
    return {}


def _hang_holding_the_gil() -> dict[str, Any]:
    ctypes.PyDLL(None).sleep(FOR_EVER_S)
    return {}


def _exit_silently() -> dict[str, Any]:
    os._exit(7)


def _be_killed() -> dict[str, Any]:
    os.kill(os.getpid(), signal.SIGKILL)
    return {}


def _stop() -> dict[str, Any]:
    os.kill(os.getpid(), signal.SIGSTOP)
    return {}


def _flood() -> dict[str, Any]:
    for _ in range(1024):
        os.write(1, b"x" * 1023 + b"\n")
    os.write(2, b"the last line\n")
    return {"wrote": 1 << 20}


def _close_everything() -> dict[str, Any]:
    os.closerange(3, 1024)
    return {}


def _lose_the_pipe() -> dict[str, Any]:
    os.closerange(3, 1024)
    return _hang()


def _leave() -> dict[str, Any]:
    sys.exit("the library wants to leave")


def _interrupt() -> dict[str, Any]:
    raise KeyboardInterrupt


def _exhaust_memory() -> dict[str, Any]:
    raise MemoryError


FAULTS = {
    "crash": _crash,
    "hang": _hang,
    "hang holding the GIL": _hang_holding_the_gil,
    "exit silently": _exit_silently,
    "be killed": _be_killed,
    "stop": _stop,
    "flood": _flood,
    "close everything": _close_everything,
    "lose the pipe": _lose_the_pipe,
    "leave": _leave,
    "interrupt": _interrupt,
    "exhaust memory": _exhaust_memory,
}
