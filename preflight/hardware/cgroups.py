"""Control groups: what this process is allowed, whatever the host has.

Memory, CPU time and the number of processes may each be ruled by version 1 or 2, on one machine at
once. A limit of a group above binds as well, so that the tightest one on the way up counts, as far
as it can be seen: a container does not see the groups that it lies in.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from dataclasses import dataclass

from preflight.facts import Absence, Cgroup, Number, Whole
from preflight.hardware.files import Files
from preflight.hardware.mounts import Mount, read_mounts

GIB = 1024**3
_CGROUP = "/proc/self/cgroup"
_USUAL = "/sys/fs/cgroup"
"""Monitoring pods see the host's groups elsewhere too: ``/host/sys/fs/cgroup``."""
_NO_LIMIT = 2**62
"""Version 1 has no word for "no limit": it holds 2**63 - 1 rounded down to a page, and pages of
64 KiB round further down than those of 4 KiB."""

Limit = float | None
"""None where a group sets none."""


@dataclass(frozen=True, kw_only=True)
class _Group:
    """The group of this process that rules over one controller."""

    version: int
    path: str
    """As /proc/self/cgroup has it."""
    folders: tuple[str, ...]
    """Of this group and those above it, the leaf first."""


def read_cgroup(files: Files) -> Cgroup:
    """What the control groups of this process allow."""
    text = files.text(_CGROUP)
    if isinstance(text, Absence):
        return _unknown(text)
    mounts = read_mounts(files)
    if isinstance(mounts, Absence):
        return _unknown(mounts)
    memory, cpu, pids = (_group(name, text, mounts, files) for name in ("memory", "cpu", "pids"))
    limit, used = _memory(files, memory)
    return Cgroup(
        version=memory if isinstance(memory, Absence) else memory.version,
        path=memory if isinstance(memory, Absence) else memory.path,
        memory_limit_GiB=_to_GiB(limit),
        memory_used_GiB=used,
        cpus=_tightest(files, cpu, {1: _quota_1, 2: _quota_2})[0],
        processes=_to_whole(_tightest(files, pids, {1: _pids, 2: _pids})[0]),
    )


def _unknown(why: Absence) -> Cgroup:
    return Cgroup(
        version=why,
        path=why,
        memory_limit_GiB=why,
        memory_used_GiB=why,
        cpus=why,
        processes=why,
    )


def _group(controller: str, text: str, mounts: tuple[Mount, ...], files: Files) -> _Group | Absence:
    """Where ``controller`` rules: version 1 where it has a hierarchy there, else version 2."""
    paths = {}
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        names, _, path = rest.partition(":")
        if path.startswith("/") and (number == "0" or controller in names.split(",")):
            paths[2 if number == "0" else 1] = path.removesuffix(" (deleted)")
    if not paths:
        return Absence(what=f"{_CGROUP} {controller}", reason="not found")
    version = min(paths)
    kind = "cgroup" if version == 1 else "cgroup2"
    mounted = [
        mount
        for mount in mounts
        if mount.filesystem == kind and (version == 2 or controller in mount.options)
    ]
    if not mounted:
        return Absence(what=f"{kind} of {controller}", reason="not found", detail="not mounted")
    usual = [mount for mount in mounted if mount.point.startswith(_USUAL)]
    folders = _folders(paths[version], (usual or mounted)[-1], files)
    return _Group(version=version, path=paths[version], folders=folders)


def _folders(path: str, mount: Mount, files: Files) -> tuple[str, ...]:
    """Folders of the group and of those above it, up to what is mounted.

    ``path`` counts from the root of the control group namespace and so does ``mount.root``. In a
    container without such a namespace both are the host's; where they do not fit, what is mounted
    is all that can be seen.
    """
    if mount.root == "/":
        below = path
    elif path == mount.root or path.startswith(f"{mount.root}/"):
        below = path[len(mount.root) :]
    else:
        below = "/"
    leaf = posixpath.normpath(f"{mount.point}/{below}")
    inside = leaf == mount.point or leaf.startswith(f"{mount.point.rstrip('/')}/")
    if not inside or not files.exists(leaf):
        return (mount.point,)
    folders = [leaf]
    while folders[-1] != mount.point:
        folders.append(posixpath.dirname(folders[-1]))
    return tuple(folders)


