"""Which distributions lie in a folder of packages, and which libraries are theirs."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote, urlsplit

from preflight.auditing.library_names import is_library_name, module_name
from preflight.auditing.roots import Root

_HEADER = {
    key: re.compile(rf"^{key}:[ \t]*(\S.*?)\s*$", re.MULTILINE) for key in ("Name", "Version")
}
_NOT_SOURCE = frozenset({"build", "dist", "node_modules"})
MOST_FOLDERS = 200_000
"""How many folders of a site or checkout are walked."""


@dataclass(frozen=True, kw_only=True)
class FoundFile:
    """A file that should be a library."""

    path: Path
    recorded_bytes: int | None = None


@dataclass(frozen=True, kw_only=True)
class Found:
    """A distribution, by its metadata."""

    name: str
    version: str
    site: Path
    files: tuple[FoundFile, ...]
    modules: frozenset[str] = frozenset()
    """Names that it can be imported by."""
    checkout: Path | None = None
    """The project's folder of an editable installation."""


@dataclass
class _Record:
    """What of a RECORD matters here."""

    files: list[FoundFile] = field(default_factory=list)
    modules: set[str] = field(default_factory=set)


def find_distributions(site: Path, root: Root) -> Iterator[Found]:
    """Distributions of one folder, sorted by name; nothing of them is imported."""
    found = [_read(one, site, root) for one in metadata.Distribution.discover(path=[str(site)])]
    yield from sorted(found, key=lambda one: one.name.lower())


def _read(distribution: metadata.Distribution, site: Path, root: Root) -> Found:
    folder = Path(str(getattr(distribution, "_path", site)))
    header = _text(distribution, "METADATA") or _text(distribution, "PKG-INFO") or ""
    head = header.partition("\n\n")[0]
    stem = re.sub(r"\.(dist|egg)-info$", "", folder.name)
    name, version = _HEADER["Name"].search(head), _HEADER["Version"].search(head)
    record = _record(distribution, site)
    checkout = _checkout(distribution, root) or _egg_checkout(folder, site)
    if checkout is not None:
        record.files += [FoundFile(path=path) for path in walk_libraries(checkout, is_source=True)]
    top_level = (_text(distribution, "top_level.txt") or "").split()
    return Found(
        name=name[1] if name else stem.partition("-")[0],
        version=version[1] if version else stem.partition("-")[2],
        site=site,
        files=tuple(record.files),
        modules=frozenset(record.modules or top_level),
        checkout=checkout,
    )


def _text(distribution: metadata.Distribution, name: str) -> str | None:
    try:
        return distribution.read_text(name)
    except (OSError, UnicodeDecodeError):
        return None  # metadata that cannot be read are as good as none: the files are looked at


def _record(distribution: metadata.Distribution, site: Path) -> _Record:
    text = _text(distribution, "RECORD")
    found = _Record()
    rows = csv.reader(text.splitlines()) if text else _installed_files(distribution)
    try:
        for row in rows:
            if row:
                _add(found, site, row[0], row[2] if len(row) > 2 else "")
    except csv.Error:
        return found  # what came before stands
    return found


def _installed_files(distribution: metadata.Distribution) -> Iterator[list[str]]:
    """Files of an egg, each from its metadata's folder on."""
    folder = Path(str(getattr(distribution, "_path", "."))).name
    for line in (_text(distribution, "installed-files.txt") or "").splitlines():
        yield [os.path.normpath(f"{folder}/{line.strip()}")]


def _add(found: _Record, site: Path, entry: str, size: str) -> None:
    folder, _, name = entry.rpartition("/")
    if is_library_name(name):
        path = Path(os.path.normpath(site / entry))
        found.files.append(
            FoundFile(path=path, recorded_bytes=int(size) if size.isdigit() else None)
        )
    if name == "__init__.py" and folder and "/" not in folder:
        found.modules.add(folder)
    elif not folder:
        module = module_name(name)
        if module is not None:
            found.modules.add(module)


def _checkout(distribution: metadata.Distribution, root: Root) -> Path | None:
    """The project's folder of an editable installation (PEP 610)."""
    text = _text(distribution, "direct_url.json")
    try:
        told = json.loads(text or "{}")
        editable = told.get("dir_info", {}).get("editable")
        address = urlsplit(told.get("url", ""))
    except (ValueError, AttributeError):
        return None
    if editable is not True or address.scheme != "file":
        return None
    folder = root.at(unquote(address.path))
    return folder if folder.is_dir() else None


def _egg_checkout(folder: Path, site: Path) -> Path | None:
    """The project's folder where its metadata lie beside its source (``setup.py develop``)."""
    is_site = site.name in ("site-packages", "dist-packages")
    return site if folder.suffix == ".egg-info" and folder.is_dir() and not is_site else None


def walk_libraries(folder: Path, *, is_source: bool = False) -> Iterator[Path]:
    """Files below a folder that should be libraries, and folders with such a name.

    Links to folders are not followed. What a checkout keeps of earlier builds is left out.
    """
    left = MOST_FOLDERS
    for here, folders, files in os.walk(folder):
        left -= 1
        if left < 0:
            return
        yield from (
            Path(here, name) for name in sorted([*files, *folders]) if is_library_name(name)
        )
        folders[:] = sorted(
            name
            for name in folders
            if name != "__pycache__"
            and not is_library_name(name)
            and not (is_source and (name in _NOT_SOURCE or name.startswith(".")))
        )


def linked_folders(folder: Path, root: Root) -> list[Path]:
    """Folders that a site has by a link at its top."""
    try:
        links = sorted(path for path in folder.iterdir() if path.is_symlink())
    except OSError:
        return []
    return [real for real in map(root.real, links) if real.is_dir()]
