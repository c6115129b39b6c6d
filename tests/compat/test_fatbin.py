"""Fat binaries of CUDA, read from their bytes."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from preflight.compat.fatbin import (
    MOST_ENTRIES,
    MOST_PADDING,
    FatbinError,
    read_fatbin,
    read_fatbins,
)

from .binaries import LZ4, ZSTD, entry, fatbin

# Headers that nvcc 13.0 wrote, as it wrote them.
SEEN = {
    "sm_80": "02000101 40000000 a80c0000 00000000 00000000 00000000 08000100 50000000 "
    "00000000 00000000 11000000 00000000",
    "sm_90a": "02000101 40000000 000f0000 00000000 00000000 00000000 08000100 5a000000 "
    "00000000 00000000 11001000 00000000",
    "sm_100": "02000101 70000000 30160000 00000000 00000000 40000000 08000100 64000000 "
    "00000000 00000000 11000001 00000000",
    "sm_100a": "02000101 70000000 30160000 00000000 00000000 40000000 08000100 64000000 "
    "00000000 00000000 11001001 00000000",
    "sm_100f": "02000101 70000000 30160000 00000000 00000000 40000000 08000100 64000000 "
    "00000000 00000000 11002001 00000000",
    "compute_90a": "01000101 50000000 78010000 00000000 77010000 40000000 00000900 5a000000 "
    "00000000 00000000 11801000 00000000",
}


@pytest.mark.parametrize("target", SEEN)
def test_what_nvcc_writes_is_read(target: str) -> None:
    """Kind, number and suffix stand in the header of an entry."""
    header = bytes.fromhex(SEEN[target])
    size, payload = struct.unpack_from("<IQ", header, 4)
    data = header.ljust(size, b"\0") + b"\x55" * payload
    (found,) = read_fatbins(fatbin(data))
    (code,) = found.codes
    assert code.target == target
    assert code.isa == ("9.0" if target.startswith("compute") else None)
    assert code.is_compressed is target.startswith("compute")
    assert code.offset == 16 + size


def test_every_fat_binary_is_kept_apart() -> None:
    """A section holds one for each translation unit, with zeros up to the next multiple of 8."""
    first, second = fatbin("sm_80", entry("sm_90a", payload=b"\x01" * 61)), fatbin("compute_75")
    data = first + b"\0" * (-len(first) % 8) + b"\0" * 4096 + second + b"\0" * 40
    found = list(read_fatbins(data))
    assert [[code.target for code in one.codes] for one in found] == [
        ["sm_80", "sm_90a"],
        ["compute_75"],
    ]
    assert [one.offset for one in found] == [0, len(data) - 40 - len(second)]
    assert found[0].num_bytes == len(first)


@pytest.mark.parametrize("flags", [0, LZ4, ZSTD])
def test_compression_hides_no_target(flags: int) -> None:
    """Whatever the payload is packed with, the architecture is told in the clear."""
    (found,) = read_fatbins(fatbin(entry("sm_103f", flags=flags)))
    assert [(c.target, c.is_compressed) for c in found.codes] == [("sm_103f", bool(flags))]


def test_kinds_that_are_not_known_are_passed_over() -> None:
    """An entry of another kind has its length, too, and is no code that we could judge."""
    other = bytearray(entry("sm_90"))
    other[0] = 64
    (found,) = read_fatbins(fatbin(bytes(other), "sm_75"))
    assert [code.target for code in found.codes] == ["sm_75"]


def _claims(at: int, layout: str, value: int) -> Callable[[bytearray], None]:
    return lambda data: struct.pack_into(layout, data, at, value)


LIES = {
    "another magic": _claims(0, "<I", 0xBA55ED51),
    "another version": _claims(4, "<H", 2),
    "a header of no size": _claims(6, "<H", 0),
    "more bytes than there are": _claims(8, "<Q", 1 << 40),
    "an entry's header of no size": _claims(20, "<I", 0),
    "an entry's header beyond its end": _claims(20, "<I", 4000),
    "an entry's payload beyond its end": _claims(24, "<Q", 1 << 62),
    "an entry's payload of all numbers": _claims(24, "<Q", 2**64 - 1),
}


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_found(lie: str) -> None:
    """A number that contradicts the bytes ends the reading with where it stands."""
    data = bytearray(fatbin("sm_80", "sm_90"))
    LIES[lie](data)
    with pytest.raises(FatbinError, match="0x"):
        list(read_fatbins(bytes(data)))


def test_what_came_before_a_lie_is_given() -> None:
    """The reader gives the whole ones first."""
    data = fatbin("sm_80") + b"\x99" * 64
    reader = read_fatbins(data)
    assert [code.target for code in next(reader).codes] == ["sm_80"]
    with pytest.raises(FatbinError, match="no fat binary begins"):
        next(reader)


def test_a_file_that_was_cut_is_found_at_every_byte() -> None:
    """However it was cut, there is an error and nothing else."""
    data = fatbin("sm_80", "compute_90")
    for cut in range(1, len(data)):
        with pytest.raises(FatbinError):
            list(read_fatbins(data[:cut]))


def test_a_section_of_zeros_is_not_read_to_its_end() -> None:
    """Zeros beyond any padding mean that the file was never written."""
    with pytest.raises(FatbinError, match="zeros from"):
        list(read_fatbins(b"\0" * (MOST_PADDING + 8192)))


def test_the_number_of_entries_is_bounded() -> None:
    """Entries without a payload, put there to keep a reader busy, end in an error."""
    data = fatbin(*[entry("sm_80", payload=b"")] * (MOST_ENTRIES + 1))
    with pytest.raises(FatbinError, match="more than"):
        read_fatbin(data, 0, len(data))
