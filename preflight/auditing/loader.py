"""Where the loader would find a library, without loading it.

Source: ld.so(8): DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH, then the folders of /etc/ld.so.conf and
the standard ones. The cache is not read: it is made of these.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from preflight.auditing.roots import Root
from preflight.compat.dynamic import Dynamic

_STANDARD = (
    *("lib64", "usr/lib64", "lib", "usr/lib"),
    *("lib/x86_64-linux-gnu", "usr/lib/x86_64-linux-gnu"),
    *("lib/aarch64-linux-gnu", "usr/lib/aarch64-linux-gnu"),
)
_LIB = ("lib64", "lib", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu")
"""What ``$LIB`` can mean."""
_MOST_CONF_BYTES = 64 * 1024
_MOST_INCLUDES = 200


class Loader:
    """Looks for libraries below a root."""

    def __init__(self, root: Root, library_path: Sequence[Path] = ()) -> None:
        self.root = root
        self._library_path = tuple(library_path)
        self._names: dict[Path, frozenset[str]] = {}
        self.system = tuple(dict.fromkeys([*_configured(root), *map(root.at, _STANDARD)]))
        """Folders that every program looks in."""

    def find(self, soname: str, path: Path, dynamic: Dynamic) -> tuple[Path, str] | None:
        """What the library at ``path`` gets for a name, and what leads there; None for nothing.

        Paths that the programs before it in the chain bring along are not known, so DT_RPATH of
        others is left out.
        """
        if "/" in soname:
            found = self.root.real(Path(self._expand(soname, path)[0]))
            return (found, "its own path") if found.exists() else None
        steps: tuple[tuple[str, Iterator[Path]], ...] = (
            ("RPATH", self._folders(dynamic.rpath, path)),
            ("LD_LIBRARY_PATH", iter(self._library_path)),
            ("RUNPATH", self._folders(dynamic.runpath, path)),
            ("the system", iter(self.system)),
        )
        for because, folders in steps:
            for folder in folders:
                if soname in self._listed(folder):
                    return folder / soname, because
        return None

    def is_same(self, one: Path, other: Path) -> bool:
        """Whether two paths are one file, by a hard link or a mount."""
        try:
            return one.samefile(other)
        except OSError:
            return False

    def _folders(self, entries: Sequence[str], path: Path) -> Iterator[Path]:
        for entry in entries:
            for text in self._expand(entry, path):
                yield Path(os.path.normpath(text))

    def _expand(self, entry: str, path: Path) -> list[str]:
        for name in ("$ORIGIN", "${ORIGIN}"):
            if entry.startswith(name):
                return self._with_lib(str(path.parent) + entry[len(name) :])
        return self._with_lib(str(self.root.folder / entry.lstrip("/")))

    def _with_lib(self, text: str) -> list[str]:
        if "$LIB" not in text and "${LIB}" not in text:
            return [text]
        return [text.replace("${LIB}", lib).replace("$LIB", lib) for lib in _LIB]

    def _listed(self, folder: Path) -> frozenset[str]:
        if folder not in self._names:
            try:
                names = (path.name for path in self.root.real(folder).iterdir())
                self._names[folder] = frozenset(names)
            except OSError:
                self._names[folder] = frozenset()  # no such folder: the loader goes on, too
        return self._names[folder]


def _configured(root: Root) -> Iterator[Path]:
    """Folders of /etc/ld.so.conf and of what it includes."""
    waiting, seen = [root.at("etc/ld.so.conf")], 0
    while waiting and seen < _MOST_INCLUDES:
        seen += 1
        for line in _lines(waiting.pop(0)):
            if line.startswith("include"):
                pattern = line.partition("include")[2].strip()
                waiting += root.glob(pattern if pattern.startswith("/") else f"etc/{pattern}")
            else:
                yield root.at(line)


def _lines(path: Path) -> list[str]:
    try:
        with path.open("rb") as stream:
            text = stream.read(_MOST_CONF_BYTES).decode("utf-8", "replace")
    except OSError:
        return []
    stripped = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in stripped if line]
