"""Facts of the host below the accelerators, from /proc, /etc and the limits of this process."""

from __future__ import annotations

import os
import platform
import re
import resource
import socket
from pathlib import Path

from preflight.records import Host

GIB = 1024**3


def read_host(root: Path = Path("/")) -> Host:
    """The host; a fact that cannot be read is None, never 0."""
    return Host(
        name=socket.gethostname() or "unknown",
        kernel=platform.release() or None,
        distribution=_distribution(root),
        machine=platform.machine() or None,
        cpu=cpu_name(root),
        cores=_cores(),
        memory_GiB=memory_GiB(root),
        shm_GiB=_size_GiB(root / "dev/shm"),
        memlock_KiB=_limit(resource.RLIMIT_MEMLOCK, 1024),
        open_files=_limit(resource.RLIMIT_NOFILE, 1),
        container=_container(root),
    )


def cpu_name(root: Path = Path("/")) -> str | None:
    """Model name of the first CPU; Arm machines often have none."""
    match = re.search(r"^model name\s*:\s*(.+)$", _text(root / "proc/cpuinfo"), re.MULTILINE)
    return match[1].strip() if match else None


def memory_GiB(root: Path = Path("/")) -> float | None:
    """Memory of the host, not of this cgroup."""
    match = re.search(r"^MemTotal:\s*(\d+) kB$", _text(root / "proc/meminfo"), re.MULTILINE)
    return round(int(match[1]) * 1024 / GIB, 2) if match else None


def _text(path: Path) -> str:
    """Contents of a file of the kernel; empty where it does not exist or may not be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _distribution(root: Path) -> str | None:
    match = re.search(r'^PRETTY_NAME="?([^"\n]+)', _text(root / "etc/os-release"), re.MULTILINE)
    return match[1] if match else None


def _cores() -> int | None:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _size_GiB(path: Path) -> float | None:
    try:
        found = os.statvfs(path)
    except OSError:
        return None
    return round(found.f_frsize * found.f_blocks / GIB, 3)


def _limit(which: int, unit: int) -> int:
    """Soft limit in ``unit`` bytes or pieces; -1 is unlimited."""
    soft, _ = resource.getrlimit(which)
    return -1 if soft == resource.RLIM_INFINITY else soft // unit


def _container(root: Path) -> str | None:
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "kubernetes"
    if (root / ".dockerenv").exists():
        return "docker"
    if (root / "run/.containerenv").exists():
        return "podman"
    return None
