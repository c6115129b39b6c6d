"""File systems of a machine that does not exist."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from preflight.hardware.simulated_tree import Tree

GIB = 1024**3
TIB = 1024.0
"""In GiB."""


@dataclass
class SimulatedMount:
    """A mounted file system, with a block device of its own where its source lies in /dev."""

    point: str = "/"
    source: str = "/dev/nvme0n1p2"
    filesystem: str = "ext4"
    size_GiB: float = 3.5 * TIB
    free_GiB: float = 3.0 * TIB
    is_rotational: bool = False
    is_read_only: bool = False


def shared_memory(size_GiB: float) -> SimulatedMount:
    """An empty /dev/shm."""
    return SimulatedMount("/dev/shm", "tmpfs", "tmpfs", size_GiB, size_GiB)


def write_mounts(tree: Tree, mounts: Sequence[SimulatedMount], others: Sequence[str]) -> None:
    """The table of mounts, ``others`` being lines of file systems without room of their own."""
    lines = []
    for index, mount in enumerate(mounts):
        number = f"259:{index}" if mount.source.startswith("/dev/") else f"0:{40 + index}"
        access = "ro" if mount.is_read_only else "rw"
        point = mount.point.replace(" ", r"\040")
        lines.append(
            f"{30 + index} 1 {number} / {point} {access},relatime shared:{index}"
            f" - {mount.filesystem} {mount.source} {access}"
        )
        tree.folder(mount.point)
        tree.stand_in("space", mount.point, [int(mount.size_GiB * GIB), int(mount.free_GiB * GIB)])
        if mount.source.startswith("/dev/"):
            _write_block_device(tree, number, mount)
    tree.text("/proc/self/mountinfo", "\n".join([*lines, *others]))


def _write_block_device(tree: Tree, number: str, mount: SimulatedMount) -> None:
    """The disk, and the partition of it that is mounted."""
    name = mount.source.rpartition("/")[2]
    disk = re.sub(r"p?\d+$", "", name) or name
    folder = f"/sys/devices/virtual/block/{disk}"
    tree.text(f"{folder}/queue/rotational", int(mount.is_rotational))
    tree.text(f"{folder}/{name}/dev", number)
    tree.link(f"/sys/dev/block/{number}", f"{folder}/{name}")
    tree.link(f"/sys/class/block/{name}", f"{folder}/{name}")
