"""Memory of the host, not of this control group, from /proc/meminfo and /dev/shm."""

from __future__ import annotations

import re

from preflight.facts import Absence, Number
from preflight.hardware.files import Files, Space

GIB = 1024**3
SHM = "/dev/shm"
_MEMINFO = "/proc/meminfo"


def memory_GiB(files: Files) -> Number:
    """All of it that the kernel manages."""
    return _line_GiB(files, "MemTotal")


def available_GiB(files: Files) -> Number:
    """What could be used without swapping, by the kernel's own estimate."""
    return _line_GiB(files, "MemAvailable")


def swap_GiB(files: Files) -> Number:
    """Size of the swap space; 0 where there is none."""
    return _line_GiB(files, "SwapTotal")


def shared_memory(files: Files) -> Space | Absence:
    """Room of /dev/shm, where ranks on one host exchange buffers."""
    return files.space(SHM)


def _line_GiB(files: Files, name: str) -> Number:
    text = files.text(_MEMINFO)
    if isinstance(text, Absence):
        return text
    match = re.search(rf"^{name}:[ \t]*([0-9]{{1,15}}) kB[ \t]*$", text, re.MULTILINE)
    if match is None:
        return Absence(what=f"{_MEMINFO} {name}", reason="not readable", detail="no such line")
    return round(int(match[1]) * 1024 / GIB, 2)
