"""Files of which only slices are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from preflight.auditing.file_bytes import BLOCK, FileBytes, open_bytes


def test_slices_are_those_of_bytes(tmp_path: Path) -> None:
    """Every slice, at and beyond the end too, is what bytes would give."""
    data = bytes(range(256)) * 5
    (tmp_path / "x").write_bytes(data)
    with open_bytes(tmp_path / "x") as found:
        assert len(found) == len(data)
        for start in (0, 1, BLOCK - 1, BLOCK, len(data) - 1, len(data), len(data) + 5):
            for size in (0, 1, 16, BLOCK, 2 * BLOCK, len(data)):
                assert found[start : start + size] == data[start : start + size]
        assert found[:] == data


def test_part_of_a_file(tmp_path: Path) -> None:
    """A member of an archive is a part of it, and ends where it ends."""
    (tmp_path / "x").write_bytes(b"abcdefgh")
    with (tmp_path / "x").open("rb") as stream:
        part = FileBytes(stream.fileno(), 2, 4)
        assert (len(part), part[0:100], part[3:9]) == (4, b"cdef", b"f")


def test_a_file_that_shrinks_is_an_error_and_no_signal(tmp_path: Path) -> None:
    """A mapped file would end the process here."""
    path = tmp_path / "x"
    path.write_bytes(b"x" * 10_000)
    with open_bytes(path) as found:
        os.truncate(path, 100)
        with pytest.raises(OSError, match="shorter"):
            found[5000:6000]


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    """A folder, and a pipe that nobody writes to: neither blocks."""
    os.mkfifo(tmp_path / "pipe.so")
    with pytest.raises(OSError, match="no regular file"), open_bytes(tmp_path / "pipe.so"):
        pass
    with pytest.raises(IsADirectoryError), open_bytes(tmp_path):
        pass


def test_little_is_read_of_a_large_file(tmp_path: Path) -> None:
    """A sparse file of 1 TiB opens at once."""
    path = tmp_path / "large"
    path.touch()
    try:
        os.truncate(path, 1 << 40)
    except OSError as error:
        pytest.skip(f"this file system has no room for a sparse file: {error}")
    with open_bytes(path) as found:
        assert found[1 << 39 : (1 << 39) + 4] == b"\0" * 4
