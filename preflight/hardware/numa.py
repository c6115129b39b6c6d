"""NUMA nodes, from /sys/devices/system/node."""

from __future__ import annotations

import re

from preflight.facts import Absence, Flag, NumaNode, Number, Whole
from preflight.hardware.files import Files
from preflight.hardware.processors import count_cpus

GIB = 1024**3
_NODES = "/sys/devices/system/node"


def read_nodes(files: Files) -> tuple[NumaNode, ...] | Absence:
    """Nodes by number; one without CPUs is memory alone, such as that of a GPU on Grace."""
    names = files.names(_NODES)
    if isinstance(names, Absence):
        return names
    numbers = sorted(int(name[4:]) for name in names if re.fullmatch(r"node[0-9]{1,9}", name))
    if not numbers:
        return Absence(what=_NODES, reason="not supported", detail="the kernel lists no node")
    return tuple(
        NumaNode(
            index=number,
            cpus=_cpus(files, f"{_NODES}/node{number}/cpulist"),
            memory_GiB=_memory_GiB(files, f"{_NODES}/node{number}/meminfo"),
        )
        for number in numbers
    )


def is_balancing(files: Files) -> Flag:
    """Whether the kernel moves pages towards the CPUs that use them (any mode but 0)."""
    mode = files.whole("/proc/sys/kernel/numa_balancing")
    return mode if isinstance(mode, Absence) else mode != 0


def node_of(files: Files, device: str) -> Whole:
    """Node of a device by its folder in sysfs; -1 where the firmware names none."""
    return files.whole(f"{device}/numa_node")


def _cpus(files: Files, path: str) -> str:
    """The list as it stands; empty where there is none, or none that can be read."""
    text = files.text(path)
    return "" if isinstance(text, Absence) or count_cpus(text) is None else text


def _memory_GiB(files: Files, path: str) -> Number:
    text = files.text(path)
    if isinstance(text, Absence):
        return text
    match = re.search(r"MemTotal:[ \t]*([0-9]{1,15}) kB", text)
    if match is None:
        return Absence(what=path, reason="not readable", detail="no line of MemTotal")
    return round(int(match[1]) * 1024 / GIB, 2)
