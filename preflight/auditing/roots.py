"""Paths below a root folder, so that an unpacked image is read like a machine.

A link of an image that begins with a slash means the image's own folder; followed as it stands, it
would lead into the machine that looks.
"""

from __future__ import annotations

import fnmatch
import os
from pathlib import Path

MOST_LINKS = 40
"""As many as Linux follows."""


def printable(path: str) -> str:
    """A path as valid text: bytes of it that are none are written as escapes."""
    return path.encode("utf-8", "backslashreplace").decode()


class Root:
    """The root folder of a machine or of an unpacked image."""

    def __init__(self, folder: Path = Path("/")) -> None:
        self.folder = folder
        self.is_machine = folder == Path("/")

    def at(self, path: str) -> Path:
        """Where a path of the image really lies, links followed inside of it."""
        return self.real(self.folder / path.lstrip("/"))

    def shown(self, path: Path) -> str:
        """A path as the image itself calls it."""
        if self.is_machine:
            return str(path)
        try:
            return f"/{path.relative_to(self.folder)}"
        except ValueError:
            return str(path)

    def glob(self, pattern: str) -> list[Path]:
        """Where paths really lie that match, sorted; ``*`` stands for names of one folder."""
        places = [self.folder]
        for part in pattern.strip("/").split("/"):
            places = [found for place in places for found in self._matching(place, part)]
        return sorted(places)

    def _matching(self, folder: Path, part: str) -> list[Path]:
        if "*" not in part:
            names = [part]
        else:
            try:
                names = [e.name for e in folder.iterdir() if fnmatch.fnmatchcase(e.name, part)]
            except OSError:
                return []  # no folder, or one that this user may not read
        return [real for real in (self.real(folder / name) for name in names) if real.exists()]

    def real(self, path: Path) -> Path:
        """A path with every link followed; one in a circle is returned as it is.

        What lies above the root is looked for below it, as the image's own programs would.
        """
        if self.is_machine:
            return Path(os.path.realpath(path))
        if not path.is_relative_to(self.folder):
            path = self.folder / str(path).lstrip("/")
        done, left = self.folder, list(path.relative_to(self.folder).parts)
        for _ in range(len(left) + 64 * MOST_LINKS):
            if not left:
                return done
            part = left.pop(0)
            if part == "..":
                done = self.folder if done == self.folder else done.parent
                continue
            step = done / part
            if not step.is_symlink():
                done = step
                continue
            target = Path(os.readlink(step))  # noqa: PTH115 - readlink of Path is the same
            if target.is_absolute():
                done = self.folder
            left = [p for p in target.parts if p not in ("/", ".")] + left
        return path
