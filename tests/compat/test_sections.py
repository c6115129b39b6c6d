"""Tables of sections, ELF and PE."""

from __future__ import annotations

import struct

import pytest

from preflight.compat.sections import NoLibraryError, SectionError, read_sections, section

from .binaries import elf, pe

ELF = elf({".text": b"\x90" * 32, ".nv_fatbin": b"\x01" * 16, ".empty": b""})
PE = pe({".text": b"\x90" * 32, ".nv_fatbin": b"\x01" * 16})


def test_sections_of_elf() -> None:
    """Each section that has bytes is told with its place."""
    found = read_sections(ELF)
    assert [one.name for one in found] == [".text", ".nv_fatbin", ".shstrtab"]
    fatbin = section(found, ".nv_fatbin")
    assert fatbin is not None
    assert ELF[fatbin.offset : fatbin.end] == b"\x01" * 16
    assert section(found, ".hip_fatbin") is None


def test_sections_of_pe() -> None:
    """PE has the same in tables of its own, with names of eight letters."""
    found = read_sections(PE)
    assert [one.name for one in found] == [".text", ".nv_fatb"]
    assert PE[found[1].offset : found[1].end] == b"\x01" * 16


def test_a_section_without_bytes_in_the_file_is_left_out() -> None:
    """SHT_NOBITS (.bss) claims memory, not bytes, whatever its size."""
    data = bytearray(ELF)
    (table,) = struct.unpack_from("<Q", data, 0x28)
    struct.pack_into("<I", data, table + 64 + 4, 8)
    struct.pack_into("<Q", data, table + 64 + 32, 1 << 50)
    assert [one.name for one in read_sections(bytes(data))] == [".nv_fatbin", ".shstrtab"]


def test_a_file_without_a_table_has_no_sections() -> None:
    """sstrip takes the table away, and the loader needs none."""
    data = bytearray(ELF)
    struct.pack_into("<Q", data, 0x28, 0)
    assert read_sections(bytes(data)) == ()


def test_many_sections_are_counted_in_the_first_one() -> None:
    """From 65280 sections on, their number and that of their names stand in the first header."""
    data = bytearray(ELF)
    (table,) = struct.unpack_from("<Q", data, 0x28)
    count, names = struct.unpack_from("<HH", data, 60)
    struct.pack_into("<HH", data, 60, 0, 0xFFFF)
    struct.pack_into("<Q", data, table + 32, count)
    struct.pack_into("<I", data, table + 40, names)
    assert read_sections(bytes(data)) == read_sections(ELF)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"#!/bin/sh\n",
        b"/* GNU ld script */ INPUT(libfoo.so.1)\n",
        b"!<arch>\n",
        b"\x7fELF" + bytes([1, 1, 1]) + b"\0" * 57,
        b"\x7fELF" + bytes([2, 2, 1]) + b"\0" * 57,
    ],
)
def test_what_is_no_library_of_this_kind(data: bytes) -> None:
    """Scripts, archives, and ELF of 32 bits or in big endian are not what we judge."""
    with pytest.raises(NoLibraryError):
        read_sections(data)


@pytest.mark.parametrize("data", [b"\0", b"\0" * 64, b"\0" * 100_000])
def test_a_file_of_zeros_is_no_accident(data: bytes) -> None:
    """A library that begins with zeros was never written to the disk."""
    with pytest.raises(SectionError, match="zeros") as caught:
        read_sections(data)
    assert not isinstance(caught.value, NoLibraryError)


@pytest.mark.parametrize("whole", [ELF, PE])
def test_a_file_cut_at_any_byte_is_an_error(whole: bytes) -> None:
    """However a library was cut, there is one kind of error and nothing else."""
    for cut in range(4, len(whole)):
        with pytest.raises(SectionError):
            read_sections(whole[:cut])


@pytest.mark.parametrize(
    ("at", "layout", "value"),
    [
        (0x28, "<Q", 1 << 60),
        (0x28, "<Q", 2**64 - 1),
        (0x3A, "<H", 8),
        (0x3A, "<H", 0xFFFF),
        (0x3C, "<H", 0xFFFF),
        (0x3E, "<H", 0x7FFF),
    ],
)
def test_lies_of_the_elf_header(at: int, layout: str, value: int) -> None:
    """A table that lies elsewhere, is of another size or has other numbers is found."""
    data = bytearray(ELF)
    struct.pack_into(layout, data, at, value)
    with pytest.raises(SectionError):
        read_sections(bytes(data))


@pytest.mark.parametrize(("field", "value"), [(24, 1 << 60), (32, 1 << 60), (32, 2**64 - 1)])
def test_a_section_outside_the_file_is_found(field: int, value: int) -> None:
    """Place and size of each section are held against the size of the file."""
    data = bytearray(ELF)
    (table,) = struct.unpack_from("<Q", data, 0x28)
    struct.pack_into("<Q", data, table + 128 + field, value)
    with pytest.raises(SectionError, match=r"\.nv_fatbin reaches outside"):
        read_sections(bytes(data))


@pytest.mark.parametrize(
    ("at", "layout", "value"),
    [(0x3C, "<I", 2**32 - 1), (0x3C, "<I", 0), (70, "<H", 0xFFFF), (84, "<H", 0xFFFF)],
)
def test_lies_of_the_pe_header(at: int, layout: str, value: int) -> None:
    """A header elsewhere, more sections than there are, and a table elsewhere are found."""
    data = bytearray(PE)
    struct.pack_into(layout, data, at, value)
    with pytest.raises(SectionError):
        read_sections(bytes(data))