def _memory(files: Files, group: _Group | Absence) -> tuple[Limit | Absence, Number]:
    """Limit in bytes, and how much is used of it in GiB: both of the group that sets it."""
    if isinstance(group, Absence):
        return group, group
    limit, folder = _tightest(files, group, {1: _memory_1, 2: _memory_2})
    name = "memory.usage_in_bytes" if group.version == 1 else "memory.current"
    used = files.whole(f"{folder}/{name}")
    return limit, used if isinstance(used, Absence) else round(used / GIB, 3)


def _tightest(
    files: Files,
    group: _Group | Absence,
    readers: dict[int, Callable[[Files, str], Limit | Absence]],
) -> tuple[Limit | Absence, str]:
    """The smallest limit on the way up, and the folder that sets it (else the leaf).

    The root of a hierarchy has no files of limits, for it can have none; what is mounted in a
    container need not be the root.
    """
    if isinstance(group, Absence):
        return group, ""
    found = [(readers[group.version](files, folder), folder) for folder in group.folders]
    numbers = [(limit, folder) for limit, folder in found if isinstance(limit, int | float)]
    if numbers:
        return min(numbers)
    absent = [limit for limit, _ in found if isinstance(limit, Absence)]
    refused = [limit for limit in absent if limit.reason != "not found"]
    leaf = group.folders[0]
    if refused:
        return refused[0], leaf
    if len(absent) == len(found) and not _is_root(files, group):
        return absent[0], leaf
    return None, leaf


def _is_root(files: Files, group: _Group) -> bool:
    """Whether the way up ends at the machine's own root, above which nothing limits."""
    top = group.folders[-1]
    if group.version == 1:
        return files.exists(f"{top}/release_agent")
    return files.exists(f"{top}/cgroup.controllers") and not files.exists(f"{top}/cgroup.type")


def _memory_2(files: Files, folder: str) -> Limit | Absence:
    return _word(files, f"{folder}/memory.max")


def _memory_1(files: Files, folder: str) -> Limit | Absence:
    """The kernel's own sum over the groups above where it tells it, which sees all of them."""
    stat = files.text(f"{folder}/memory.stat")
    line = None if isinstance(stat, Absence) else _line(stat, "hierarchical_memory_limit")
    limit = line if line is not None else files.whole(f"{folder}/memory.limit_in_bytes")
    return None if isinstance(limit, int) and limit >= _NO_LIMIT else limit


def _line(text: str, name: str) -> int | None:
    match = re.search(rf"^{name} ([0-9]{{1,20}})$", text, re.MULTILINE)
    return int(match[1]) if match else None


def _quota_2(files: Files, folder: str) -> Limit | Absence:
    """``200000 100000`` is the time of two CPUs in each period (microseconds)."""
    path = f"{folder}/cpu.max"
    text = files.text(path)
    if isinstance(text, Absence):
        return text
    match = re.fullmatch(r"(max|[0-9]{1,15}) ([1-9][0-9]{0,14})", text)
    if match is None:
        return Absence(what=path, reason="not readable", detail=f"{text[:80]!r}")
    return None if match[1] == "max" else int(match[1]) / int(match[2])


def _quota_1(files: Files, folder: str) -> Limit | Absence:
    quota = files.whole(f"{folder}/cpu.cfs_quota_us")
    if isinstance(quota, Absence):
        return quota
    if quota < 0:
        return None
    period = files.whole(f"{folder}/cpu.cfs_period_us")
    if isinstance(period, Absence):
        return period
    if period <= 0:
        return Absence(what=f"{folder}/cpu.cfs_period_us", reason="not readable", detail="0")
    return quota / period


def _pids(files: Files, folder: str) -> Limit | Absence:
    return _word(files, f"{folder}/pids.max")


def _word(files: Files, path: str) -> Limit | Absence:
    """A number, or ``max``."""
    text = files.text(path)
    return None if text == "max" else files.whole(path)


def _to_GiB(limit: Limit | Absence) -> Limit | Absence:
    return limit if limit is None or isinstance(limit, Absence) else round(limit / GIB, 3)


def _to_whole(limit: Limit | Absence) -> Whole | None:
    return limit if limit is None or isinstance(limit, Absence) else int(limit)
