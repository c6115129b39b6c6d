"""File systems below the paths that matter."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest

from preflight.facts import Disk
from preflight.hardware import disks
from preflight.hardware.disks import read_disks
from preflight.hardware.files import THIS_MACHINE, Files, Space
from preflight.hardware.simulated_tree import Tree
from preflight.redaction import REDACTED

from .machines import MALFORMED, machine, reason

GIB = 1024**3
ROOT = "30 1 259:2 / / rw,relatime shared:1 - ext4 /dev/nvme0n1p2 rw,errors=remount-ro"


def disk(
    root: Path, path: str, *mounts: str, room: dict[str, tuple[int, int]] | None = None
) -> Disk:
    """The disk below ``path`` of a machine with these mounts and room in GiB."""
    tree = Tree(root)
    tree.text("/proc/self/mountinfo", "\n".join([ROOT, *mounts]))
    for point, (size, free) in (room or {"/": (100, 40)}).items():
        tree.stand_in("space", point, [size * GIB, free * GIB])
    (found,) = read_disks(Files(root), {"checkpoint": path})
    return found


def test_a_path_on_the_root(tmp_path: Path) -> None:
    """A folder that will be made lies on what its parents lie on."""
    Tree(tmp_path).text("/sys/devices/virtual/block/nvme0n1/queue/rotational", 0)
    partition = "/sys/devices/virtual/block/nvme0n1/nvme0n1p2"
    Tree(tmp_path).text(f"{partition}/dev", "259:2")
    Tree(tmp_path).link("/sys/dev/block/259:2", partition)
    assert disk(tmp_path, "/home/me/run 7/ckpt") == Disk(
        purpose="checkpoint",
        path="/home/me/run 7/ckpt",
        mount="/",
        source="/dev/nvme0n1p2",
        filesystem="ext4",
        size_GiB=100.0,
        free_GiB=40.0,
        rotational=False,
        remote=False,
        read_only=False,
    )


def test_a_hard_disk(tmp_path: Path) -> None:
    """A whole disk has its own queue."""
    Tree(tmp_path).text("/sys/dev/block/8:16/queue/rotational", 1)
    found = disk(tmp_path, "/data", "31 30 8:16 / /data rw - xfs /dev/sdb rw")
    assert (found.source, found.rotational) == ("/dev/sdb", True)


@pytest.mark.parametrize(
    ("source", "model"),
    [
        ("/dev/vda1", ""),
        ("/dev/xvda1", ""),
        ("/dev/sda1", "Virtual Disk"),
        ("/dev/sda1", "PersistentDisk"),
        ("/dev/sda1", "QEMU HARDDISK"),
    ],
)
def test_a_virtual_disk_is_not_believed_to_rotate(tmp_path: Path, source: str, model: str) -> None:
    """Hypervisors say so whatever is behind their disks; that one does not is believed."""
    folder = "/sys/devices/virtual/block/x"
    tree = Tree(tmp_path)
    tree.text(f"{folder}/x1/dev", "8:1")
    tree.text(f"{folder}/device/model", model)
    tree.link("/sys/dev/block/8:1", f"{folder}/x1")
    for value, expected in ((1, None), (0, False)):
        tree.text(f"{folder}/queue/rotational", value)
        found = disk(tmp_path, "/data", f"31 30 8:1 / /data rw - xfs {source} rw")
        if expected is None:
            assert reason(found.rotational) == "not supported"
        else:
            assert found.rotational is expected


@pytest.mark.parametrize(
    ("filesystem", "source", "remote"),
    [
        ("nfs4", "10.0.0.5:/export", True),
        ("nfs", "nas:/export", True),
        ("cifs", "//nas/share", True),
        ("lustre", "10.0.0.5@o2ib:/scratch", True),
        ("gpfs", "gpfs0", True),
        ("beegfs", "beegfs_nodev", True),
        ("wekafs", "weka/fs1", True),
        ("ceph", "10.0.0.5:6789:/", True),
        ("fuse.s3fs", "s3fs", True),
        ("fuse.gcsfuse", "bucket", True),
        ("fuse.rclone", "remote:bucket", True),
        ("fuse.goofys", "bucket", True),
        ("fuse.juicefs", "JuiceFS:vol", True),
        ("fuse.blobfuse2", "blobfuse2", True),
        ("fuse.fuse-overlayfs", "fuse-overlayfs", False),
        ("fuseblk", "/dev/sdb1", False),
        ("ext4", "/dev/rbd0", True),
        ("xfs", "/dev/nbd1", True),
        ("xfs", "/dev/nvme1n1", False),
        ("overlay", "overlay", False),
        ("tmpfs", "tmpfs", False),
        ("btrfs", "/dev/sdb2", False),
        ("zfs", "tank/data", False),
        ("fuse.nobodyknows", "x", None),
        ("fuse", "x", None),
    ],
)
def test_what_is_reached_over_a_network(
    tmp_path: Path, filesystem: str, source: str, remote: bool | None
) -> None:
    """File systems of a network, and block devices of one; an unknown driver is left open."""
    found = disk(tmp_path, "/ck", f"31 30 0:44 / /ck rw - {filesystem} {source} rw")
    if remote is None:
        assert reason(found.remote) == "not supported"
    else:
        assert found.remote is remote


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("10.0.0.5:/export", "10.0.0.5:/export"),
        ("me@host:/data", "me@host:/data"),
        ("https://me:hunter2@dav.example/x", f"https://{REDACTED}@dav.example/x"),
        ("//me:hunter2@nas/share", f"//{REDACTED}@nas/share"),
        ("s3://bucket?secret=hunter2hunter2", f"s3://bucket?secret={REDACTED}"),
        ("/root/disk.img", "/root/disk.img"),
    ],
)
def test_logins_are_taken_out_of_a_source(tmp_path: Path, source: str, kept: str) -> None:
    """What a user logs in with stays on the machine."""
    found = disk(tmp_path, "/ck", f"31 30 0:44 / /ck rw - fuse.x {source} rw,password=hunter2")
    assert found.source == kept
    assert "hunter2" not in repr(found)


@pytest.mark.parametrize(
    "options", ["ro - ext4 /dev/a rw", "rw - ext4 /dev/a ro", "ro - ext4 /dev/a ro"]
)
def test_read_only_by_mount_or_by_file_system(tmp_path: Path, options: str) -> None:
    """Either of them keeps a checkpoint from being written."""
    assert disk(tmp_path, "/ck", f"31 30 8:3 / /ck {options}").read_only is True


def test_a_bind_mount_is_what_it_binds(tmp_path: Path) -> None:
    """A folder of a disk mounted elsewhere has the disk's source and type."""
    found = disk(tmp_path, "/ck/run", "31 30 8:3 /pool/me /ck rw - xfs /dev/sdc1 rw")
    assert (found.mount, found.source, found.filesystem) == ("/ck", "/dev/sdc1", "xfs")


