"""Writes the files of a machine that does not exist below a folder."""

from __future__ import annotations

import json
import os
import posixpath
from pathlib import Path
from typing import Any

from preflight.hardware.files import STAND_INS


class Tree:
    """A folder that ``Files`` reads as a machine; several writers may share it.

    Paths are absolute, as on the machine. Links are relative, so that the folder can be moved.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)

    def folder(self, path: str) -> None:
        """An empty folder, unless it is there."""
        self._at(path).mkdir(parents=True, exist_ok=True)

    def text(self, path: str, text: object) -> None:
        """A file of one value or of lines, as the kernel ends them."""
        self.data(path, f"{text}\n".encode())

    def data(self, path: str, data: bytes) -> None:
        """A file of bytes."""
        where = self._at(path)
        where.parent.mkdir(parents=True, exist_ok=True)
        where.write_bytes(data)

    def lines(self, path: str, lines: list[str]) -> None:
        """Lines to add to a file, which another writer may have begun."""
        where = self._at(path)
        before = where.read_text(encoding="utf-8").splitlines() if where.exists() else []
        self.text(path, "\n".join([*before, *(line for line in lines if line not in before)]))

    def link(self, path: str, target: str) -> None:
        """A link to ``target``, an absolute path; what is there already stays."""
        where = self._at(path)
        where.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(where):
            where.symlink_to(posixpath.relpath(target, posixpath.dirname(path)))

    def word(self, path: str, word: str) -> None:
        """A link that is no path: ``pid:[4026531836]``; what is there already stays."""
        where = self._at(path)
        where.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(where):
            where.symlink_to(word)

    def move(self, path: str, target: str) -> None:
        """A folder that another writer has made, to where it belongs."""
        where = self._at(target)
        where.parent.mkdir(parents=True, exist_ok=True)
        self._at(path).rename(where)

    def is_folder(self, path: str) -> bool:
        """Whether another writer has made a folder there, and no link."""
        return self._at(path).is_dir() and not self._at(path).is_symlink()

    def stand_in(self, kind: str, path: str, value: Any) -> None:
        """What no folder can hold, added to what others wrote: see ``Files``."""
        where = self.root / STAND_INS
        found = json.loads(where.read_text(encoding="utf-8")) if where.exists() else {}
        found.setdefault(kind, {})[path] = value
        where.write_text(json.dumps(found, indent=1, sort_keys=True), encoding="utf-8")

    def _at(self, path: str) -> Path:
        return self.root / path.lstrip("/")
