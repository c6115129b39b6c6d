"""File systems below the paths that matter."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from preflight.facts import Absence, Disk, Flag
from preflight.hardware.deadline import answer_within
from preflight.hardware.files import Files, Space, as_text
from preflight.hardware.mounts import Mount, mount_of, read_mounts
from preflight.redaction import REDACTED, redact_text

GIB = 1024**3
Purpose = Literal["checkpoint", "data", "temporary", "output"]
DEADLINE_S = 3.0
"""A server of files that is gone keeps a call for ever; one that works answers in milliseconds."""

_REMOTE = re.compile(
    r"nfs4?|cifs|smb3|smbfs|lustre|gpfs|beegfs|wekafs|ceph|glusterfs|afs|panfs|pvfs2"
)
_REMOTE_FUSE = re.compile(
    r"s3fs|gcsfuse|rclone|goofys|geesefs|sshfs|juicefs|blobfuse2?|mountpoint-s3|ceph(?:-fuse)?"
    r"|glusterfs|seaweedfs|alluxio-fuse|mfs"
)
_LOCAL_FUSE = re.compile(r"fuse-overlayfs|ntfs|ntfs-3g|exfat|mergerfs|bindfs")
_REMOTE_BLOCKS = re.compile(r"/dev/(?:nbd|rbd|drbd)")
_VIRTUAL_BLOCKS = re.compile(r"/dev/x?vd[a-z]")
_VIRTUAL_MODELS = re.compile(r"virtual|persistentdisk|qemu|vbox", re.IGNORECASE)
_LOGIN = re.compile(r"(?<=//)[^/@\s]*:[^/@\s]*(?=@)")


def read_disks(files: Files, paths: Mapping[Purpose, str]) -> tuple[Disk, ...]:
    """What each path lies on, or would lie on once it is made."""
    mounts = read_mounts(files)
    return tuple(_disk(files, purpose, as_text(path), mounts) for purpose, path in paths.items())


def _disk(files: Files, purpose: Purpose, path: str, mounts: tuple[Mount, ...] | Absence) -> Disk:
    """One of them; where its server does not answer, what the table of mounts tells."""
    here = str(Path.cwd()) if files.is_real else "/"
    named = posixpath.normpath(posixpath.join(here, path))
    table = () if isinstance(mounts, Absence) else mounts
    found = answer_within(DEADLINE_S, named, lambda: _found(files, named, table))
    mount, room = (mount_of(named, table), found) if isinstance(found, Absence) else found
    if mount is None:
        unknown = Absence(what=named, reason="not found", detail="no mount holds this path")
        disk = _unknown(purpose, path, mounts if isinstance(mounts, Absence) else unknown)
    else:
        disk = _described(files, purpose, path, mount)
    return _with_room(disk, room)


def _found(
    files: Files, path: str, mounts: Sequence[Mount]
) -> tuple[Mount | None, Space | Absence]:
    """The mount that a path leads to through its links, and the room there."""
    resolved = files.resolved(path)
    mount = mount_of(path if isinstance(resolved, Absence) else resolved, mounts)
    return mount, _room(files, path, "" if mount is None else mount.point)


def _room(files: Files, path: str, point: str) -> Space | Absence:
    """Room at the nearest folder that exists, whose quota may be its own; else of the mount."""
    while not files.exists(path) and path != "/":
        path = posixpath.dirname(path)
    room = files.space(path)
    if isinstance(room, Absence) and point and point != path:
        return files.space(point)
    return room


def _unknown(purpose: Purpose, path: str, why: Absence) -> Disk:
    return Disk(
        purpose=purpose,
        path=path,
        mount=why,
        source=why,
        filesystem=why,
        rotational=why,
        remote=why,
        read_only=why,
    )


def _described(files: Files, purpose: Purpose, path: str, mount: Mount) -> Disk:
    return Disk(
        purpose=purpose,
        path=path,
        mount=mount.point,
        source=_source(mount),
        filesystem=mount.filesystem,
        rotational=_rotational(files, mount),
        remote=_is_remote(mount),
        read_only="ro" in mount.options,
    )


def _with_room(disk: Disk, room: Space | Absence) -> Disk:
    if isinstance(room, Absence):
        return msgspec.structs.replace(disk, size_GiB=room, free_GiB=room)
    return msgspec.structs.replace(
        disk,
        size_GiB=round(room.size_bytes / GIB, 3),
        free_GiB=round(room.free_bytes / GIB, 3),
    )


def _source(mount: Mount) -> str:
    """Device or server without what a user logs in with; ``/`` is nobody's home to shorten."""
    return redact_text(_LOGIN.sub(REDACTED, mount.source), home="/")


def _is_remote(mount: Mount) -> Flag:
    """Whether a network lies between; drivers in user space that are not known are left open."""
    kind, _, driver = mount.filesystem.partition(".")
    if _REMOTE.fullmatch(kind) or _REMOTE_BLOCKS.match(mount.source):
        return True
    if kind != "fuse" or _LOCAL_FUSE.fullmatch(driver):
        return False
    if _REMOTE_FUSE.fullmatch(driver):
        return True
    return Absence(what=mount.point, reason="not supported", detail=mount.filesystem)


def _rotational(files: Files, mount: Mount) -> Flag:
    """Whether it is a hard disk, by its block device; a partition's queue is that of its disk."""
    folder = _block_folder(mount)
    if folder is None:
        detail = f"{mount.filesystem} has no block device of its own"
        return Absence(what=mount.point, reason="not supported", detail=detail)
    queue = files.whole(f"{folder}/queue/rotational")
    if isinstance(queue, Absence):
        folder = f"{folder}/.."  # of what the link points to: the folder of the whole disk
        queue = files.whole(f"{folder}/queue/rotational")
    if isinstance(queue, Absence):
        return queue
    if queue and _is_virtual(files, mount, folder):
        return Absence(what=mount.source, reason="not supported", detail="a virtual disk")
    return queue != 0


def _block_folder(mount: Mount) -> str | None:
    if not mount.device.startswith("0:"):
        return f"/sys/dev/block/{mount.device}"
    # btrfs and ZFS number their file systems themselves.
    if mount.source.startswith("/dev/") and mount.filesystem != "overlay":
        return f"/sys/class/block/{posixpath.basename(mount.source)}"
    return None


def _is_virtual(files: Files, mount: Mount, disk: str) -> bool:
    """Whether a hypervisor made the disk: those say that they rotate whatever is behind them."""
    model = files.text(f"{disk}/device/model")
    name = "" if isinstance(model, Absence) else model
    return bool(_VIRTUAL_BLOCKS.match(mount.source) or _VIRTUAL_MODELS.search(name))
