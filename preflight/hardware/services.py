"""Daemons of the vendor, seen as processes."""

from __future__ import annotations

from preflight.facts import Absence, Service
from preflight.hardware.files import Files

RUNNING, NOT_SEEN = "running", "not seen"
_COMM = 15
"""The kernel keeps so many characters of a process's name (TASK_COMM_LEN of linux/sched.h)."""
_PROGRAMS = {
    "nvidia-fabricmanager": "nv-fabricmanager",
    "nvidia-persistenced": "nvidia-persistenced",
    "nvidia-imex": "nvidia-imex",
    "dcgm": "nv-hostengine",
}
"""The service, and the program that it runs."""


def read_services(files: Files) -> tuple[Service, ...] | Absence:
    """Each of them; one that is ``not seen`` may run where this process cannot look."""
    names = files.names("/proc")
    if isinstance(names, Absence):
        return names
    numbers = [name for name in names if name.isascii() and name.isdigit()]
    if not numbers:
        return Absence(what="/proc", reason="not readable", detail="no process is listed there")
    running = {files.text(f"/proc/{number}/comm") for number in numbers}
    return tuple(
        Service(name=name, state=RUNNING if program[:_COMM] in running else NOT_SEEN)
        for name, program in _PROGRAMS.items()
    )
