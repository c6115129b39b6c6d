"""Sections of a shared library, ELF or PE, by name: where they lie, and nothing else.

Sources: System V ABI, "ELF-64 Object File Format"; Microsoft, "PE Format". Every number that the
file claims is held against its size before it is used.
"""

from __future__ import annotations

import struct

import msgspec

from preflight.compat.buffers import Buffer

_ELF = b"\x7fELF"
_ELF_64, _LITTLE = 2, 1
_ELF_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_ELF_SECTION = struct.Struct("<IIQQQQIIQQ")
_NOBITS = 8
"""SHT_NOBITS: a section without bytes in the file."""
_EXTENDED = 0xFFFF
"""SHN_XINDEX: the number stands in the first section header."""
_PE_AT = 0x3C
_PE = b"PE\0\0"
_PE_HEADER = struct.Struct("<HHIIIHH")
_PE_SECTION = struct.Struct("<8sIIIIIIHHI")
MOST_SECTIONS = 100_000
MOST_NAMES_BYTES = 8 * 1024 * 1024
MOST_HEADER_BYTES = 1024
"""Of one section header; the format has 64."""


class SectionError(ValueError):
    """A library whose tables lie; the text says where."""


class NoLibraryError(SectionError):
    """A file that is neither ELF nor PE, or ELF for another kind of machine."""


class Section(msgspec.Struct, frozen=True, kw_only=True):
    """One section."""

    name: str
    offset: int
    """In the file."""
    num_bytes: int

    @property
    def end(self) -> int:
        """Where it ends in the file."""
        return self.offset + self.num_bytes


def read_sections(data: Buffer) -> tuple[Section, ...]:
    """The sections of a library that have bytes in the file.

    Raises NoLibraryError for what is neither ELF with 64 bits in little endian nor PE, SectionError
    for tables that reach outside the file and for a file that begins with zeros.
    """
    head = data[:64]
    if head[:4] == _ELF:
        return _elf(data, head)
    if head[:2] == b"MZ":
        return _pe(data, head)
    if head and not head.strip(b"\0"):
        raise SectionError("it begins with zeros: its contents were never written")
    raise NoLibraryError("it is neither ELF nor PE")


def section(sections: tuple[Section, ...], name: str) -> Section | None:
    """The first of that name."""
    return next((one for one in sections if one.name == name), None)


def _elf(data: Buffer, head: bytes) -> tuple[Section, ...]:
    if len(head) < _ELF_HEADER.size:
        raise SectionError("the ELF header is cut short")
    if head[4] != _ELF_64 or head[5] != _LITTLE:
        raise NoLibraryError("it is ELF, and not of 64 bits in little endian")
    fields = _ELF_HEADER.unpack(head[: _ELF_HEADER.size])
    table, entry, count, names = fields[6], fields[11], fields[12], fields[13]
    if table == 0:
        return ()
    if not _ELF_SECTION.size <= entry <= MOST_HEADER_BYTES:
        raise SectionError(f"section headers of {entry} bytes")
    first = _elf_rows(data, table, entry, 1)[0]
    count = count or first[5]
    names = first[6] if names == _EXTENDED else names
    if count > MOST_SECTIONS or names >= count:
        raise SectionError(f"a table of {count} sections whose names are in section {names}")
    rows = _elf_rows(data, table, entry, count)
    start, size = rows[names][4], rows[names][5]
    texts = data[start : start + min(size, MOST_NAMES_BYTES)]
    return tuple(
        _section(_text(texts, row[0]), row[4], row[5], data)
        for row in rows
        if row[1] not in (0, _NOBITS) and row[5]
    )


def _elf_rows(data: Buffer, table: int, entry: int, count: int) -> list[tuple[int, ...]]:
    if table + count * entry > len(data):
        raise SectionError("the table of sections reaches outside the file: it was cut short")
    raw = data[table : table + count * entry]
    return [_ELF_SECTION.unpack_from(raw, index * entry) for index in range(count)]


def _pe(data: Buffer, head: bytes) -> tuple[Section, ...]:
    if len(head) < 64:
        raise SectionError("the DOS header is cut short")
    (at,) = struct.unpack_from("<I", head, _PE_AT)
    start = at + len(_PE) + _PE_HEADER.size
    if start > len(data) or data[at : at + len(_PE)] != _PE:
        raise SectionError("no PE header where the DOS header points")
    fields = _PE_HEADER.unpack(data[at + len(_PE) : start])
    count, table = fields[1], start + fields[5]
    end = table + count * _PE_SECTION.size
    if end > len(data):
        raise SectionError("the table of sections reaches outside the file: it was cut short")
    return tuple(
        _section(row[0].rstrip(b"\0").decode("ascii", "replace"), row[4], row[3], data)
        for row in _PE_SECTION.iter_unpack(data[table:end])
        if row[3]
    )


def _section(name: str, offset: int, num_bytes: int, data: Buffer) -> Section:
    if offset + num_bytes > len(data):
        raise SectionError(f"section {name} reaches outside the file: it was cut short")
    return Section(name=name, offset=offset, num_bytes=num_bytes)


def _text(texts: bytes, at: int) -> str:
    """A name in the table of strings, up to its zero."""
    return texts[at : at + 256].partition(b"\0")[0].decode("ascii", "replace")
