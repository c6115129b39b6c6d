"""What is mounted where, from /proc/self/mountinfo."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from preflight.facts import Absence
from preflight.hardware.files import Files

MOUNTINFO = "/proc/self/mountinfo"
_ESCAPE = re.compile(r"\\([0-7]{3})")


@dataclass(frozen=True, kw_only=True)
class Mount:
    """One line of mountinfo (proc_pid_mountinfo(5)), its octal escapes undone."""

    device: str
    """Major and minor number: ``259:1``; ``0:52`` where there is no block device."""
    root: str
    """What of the file system is mounted: ``/``, or a folder of it for a bind mount."""
    point: str
    options: frozenset[str]
    """Of the mount and of its file system together: ``rw``, ``memory``."""
    filesystem: str
    source: str


def read_mounts(files: Files) -> tuple[Mount, ...] | Absence:
    """Mounts in the order in which they were made; lines of another form are passed over."""
    text = files.text(MOUNTINFO)
    if isinstance(text, Absence):
        return text
    return tuple(mount for line in text.splitlines() if (mount := _parse(line)) is not None)


def mount_of(path: str, mounts: Iterable[Mount]) -> Mount | None:
    """The mount that an absolute path without links lies on; the last one hides those below it."""
    found: Mount | None = None
    for mount in mounts:
        holds = mount.point == "/" or path == mount.point or path.startswith(f"{mount.point}/")
        if holds and (found is None or len(mount.point) >= len(found.point)):
            found = mount
    return found


def _parse(line: str) -> Mount | None:
    # 36 35 98:0 /root /point rw,noatime master:1 - ext4 /dev/sda1 rw,errors=continue
    head, _, tail = line.partition(" - ")
    fields, rest = head.split(" "), tail.split(" ")
    if len(fields) < 6 or len(rest) < 2:
        return None
    options = ",".join([fields[5], *rest[2:3]])
    return Mount(
        device=fields[2],
        root=_unescape(fields[3]),
        point=_unescape(fields[4]),
        options=frozenset(options.split(",")),
        filesystem=_unescape(rest[0]),
        source=_unescape(rest[1]),
    )


def _unescape(text: str) -> str:
    r"""``my data`` of ``my\040data``; the kernel escapes bytes, which may be part of a letter."""
    if "\\" not in text:
        return text
    data = _ESCAPE.sub(lambda found: chr(int(found[1], 8) & 0xFF), text)
    return _as_letters(data)


def _as_letters(data: str) -> str:
    try:
        return data.encode("latin-1").decode("utf-8", "replace")
    except UnicodeEncodeError:
        return data  # letters stood there unescaped, so that the rest are letters too
