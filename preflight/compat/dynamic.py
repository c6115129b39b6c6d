"""What a shared library asks of the loader, read without loading it.

Sources: System V ABI, "Dynamic Section"; Linux Standard Base, "Symbol Versioning". Only the tables
are read, and every number that the file claims is held against its size.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

import msgspec

from preflight.compat.buffers import Buffer
from preflight.compat.sections import Section, section

_ENTRY = struct.Struct("<qQ")
_NULL, _NEEDED, _SONAME, _RPATH, _RUNPATH = 0, 1, 14, 15, 29
_VERNEED = struct.Struct("<HHIII")
"""Version, number of names, file, offset of the first name, offset of the next one."""
_VERNAUX = struct.Struct("<IHHII")
"""Hash, flags, number, name, offset of the next one."""
_VERDEF = struct.Struct("<HHHHIII")
"""Version, flags, number, number of names, hash, offset of the first name, of the next one."""
MOST_ENTRIES = 10_000
MOST_TEXT_BYTES = 4096
_GLIBC = re.compile(r"GLIBC_(\d+)\.(\d+)(?:\.\d+)?")
_RELATIVE = {"GLIBC_ABI_DT_RELR": (2, 36)}
"""A version that names a feature, and the glibc that brought it."""


class DynamicError(ValueError):
    """A dynamic section that cannot be read; the text says why."""


class Dynamic(msgspec.Struct, frozen=True, kw_only=True):
    """The dynamic section of one library."""

    soname: str | None = None
    needed: tuple[str, ...] = ()
    """DT_NEEDED, in the order in which the loader looks for them: ``libcudart.so.13``."""
    rpath: tuple[str, ...] = ()
    """DT_RPATH, which comes before LD_LIBRARY_PATH; empty where there is a DT_RUNPATH."""
    runpath: tuple[str, ...] = ()
    """DT_RUNPATH, which comes after it."""
    needed_versions: tuple[str, ...] = ()
    """Versions of symbols that other libraries must have: ``GLIBC_2.34``."""
    defined_versions: tuple[str, ...] = ()
    """Versions that it defines itself."""


def read_dynamic(data: Buffer, sections: tuple[Section, ...]) -> Dynamic | None:
    """The dynamic section; None for a library that has none, such as one of Windows.

    Raises DynamicError for tables that lie.
    """
    table, texts = section(sections, ".dynamic"), section(sections, ".dynstr")
    if table is None or texts is None:
        return None
    named: dict[int, list[str]] = {}
    for tag, value in _entries(data, table):
        if tag in (_NEEDED, _SONAME, _RPATH, _RUNPATH):
            named.setdefault(tag, []).append(text_at(data, texts, value))
    runpath = _paths(named.get(_RUNPATH, []))
    return Dynamic(
        soname=next(iter(named.get(_SONAME, [])), None),
        needed=tuple(named.get(_NEEDED, [])),
        rpath=() if runpath else _paths(named.get(_RPATH, [])),
        runpath=runpath,
        needed_versions=tuple(
            text_at(data, texts, name) for name in _needed_versions(data, sections)
        ),
        defined_versions=tuple(
            text_at(data, texts, name) for name in _defined_versions(data, sections)
        ),
    )


def glibc_floor(versions: tuple[str, ...]) -> tuple[int, int] | None:
    """Highest glibc among versions of symbols: (2, 34); None where there is none."""
    found = []
    for version in versions:
        match = _GLIBC.fullmatch(version)
        if match:
            found.append((int(match[1]), int(match[2])))
        elif version in _RELATIVE:
            found.append(_RELATIVE[version])
    return max(found, default=None)


def text_at(data: Buffer, texts: Section, offset: int) -> str:
    """A text of a string table; raises DynamicError for one outside it."""
    if not 0 <= offset < texts.num_bytes:
        raise DynamicError(f"a name at {offset:#x} outside of {texts.name}")
    start = texts.offset + offset
    raw = data[start : min(start + MOST_TEXT_BYTES, texts.end)]
    return raw.partition(b"\0")[0].decode("utf-8", "replace")


def _entries(data: Buffer, table: Section) -> Iterator[tuple[int, int]]:
    size = min(table.num_bytes // _ENTRY.size, MOST_ENTRIES) * _ENTRY.size
    for tag, value in _ENTRY.iter_unpack(data[table.offset : table.offset + size]):
        if tag == _NULL:
            return
        yield tag, value


def _paths(texts: list[str]) -> tuple[str, ...]:
    return tuple(path for text in texts for path in text.split(":") if path)


def _needed_versions(data: Buffer, sections: tuple[Section, ...]) -> Iterator[int]:
    """Offsets of the names in the table of versions that are needed."""
    table = section(sections, ".gnu.version_r")
    for at, (_, count, _, first, _) in _chain(data, table, _VERNEED):
        place = at + first
        for _ in range(min(count, MOST_ENTRIES)):
            _, _, _, name, step = _record(data, table, _VERNAUX, place)
            yield name
            place += step


def _defined_versions(data: Buffer, sections: tuple[Section, ...]) -> Iterator[int]:
    """Offsets of the names of the versions that it defines: the first name of each."""
    table = section(sections, ".gnu.version_d")
    for at, (_, _, _, _, _, first, _) in _chain(data, table, _VERDEF):
        yield int.from_bytes(data[at + first : at + first + 4], "little")


def _chain(
    data: Buffer, table: Section | None, record: struct.Struct
) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Records that name the distance to the next one in their last field, 0 at the end."""
    if table is None:
        return
    at = table.offset
    for _ in range(MOST_ENTRIES):
        fields = _record(data, table, record, at)
        yield at, fields
        if not fields[-1]:
            return
        at += fields[-1]


def _record(data: Buffer, table: Section | None, record: struct.Struct, at: int) -> tuple[int, ...]:
    if table is None or not table.offset <= at <= table.end - record.size:
        raise DynamicError("a table of versions points outside itself")
    return record.unpack(data[at : at + record.size])
