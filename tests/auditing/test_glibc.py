"""The C library of a machine or image."""

from __future__ import annotations

import os
from pathlib import Path

from compat.binaries import library

from preflight.auditing.glibc import read_glibc
from preflight.auditing.loader import Loader
from preflight.auditing.roots import Root
from preflight.facts import Absence


def glibc(root: Path) -> object:
    """The C library below a root."""
    return read_glibc(Loader(Root(root)))


def test_the_newest_version_that_it_defines(tmp_path: Path) -> None:
    """2.36 is newer than 2.4; it is read behind the link that distributions have."""
    (tmp_path / "usr/lib").mkdir(parents=True)
    data = library(defined_versions=["libc.so.6", "GLIBC_2.4", "GLIBC_2.36", "GLIBC_PRIVATE"])
    (tmp_path / "usr/lib/libc-2.36.so").write_bytes(data)
    (tmp_path / "usr/lib/libc.so.6").symlink_to("libc-2.36.so")
    (tmp_path / "lib").symlink_to("/usr/lib")
    assert glibc(tmp_path) == "2.36"


def test_an_image_without_glibc(tmp_path: Path) -> None:
    """Alpine has another C library: that is not known, and no version 0."""
    assert glibc(tmp_path) == Absence(what="libc.so.6", reason="not found")


def test_a_damaged_one(tmp_path: Path) -> None:
    """It is an absence with its reason."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib/libc.so.6").write_bytes(b"\0" * 1000)
    found = glibc(tmp_path)
    assert isinstance(found, Absence)
    assert found.reason == "not readable"


def test_this_machine() -> None:
    """What is read is what the C library says of itself."""
    assert f"glibc {glibc(Path('/'))}" == os.confstr("CS_GNU_LIBC_VERSION")
