"""One library at a time, hostile ones too."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import pytest
from compat.binaries import bundle, compressed, elf, fatbin, library, pe

from preflight.auditing.library_files import read_library
from preflight.compat.installed import Library

GOOD = library(
    soname="libx.so",
    needed=["libc.so.6"],
    versions={"libc.so.6": ["GLIBC_2.34"]},
    more={".nv_fatbin": fatbin("sm_90", "compute_90")},
)


def read(path: Path) -> Library:
    """The library at a path."""
    return read_library(path, shown=path.name, is_link=path.is_symlink())


def test_device_code_and_dynamic_section_are_read_together(tmp_path: Path) -> None:
    """What it carries, what it needs, and its size."""
    path = tmp_path / "libx.so"
    path.write_bytes(GOOD)
    found = read(path)
    assert found.device.in_all == {"sm_90", "compute_90"}
    assert found.dynamic is not None and found.dynamic.needed == ("libc.so.6",)
    assert (found.num_bytes, found.absence) == (len(GOOD), None)


def test_a_windows_library_has_device_code_and_no_dynamic_section(tmp_path: Path) -> None:
    """PE files are read on Linux."""
    path = tmp_path / "x.dll"
    path.write_bytes(pe({".text": b"\x90", ".nv_fatbin": fatbin("sm_90")}))
    found = read(path)
    assert (found.device.in_all, found.dynamic) == ({"sm_90"}, None)


def test_a_library_cut_at_any_byte_is_trouble(tmp_path: Path) -> None:
    """Never an exception, and never a library without device code and without trouble."""
    path = tmp_path / "x.so"
    for cut in range(4, len(GOOD)):
        path.write_bytes(GOOD[:cut])
        assert read(path).device.trouble, cut


@pytest.mark.parametrize("seed", range(300))
def test_bytes_that_were_changed_never_end_in_an_exception(tmp_path: Path, seed: int) -> None:
    """Whatever stands in a field, there is a library, with trouble or without."""
    whole = (GOOD, elf({".hip_fatbin": compressed(bundle(["gfx942"]))}))[seed % 2]
    data = bytearray(whole)
    for step in range(1 + seed % 7):
        at = (seed * 7919 + step * 104729) % (len(data) - 8)
        value = (0, 0xFF, 0x7F, 0x80, seed % 256)[(seed + step) % 5]
        data[at : at + 1 + seed % 8] = bytes([value]) * (1 + seed % 8)
    path = tmp_path / "x.so"
    path.write_bytes(data)
    assert isinstance(read(path), Library)


def test_a_dynamic_section_that_lies_is_trouble(tmp_path: Path) -> None:
    """The device code stands, and that the rest could not be read is told."""
    data = bytearray(GOOD)
    at = bytes(data).index(struct.pack("<qQ", 1, 1))
    struct.pack_into("<Q", data, at + 8, 2**40)
    path = tmp_path / "x.so"
    path.write_bytes(data)
    found = read(path)
    assert found.device.in_all == {"sm_90", "compute_90"}
    assert "dynamic section" in found.device.trouble


@pytest.mark.parametrize("text", ["", "INPUT ( libfoo.so.1 )\n", "\n"])
def test_a_script_of_the_linker_is_no_library(tmp_path: Path, text: str) -> None:
    """It has the name of one, and nothing is wrong with it."""
    path = tmp_path / "x.so"
    path.write_text(text)
    found = read(path)
    assert (found.device.is_library, found.device.trouble, found.absence) == (False, "", None)


def test_a_file_of_zeros_is_trouble(tmp_path: Path) -> None:
    """As a full disk or a lost connection leaves it, be it 1 TiB."""
    path = tmp_path / "x.so"
    path.touch()
    os.truncate(path, 1 << 30)
    assert "zeros" in read(path).device.trouble


def test_a_section_of_zeros_is_not_read_to_its_end(tmp_path: Path) -> None:
    """A fat binary section of 1 GiB of zeros, in a sparse file, is given up at once."""
    head = bytearray(elf({".nv_fatbin": b"\0" * 64}))
    table = struct.unpack_from("<Q", head, 0x28)[0]
    struct.pack_into("<QQ", head, table + 64 + 24, 4096, 1 << 30)
    path = tmp_path / "x.so"
    path.write_bytes(head)
    os.truncate(path, (1 << 30) + 8192)
    found = read(path)
    assert (found.device.kind, "zeros from" in found.device.trouble) == ("cuda", True)


def _folder(path: Path) -> None:
    path.mkdir()


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _nowhere(path: Path) -> None:
    path.symlink_to("gone")


def _circle(path: Path) -> None:
    path.symlink_to(path.name)


@pytest.mark.parametrize(
    ("make", "reason", "words"),
    [
        (_folder, "not readable", "it is a folder"),
        (_pipe, "not readable", "it is no regular file"),
        (_nowhere, "not found", "the link points nowhere"),
        (_circle, "not found", "the link leads in a circle"),
        (lambda path: None, "not found", "it is recorded and not there"),
    ],
)
def test_what_is_no_file_is_told(tmp_path: Path, make: object, reason: str, words: str) -> None:
    """A folder named x.so, a pipe, a link to nowhere, a file that is gone."""
    assert callable(make)
    path = tmp_path / "x.so"
    make(path)
    absence = read(path).absence
    assert absence is not None
    assert (absence.reason, absence.detail) == (reason, words)


def test_a_file_that_this_user_may_not_read(tmp_path: Path) -> None:
    """It is an absence with its reason; for root, who may read all, this cannot be shown."""
    path = tmp_path / "x.so"
    path.write_bytes(GOOD)
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read every file")
    absence = read(path).absence
    assert absence is not None
    assert absence.reason == "no permission"
