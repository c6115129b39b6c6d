"""The files of the kernel, below a root folder, so that a folder of files is a machine too."""

from __future__ import annotations

import errno
import json
import os
from dataclasses import dataclass
from pathlib import Path

from preflight.facts import Absence

ROOT = Path("/")
STAND_INS = "preflight-simulated.json"
"""Below the root of a simulated machine: what a plain folder cannot hold."""
_REASONS = {
    errno.ENOENT: "not found",
    errno.ENOTDIR: "not found",
    errno.ENODEV: "not found",
    errno.ENXIO: "not found",
    errno.EACCES: "no permission",
    errno.EPERM: "no permission",
    errno.EOPNOTSUPP: "not supported",
}


@dataclass(frozen=True, kw_only=True)
class Space:
    """Room of a file system."""

    size_bytes: int
    free_bytes: int
    """For a user without privileges."""


class Files:
    """Reads files as the kernel shows them; paths are absolute, ``/proc/meminfo``.

    Below another root than ``/`` nothing of this machine is read: sizes of file systems and the
    outcome of opening a device come from the file STAND_INS, {"space": {path: [size, free]},
    "opening": {path: errno}}, without which they are ``not found``.
    """

    def __init__(self, root: Path = ROOT) -> None:
        self.root = root
        self.is_real = root == ROOT
        self._stand_ins: dict[str, dict[str, object]] = {}
        path = root / STAND_INS
        if not self.is_real and path.is_file():
            self._stand_ins = json.loads(path.read_text(encoding="utf-8"))

    def at(self, path: str) -> Path:
        """Where ``path`` really is."""
        return self.root / path.lstrip("/")

    def text(self, path: str) -> str | Absence:
        """Contents without blanks at either end."""
        try:
            return self.at(path).read_text(encoding="utf-8", errors="replace").strip()
        except OSError as error:
            return absence(path, error)

    def whole(self, path: str) -> int | Absence:
        """A file that holds one integer, decimal or ``0x``."""
        found = self.text(path)
        if isinstance(found, Absence):
            return found
        try:
            return int(found, 0) if found.lower().startswith("0x") else int(found)
        except ValueError:
            return Absence(what=path, reason="not readable", detail=f"{found[:80]!r} is no number")

    def names(self, path: str) -> tuple[str, ...] | Absence:
        """Names in a folder, sorted."""
        try:
            return tuple(sorted(entry.name for entry in self.at(path).iterdir()))
        except OSError as error:
            return absence(path, error)

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder."""
        return self.at(path).exists()

    def target(self, path: str) -> str | Absence:
        """Last name of what a link points to: ``nvidia`` of a device's ``driver``."""
        try:
            return self.at(path).readlink().name
        except OSError as error:
            return absence(path, error)

    def space(self, path: str) -> Space | Absence:
        """Room of the file system at ``path``."""
        if not self.is_real:
            pair = self._stand_ins.get("space", {}).get(path)
            if not isinstance(pair, list):
                return Absence(what=path, reason="not found")
            return Space(size_bytes=int(pair[0]), free_bytes=int(pair[1]))
        try:
            found = os.statvfs(path)
        except OSError as error:
            return absence(path, error)
        return Space(
            size_bytes=found.f_frsize * found.f_blocks, free_bytes=found.f_frsize * found.f_bavail
        )

    def opens(self, path: str) -> bool | Absence:
        """True where ``path`` can be opened for reading and writing; else why not."""
        if not self.is_real:
            number = self._stand_ins.get("opening", {}).get(path)
            if isinstance(number, int):
                return absence(path, OSError(number, os.strerror(number)))
            return True if self.exists(path) else Absence(what=path, reason="not found")
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK))
        except OSError as error:
            return absence(path, error)
        return True


def absence(path: str, error: OSError) -> Absence:
    """Why a file could not be read."""
    reason = _REASONS.get(error.errno or 0, "failed")
    return Absence(what=path, reason=reason, detail=error.strerror or str(error))