def test_a_btrfs_subvolume_has_the_disk_of_its_source(tmp_path: Path) -> None:
    """btrfs numbers its file systems itself, so that the number names no block device."""
    tree = Tree(tmp_path)
    tree.text("/sys/devices/virtual/block/sdd/queue/rotational", 1)
    tree.text("/sys/devices/virtual/block/sdd/sdd1/dev", "8:49")
    tree.link("/sys/class/block/sdd1", "/sys/devices/virtual/block/sdd/sdd1")
    found = disk(
        tmp_path, "/home/x", "31 30 0:37 /@home /home rw - btrfs /dev/sdd1 rw,subvol=/@home"
    )
    assert (found.mount, found.rotational) == ("/home", True)


@pytest.mark.parametrize("filesystem", ["overlay", "tmpfs", "nfs4", "zfs"])
def test_what_has_no_block_device_does_not_rotate_or_not(tmp_path: Path, filesystem: str) -> None:
    """The layers of an overlay may lie anywhere."""
    found = disk(tmp_path, "/ck", f"31 30 0:60 / /ck rw - {filesystem} x rw")
    assert reason(found.rotational) == "not supported"


def test_a_link_is_followed_to_where_it_leads(tmp_path: Path) -> None:
    """``/ckpt`` may be a link into another mount."""
    Tree(tmp_path).folder("/mnt/raid/ck")
    Tree(tmp_path).link("/ckpt", "/mnt/raid/ck")
    found = disk(
        tmp_path,
        "/ckpt/run",
        "31 30 8:3 / /mnt/raid rw - xfs /dev/md0 rw",
        room={"/": (10, 1), "/mnt/raid": (7000, 6000)},
    )
    assert (found.mount, found.size_GiB) == ("/mnt/raid", 7000.0)


