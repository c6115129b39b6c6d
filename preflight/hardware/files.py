"""The files of the kernel, below a root folder, so that a folder of files is a machine too."""

from __future__ import annotations

import errno
import json
import os
import stat
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from preflight.facts import Absence

ROOT = Path("/")
STAND_INS = "preflight-simulated.json"
"""Below the root of a simulated machine: what a plain folder cannot hold."""
_REASONS = {
    errno.ENOENT: "not found",
    errno.ENOTDIR: "not found",
    errno.ENODEV: "not found",
    errno.ENXIO: "not found",
    errno.ENAMETOOLONG: "not found",
    errno.EACCES: "no permission",
    errno.EPERM: "no permission",
    errno.EOPNOTSUPP: "not supported",
}

_MOST_LINKS = 40
"""Links on one path, as in the kernel (MAXSYMLINKS of linux/namei.h); more is a circle."""
_MOST_READS = 500_000
"""Reads of one log: /dev/kmsg gives a record each, and a busy one must not keep us for ever."""


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
        self._stand_ins = {} if self.is_real else _stand_ins(root / STAND_INS)

    def at(self, path: str) -> Path:
        """Where ``path`` really is; links below another root never lead out of it.

        Raises OSError for links that lead in a circle.
        """
        return self._below(path)

    def text(self, path: str) -> str | Absence:
        """Contents without blanks at either end."""
        try:
            return self.at(path).read_text(encoding="utf-8", errors="replace").strip()
        except (OSError, ValueError) as error:
            return absence(path, error)

    def whole(self, path: str) -> int | Absence:
        """A file that holds one integer of 64 bits, decimal or ``0x``."""
        found = self.text(path)
        if isinstance(found, Absence):
            return found
        try:
            number = int(found, 0) if found.lower().startswith("0x") else int(found)
        except ValueError:
            number = None
        if number is None or not -(2**63) <= number < 2**64:
            return Absence(what=path, reason="not readable", detail=f"{found[:80]!r} is no number")
        return number

    def raw(self, path: str, most_bytes: int) -> bytes | Absence:
        """The first bytes of a binary file, such as the configuration space of a PCI device."""
        try:
            with self.at(path).open("rb") as file:
                return file.read(most_bytes)
        except (OSError, ValueError) as error:
            return absence(path, error)

    def tail(self, path: str, most_bytes: int) -> bytes | Absence:
        """The last bytes of a log; one that would block, /dev/kmsg, is read to where it would."""
        try:
            opened = os.open(self.at(path), os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        except (OSError, ValueError) as error:
            return absence(path, error)
        try:
            state = os.fstat(opened)
            if stat.S_ISREG(state.st_mode):
                os.lseek(opened, max(0, state.st_size - most_bytes), os.SEEK_SET)
            return _drain(opened, most_bytes)
        except OSError as error:
            return absence(path, error)
        finally:
            os.close(opened)

    def names(self, path: str) -> tuple[str, ...] | Absence:
        """Names in a folder, sorted; those that are no text are left out."""
        try:
            found = [entry.name for entry in self.at(path).iterdir()]
        except (OSError, ValueError) as error:
            return absence(path, error)
        return tuple(sorted(name for name in found if as_text(name) == name))

    def exists(self, path: str) -> bool:
        """Whether there is such a file or folder, as far as we may look."""
        try:
            self.at(path).stat()
        except (OSError, ValueError):
            return False
        return True

    def target(self, path: str) -> str | Absence:
        """Last name of what a link points to: ``nvidia`` of a device's ``driver``."""
        try:
            return as_text(self._below(path, follow_last=False).readlink().name)
        except (OSError, ValueError) as error:
            return absence(path, error)

    def resolved(self, path: str) -> str | Absence:
        """The path without links, as this machine would name it; the end need not exist."""
        try:
            if self.is_real:
                return os.path.realpath(path)
            return "/" + str(self._below(path).relative_to(self.root))
        except (OSError, ValueError) as error:
            return absence(path, error)

    def space(self, path: str) -> Space | Absence:
        """Room of the file system at ``path``; may block where a server does not answer."""
        if not self.is_real:
            return self._stand_in_space(path)
        try:
            found = os.statvfs(path)
        except (OSError, ValueError) as error:
            return absence(path, error)
        return Space(
            size_bytes=found.f_frsize * found.f_blocks, free_bytes=found.f_frsize * found.f_bavail
        )

    def opens(self, path: str) -> bool | Absence:
        """True where ``path`` can be opened for reading and writing; else why not."""
        if not self.is_real:
            number = self._stand_in("opening", path)
            if isinstance(number, Absence):
                return number
            if isinstance(number, int):
                return absence(path, OSError(number, os.strerror(number)))
            return True if self.exists(path) else Absence(what=path, reason="not found")
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK))
        except (OSError, ValueError) as error:
            return absence(path, error)
        return True

    def _below(self, path: str, *, follow_last: bool = True) -> Path:
        """``path`` below the root, its links followed as if the root were ``/``."""
        if self.is_real:
            return self.root / path.lstrip("/")
        here: list[str] = []
        left = path.split("/")[::-1]
        links = 0
        while left:
            part = left.pop()
            if part == "..":
                del here[-1:]
            elif part not in ("", "."):
                here.append(part)
                link = self._link(here) if left or follow_last else None
                if link is not None:
                    links += 1
                    if links > _MOST_LINKS:
                        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                    here = [] if link.startswith("/") else here[:-1]
                    left += link.split("/")[::-1]
        return self.root.joinpath(*here)

    def _link(self, parts: list[str]) -> str | None:
        """What the link of these parts points to, as seen from the root; None for no link."""
        path = self.root.joinpath(*parts)
        if not path.is_symlink():
            return None
        link = str(path.readlink())
        inside = f"{self.root}/"
        return "/" + link.removeprefix(inside) if link.startswith(inside) else link

    def _stand_in(self, kind: str, path: str) -> Any:
        """What stands there for ``path``; an Absence where the file of stand-ins is broken."""
        if isinstance(self._stand_ins, Absence):
            return self._stand_ins
        entries = self._stand_ins.get(kind)
        return entries.get(path) if isinstance(entries, dict) else None

    def _stand_in_space(self, path: str) -> Space | Absence:
        pair = self._stand_in("space", path)
        if pair is None:
            return Absence(what=path, reason="not found")
        if isinstance(pair, Absence):
            return pair
        try:
            return Space(size_bytes=int(pair[0]), free_bytes=int(pair[1]))
        except (TypeError, ValueError, LookupError):
            return Absence(what=path, reason="not readable", detail=f"{pair!r} is no size and room")


