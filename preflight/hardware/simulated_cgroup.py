"""Control groups of a machine that does not exist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from preflight.hardware.simulated_tree import Tree

GIB = 1024**3
_TOP = "/sys/fs/cgroup"
_SESSION = "/user.slice/user-1000.slice"
_NO_LIMIT = 9223372036854771712
_PERIOD_us = 100000


@dataclass
class SimulatedCgroup:
    """What the group of this process allows; None is no limit."""

    version: Literal[1, 2] = 2
    memory_GiB: float | None = None
    used_GiB: float = 12.0
    cpus: float | None = None
    processes: int | None = None


def write_cgroup(tree: Tree, group: SimulatedCgroup, *, is_namespace: bool) -> list[str]:
    """Files of the group, and the lines that mountinfo has of it.

    In a namespace of its own a container takes its group for the root.
    """
    path = "/" if is_namespace else _SESSION
    below = path.rstrip("/")
    if group.version == 2:
        _write_2(tree, group, f"{_TOP}{below}")
        tree.text(f"{_TOP}/cgroup.controllers", "cpuset cpu io memory pids")
        tree.text("/proc/self/cgroup", f"0::{path}")
        return [f"90 29 0:26 / {_TOP} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate"]
    _write_1(tree, group, below)
    names = ("memory", "cpu,cpuacct", "pids")
    lines = [f"{index + 2}:{name}:{path}" for index, name in enumerate(names)]
    tree.text("/proc/self/cgroup", "\n".join(lines))
    for name in () if is_namespace else names:
        tree.text(f"{_TOP}/{name}/release_agent", "")
    return [
        f"{90 + index} 29 0:{27 + index} / {_TOP}/{name} rw,nosuid - cgroup cgroup rw,{name}"
        for index, name in enumerate(names)
    ]


def _write_2(tree: Tree, group: SimulatedCgroup, folder: str) -> None:
    tree.text(f"{folder}/cgroup.type", "domain")
    tree.text(f"{folder}/memory.max", _bytes(group.memory_GiB, "max"))
    tree.text(f"{folder}/memory.current", _bytes(group.used_GiB, "0"))
    quota = "max" if group.cpus is None else int(group.cpus * _PERIOD_us)
    tree.text(f"{folder}/cpu.max", f"{quota} {_PERIOD_us}")
    tree.text(f"{folder}/pids.max", group.processes or "max")


def _write_1(tree: Tree, group: SimulatedCgroup, below: str) -> None:
    memory = f"{_TOP}/memory{below}"
    limit = _bytes(group.memory_GiB, str(_NO_LIMIT))
    tree.text(f"{memory}/memory.limit_in_bytes", limit)
    tree.text(f"{memory}/memory.stat", f"cache 0\nhierarchical_memory_limit {limit}")
    tree.text(f"{memory}/memory.usage_in_bytes", _bytes(group.used_GiB, "0"))
    cpu = f"{_TOP}/cpu,cpuacct{below}"
    tree.text(f"{cpu}/cpu.cfs_period_us", _PERIOD_us)
    quota = -1 if group.cpus is None else int(group.cpus * _PERIOD_us)
    tree.text(f"{cpu}/cpu.cfs_quota_us", quota)
    tree.text(f"{_TOP}/pids{below}/pids.max", group.processes or "max")


def _bytes(size_GiB: float | None, without: str) -> str:
    return without if size_GiB is None else str(int(size_GiB * GIB))