def test_a_folder_with_a_quota_has_its_own_room(tmp_path: Path) -> None:
    """The nearest folder that exists is asked before the mount."""
    Tree(tmp_path).folder("/home/me")
    found = disk(tmp_path, "/home/me/ck", room={"/": (1000, 900), "/home/me": (50, 5)})
    assert (found.size_GiB, found.free_GiB) == (50.0, 5.0)


def test_room_that_cannot_be_read_is_absent(tmp_path: Path) -> None:
    """No size is 0."""
    found = disk(tmp_path, "/ck", room={"/elsewhere": (1, 1)})
    assert reason(found.size_GiB) == reason(found.free_GiB) == "not found"


class DeadServer(Files):
    """A machine whose file server is gone: whoever asks for its room never hears again."""

    def __init__(self, root: Path, hangs_below: str) -> None:
        super().__init__(root)
        self.hangs_below = hangs_below
        self.never = threading.Event()

    def space(self, path: str) -> Any:
        """Waits for ever, until the test lets go."""
        if path.startswith(self.hangs_below):
            self.never.wait()
        return super().space(path)


def test_a_server_that_is_gone_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call does not keep us, and the table of mounts still tells who it is."""
    monkeypatch.setattr(disks, "DEADLINE_S", 0.05)
    disk(tmp_path, "/", "31 30 0:44 / /ck rw - nfs4 10.0.0.5:/export rw")
    files = DeadServer(tmp_path, "/ck")
    (tmp_path / "ck").mkdir()
    found, root = read_disks(files, {"checkpoint": "/ck/run", "output": "/out"})
    files.never.set()
    assert (found.source, found.filesystem, found.remote) == ("10.0.0.5:/export", "nfs4", True)
    assert reason(found.size_GiB) == "deadline"
    assert root.size_GiB == 100.0


def test_without_a_table_of_mounts(tmp_path: Path) -> None:
    """Room is known all the same; the rest is absent, not local."""
    Tree(tmp_path).stand_in("space", "/", [GIB, GIB])
    (found,) = read_disks(Files(tmp_path), {"data": "/data"})
    assert found.size_GiB == 1.0
    for fact in (found.mount, found.source, found.filesystem, found.remote, found.read_only):
        assert reason(fact) == "not found"


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_tables_raise_nothing(tmp_path: Path, text: str) -> None:
    """A path on no mount says so."""
    files = machine(tmp_path, {"/proc/self/mountinfo": text})
    (found,) = read_disks(files, {"temporary": "/tmp"})
    assert reason(found.mount) == "not found"


@pytest.mark.parametrize("path", ["", ".", "relative/x", "/a/../..", "//x", "/\0", "~/x"])
def test_paths_of_any_form_raise_nothing(tmp_path: Path, path: str) -> None:
    """A plan may hold what it likes; relative paths count from the root of another machine."""
    assert disk(tmp_path, path).mount == "/"


def test_this_machine(tmp_path: Path) -> None:
    """The real room of a real folder, as the standard library tells it."""
    (found,) = read_disks(THIS_MACHINE, {"output": str(tmp_path / "later/on")})
    assert found.size_GiB == pytest.approx(shutil.disk_usage(tmp_path).total / GIB, abs=1e-3)
    assert isinstance(found.mount, str) and os.path.ismount(found.mount)
    assert found.read_only is False


def test_a_relative_path_counts_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On this machine ``checkpoints`` lies below the current folder."""
    monkeypatch.chdir("/proc")
    (found,) = read_disks(THIS_MACHINE, {"output": "self"})
    assert (found.mount, found.filesystem) == ("/proc", "proc")


def test_a_small_file_system(tiny_disk: Path) -> None:
    """A file system that is mounted for real is seen with its size."""
    (found,) = read_disks(THIS_MACHINE, {"checkpoint": str(tiny_disk / "ck")})
    assert (found.mount, found.filesystem) == (str(tiny_disk), "tmpfs")
    room = THIS_MACHINE.space(str(tiny_disk))
    assert isinstance(room, Space)
    assert room.size_bytes == 256 * 1024