THIS_MACHINE = Files()
"""The machine that this process runs on."""


def as_text(name: str) -> str:
    """A name with escapes for what stands for bytes that are no text, so that it can be kept."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def absence(path: str, error: OSError | ValueError) -> Absence:
    """Why a file could not be read; a ValueError is a path that no file can have."""
    if not isinstance(error, OSError):
        return Absence(what=path, reason="not readable", detail=str(error))
    reason = _REASONS.get(error.errno or 0, "failed")
    return Absence(what=path, reason=reason, detail=error.strerror or str(error))


def _drain(opened: int, most_bytes: int) -> bytes:
    """What can be read without waiting, its last ``most_bytes``."""
    pieces: deque[bytes] = deque()
    size = 0
    for _ in range(_MOST_READS):
        try:
            piece = os.read(opened, 64 * 1024)
        except BlockingIOError:
            break
        except BrokenPipeError:
            continue  # /dev/kmsg: the record was overwritten, the next read goes on after it
        if not piece:
            break
        pieces.append(piece)
        size += len(piece)
        while size - len(pieces[0]) >= most_bytes:
            size -= len(pieces.popleft())
    return b"".join(pieces)[-most_bytes:]


def _stand_ins(path: Path) -> dict[str, Any] | Absence:
    """The stand-ins of a simulated machine; a folder of captured files has none."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        return absence(STAND_INS, error)
    if not isinstance(found, dict):
        return Absence(what=STAND_INS, reason="not readable", detail="no JSON object")
    return found
