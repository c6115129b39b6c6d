"""Symbols that one library lacks and another one has."""

from __future__ import annotations

import struct

import pytest

from preflight.compat.dynamic import DynamicError
from preflight.compat.sections import read_sections, section
from preflight.compat.symbols import OF_TORCH, SymbolTable, gnu_hash, undefined_symbols

from .binaries import elf, library

NEW = "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs"
NAMES = [f"_ZN2at6Tensor{index}Ev" for index in range(40)]


def table(data: bytes) -> SymbolTable:
    """The table of these bytes."""
    return SymbolTable(data, read_sections(data))


def test_the_hash_is_that_of_the_linker() -> None:
    """Values that GNU ld and glibc agree on."""
    assert (gnu_hash(""), gnu_hash("printf"), gnu_hash("exit")) == (0x1505, 0x156B2BB8, 0x7C967E3F)


def test_every_defined_name_is_found_and_no_other() -> None:
    """The table is asked by hash, as the loader does it."""
    found = table(library(defined=NAMES, undefined=[NEW]))
    assert found.missing([*NAMES, NEW, "_ZN2at6Tensor40Ev", ""]) == (NEW, "_ZN2at6Tensor40Ev", "")


def test_undefined_names_of_torch() -> None:
    """Only names of torch that must be there: not weak ones, not those of others."""
    data = library(
        undefined=[NEW, "memcpy", "_ZTIN5torch8autograd4NodeE", "aoti_torch_empty_strided"],
        weak=["_ZN3c104weakEv"],
        defined=NAMES,
    )
    assert undefined_symbols(data, read_sections(data), OF_TORCH) == (
        NEW,
        "_ZTIN5torch8autograd4NodeE",
        "aoti_torch_empty_strided",
    )


@pytest.mark.parametrize(
    ("name", "is_torchs"),
    [
        ("_ZNK3c1010TensorImpl4sizeEv", True),
        ("_ZN2at4_ops10empty_like4callERKNS_6TensorE", True),
        ("_ZTVN5torch8autograd12AutogradMetaE", True),
        ("_ZN6vision3ops3nmsERKN2at6TensorES4_d", False),
        ("_ZN10torchaudio3ffmpegEv", False),
        ("_ZN3c1x4nameEv", False),
        ("torch_shm_manager", False),
    ],
)
def test_names_of_torch(name: str, is_torchs: bool) -> None:
    """The namespace counts, not the arguments, and not a name that only begins alike."""
    assert (OF_TORCH.match(name) is not None) is is_torchs


def test_a_library_without_symbols_lacks_none() -> None:
    """Without a table nothing is undefined, and nothing can be asked."""
    data = elf({".text": b"\x90"})
    assert undefined_symbols(data, read_sections(data), OF_TORCH) == ()
    with pytest.raises(DynamicError):
        table(data)


def _altered(name: str, at: int, layout: str, value: int) -> bytes:
    data = bytearray(library(defined=NAMES))
    place = section(read_sections(bytes(data)), name)
    assert place is not None
    for field in range(
        place.offset + at, place.end if layout == "<I*" else place.offset + at + 1, 4
    ):
        struct.pack_into("<I", data, field, value)
    return bytes(data)


@pytest.mark.parametrize(
    "data",
    [
        _altered(".gnu.hash", 0, "<I", 0),
        _altered(".gnu.hash", 0, "<I", 2**31),
        _altered(".gnu.hash", 8, "<I", 2**31),
        _altered(".gnu.hash", 24, "<I*", 2**31),
    ],
)
def test_lies_are_found(data: bytes) -> None:
    """A table without buckets, or one that points outside of itself, is an error."""
    with pytest.raises(DynamicError):
        table(data).missing(NAMES)


def test_a_bucket_without_end_is_left() -> None:
    """A chain that nothing ends stops at the end of its section."""
    data = bytearray(library(defined=NAMES))
    place = section(read_sections(bytes(data)), ".gnu.hash")
    assert place is not None
    for at in range(place.offset + 16 + 8 + 12, place.end, 4):
        data[at] &= 0xFE
    with pytest.raises(DynamicError, match="outside"):
        table(bytes(data)).defines("_ZN2at6Tensor40Ev")
