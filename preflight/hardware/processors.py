"""CPUs: their name, how many there are, and on how many of them this process may run."""

from __future__ import annotations

import os
import platform
import re

from preflight.facts import Absence, Text, Whole
from preflight.hardware.files import Files

_CPUS = "/sys/devices/system/cpu"
_RANGE = re.compile(r"(\d{1,7})(?:-(\d{1,7}))?")
_ALLOWED = r"^Cpus_allowed_list:[ \t]*(\S+)$"


def cpu_name(files: Files) -> str | None:
    """Model name of the first CPU; Arm machines often have none."""
    match = re.search(r"^model name[ \t]*:[ \t]*(.+)$", _cpuinfo(files), re.MULTILINE)
    return match[1].strip() if match else None


def architecture(files: Files) -> str | None:
    """``x86_64`` or ``aarch64``; kernels before 6.1 do not tell, and the interpreter does."""
    found = files.text("/proc/sys/kernel/arch")
    if not isinstance(found, Absence) and found:
        return found
    return (platform.machine() or None) if files.is_real else None


def cpus_allowed(files: Files) -> Whole:
    """CPUs on which the scheduler may put this process, its cpuset included."""
    found = _of_list(files, "/proc/self/status", _ALLOWED)
    if isinstance(found, Absence) and files.is_real and hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return found


def allowed_list(files: Files) -> Text:
    """The same as the kernel writes it: ``0-47,96-143``."""
    text = files.text("/proc/self/status")
    if isinstance(text, Absence):
        return text
    match = re.search(_ALLOWED, text, re.MULTILINE)
    return match[1] if match else Absence(what="/proc/self/status", reason="not readable")


def cpus_online(files: Files) -> Whole:
    """CPUs that the kernel uses."""
    found = _of_list(files, f"{_CPUS}/online", r"^(\S+)$")
    if isinstance(found, Absence):
        return len(re.findall(r"^processor[ \t]*:", _cpuinfo(files), re.MULTILINE)) or found
    return found


def sockets(files: Files) -> Whole:
    """Processor packages; virtual machines of Arm often number none."""
    cpus = files.names(_CPUS)
    if isinstance(cpus, Absence):
        return cpus
    path = f"{_CPUS}/cpu*/topology/physical_package_id"
    ids = [
        files.whole(path.replace("cpu*", cpu)) for cpu in cpus if re.fullmatch(r"cpu[0-9]+", cpu)
    ]
    packages = {number for number in ids if isinstance(number, int) and number >= 0}
    return len(packages) or Absence(what=path, reason="not supported")


def count_cpus(text: str) -> int | None:
    """6 of ``0-3,8,10``; None where the text is no list of CPUs."""
    total = 0
    for part in filter(None, text.strip().split(",")):
        match = _RANGE.fullmatch(part)
        if match is None:
            return None
        total += max(0, int(match[2] or match[1]) - int(match[1]) + 1)
    return total


def _of_list(files: Files, path: str, pattern: str) -> Whole:
    """How many CPUs the list in a file names."""
    text = files.text(path)
    if isinstance(text, Absence):
        return text
    match = re.search(pattern, text, re.MULTILINE)
    return (count_cpus(match[1]) if match else None) or Absence(
        what=path, reason="not readable", detail="no list of CPUs stands there"
    )


def _cpuinfo(files: Files) -> str:
    text = files.text("/proc/cpuinfo")
    return "" if isinstance(text, Absence) else text
