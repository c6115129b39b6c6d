"""What a library asks of the loader."""

from __future__ import annotations

import struct

import pytest

from preflight.compat.dynamic import Dynamic, DynamicError, glibc_floor, read_dynamic
from preflight.compat.sections import read_sections, section

from .binaries import elf, library, pe


def read(data: bytes) -> Dynamic | None:
    """The dynamic section of these bytes."""
    return read_dynamic(data, read_sections(data))


def test_names_and_paths() -> None:
    """Its own name, what it needs in its order, and where to look for it."""
    data = library(
        soname="libnccl.so.2",
        needed=["libcudart.so.13", "libc.so.6"],
        runpath="$ORIGIN/../lib:/opt/lib",
        versions={"libc.so.6": ["GLIBC_2.34", "GLIBC_2.2.5"], "libm.so.6": ["GLIBC_2.29"]},
        defined_versions=["libnccl.so.2", "NCCL_2"],
    )
    assert read(data) == Dynamic(
        soname="libnccl.so.2",
        needed=("libcudart.so.13", "libc.so.6"),
        runpath=("$ORIGIN/../lib", "/opt/lib"),
        needed_versions=("GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.29"),
        defined_versions=("libnccl.so.2", "NCCL_2"),
    )


def test_a_runpath_puts_the_rpath_out_of_force() -> None:
    """The loader heeds DT_RPATH only where there is no DT_RUNPATH."""
    only, both = read(library(rpath="/a")), read(library(rpath="/a", runpath="/b"))
    assert only is not None and both is not None
    assert (only.rpath, only.runpath) == (("/a",), ())
    assert (both.rpath, both.runpath) == ((), ("/b",))


@pytest.mark.parametrize("data", [elf({".text": b"\x90" * 8}), pe({".text": b"\x90" * 8})])
def test_a_library_without_a_dynamic_section(data: bytes) -> None:
    """Windows has none, and neither has a file that was linked statically."""
    assert read(data) is None


@pytest.mark.parametrize(
    ("versions", "floor"),
    [
        (("GLIBC_2.2.5", "GLIBC_2.34", "GLIBC_2.9"), (2, 34)),
        (("GLIBCXX_3.4.30", "GCC_3.0", "GLIBC_PRIVATE"), None),
        (("GLIBC_2.17", "GLIBC_ABI_DT_RELR"), (2, 36)),
        ((), None),
    ],
)
def test_the_newest_symbol_decides(
    versions: tuple[str, ...], floor: tuple[int, int] | None
) -> None:
    """Versions are numbers: 2.34 is newer than 2.9; those of other libraries do not count."""
    assert glibc_floor(versions) == floor


def _altered(name: str, at: int, layout: str, value: int) -> bytes:
    data = bytearray(
        library(
            soname="libx.so",
            needed=["libc.so.6"],
            versions={"libc.so.6": ["GLIBC_2.34"]},
            defined_versions=["X_1"],
        )
    )
    place = section(read_sections(bytes(data)), name)
    assert place is not None
    struct.pack_into(layout, data, place.offset + at, value)
    return bytes(data)


@pytest.mark.parametrize(
    "data",
    [
        _altered(".dynamic", 8, "<Q", 2**63),
        _altered(".gnu.version_r", 8, "<I", 2**31),
        _altered(".gnu.version_r", 12, "<I", 2**31),
        _altered(".gnu.version_r", 16 + 8, "<I", 2**31),
        _altered(".gnu.version_d", 16, "<I", 2**31),
    ],
)
def test_lies_are_found(data: bytes) -> None:
    """A name or a table that lies outside of its section is an error."""
    with pytest.raises(DynamicError):
        read(data)


def test_a_table_in_a_circle_ends() -> None:
    """Records that lead back to themselves are read a bounded number of times."""
    data = _altered(".gnu.version_r", 2, "<H", 0xFFFF)
    found = read(data)
    assert found is not None
    assert len(found.needed_versions) <= 10_000
