"""Finds and ends processes of a run that nobody owns any more."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from preflight import clock

GONE_S = 5.0
POLL_S = 0.02
RUN_VARIABLE = "PREFLIGHT_RUN"
"""Variable, in the environment of every process of a run, that holds the path of its folder."""


def survivors(run_folder: Path, *, proc: Path = Path("/proc")) -> tuple[int, ...]:
    """Processes, other than this one, whose environment carries the folder of the run.

    Grandchildren that left their session are found too. Empty where there is no /proc.
    """
    start = f"{RUN_VARIABLE}=".encode()
    wanted = run_folder.resolve()  # a link on the way there makes two paths of one folder
    found = []
    for folder in proc.glob("[0-9]*"):
        pid = int(folder.name)
        if pid == os.getpid():
            continue
        # Processes end while they are listed, and those of other users cannot be read.
        with contextlib.suppress(OSError):
            variables = (folder / "environ").read_bytes().split(b"\0")
            named = [os.fsdecode(v[len(start) :]) for v in variables if v.startswith(start)]
            if any(Path(name).resolve() == wanted for name in named):
                found.append(pid)
    return tuple(sorted(found))


def sweep(run_folder: Path) -> tuple[int, ...]:
    """Kill what is left of a run, and wait for it to be gone; the processes that were found.

    One in uninterruptible sleep is not waited for longer than ``GONE_S``.
    """
    found = survivors(run_folder)
    for pid in found:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    until_s = clock.seconds() + GONE_S
    while found and survivors(run_folder) and clock.seconds() < until_s:
        time.sleep(POLL_S)
    return found
