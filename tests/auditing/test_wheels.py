"""Wheels, looked into without being unpacked."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path

import pytest
from compat.binaries import fatbin, pe

from preflight.auditing.wheels import look_into
from preflight.errors import UsageError

from .site import cuda

NAME = "flash_attn-2.8.3+cu130-cp312-cp312-linux_x86_64.whl"


def wheel(folder: Path, *, name: str = NAME, packing: int = zipfile.ZIP_DEFLATED) -> Path:
    """A wheel with a library, a library of Windows, and a script."""
    path = folder / name
    with zipfile.ZipFile(path, "w", packing) as archive:
        archive.writestr(
            "flash_attn-2.8.3.dist-info/METADATA", "Name: Flash-Attn\nVersion: 2.8.3\n"
        )
        archive.writestr("flash_attn/__init__.py", "")
        archive.writestr("flash_attn/_C.so", cuda("sm_90", "sm_100"))
        archive.writestr("flash_attn/_C.pyd", pe({".nv_fatbin": fatbin("sm_80")}))
        archive.writestr("flash_attn/libx.so", "INPUT(libx.so.1)\n")
    return path


@pytest.mark.parametrize("packing", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA])
def test_libraries_of_a_wheel(tmp_path: Path, packing: int) -> None:
    """Stored ones are read where they lie, packed ones through a temporary file."""
    found = look_into([str(wheel(tmp_path, packing=packing))])
    (one,) = found.distributions
    assert (one.name, one.version, found.is_complete) == ("Flash-Attn", "2.8.3+cu130", False)
    assert {library.path: set(library.device.in_all) for library in one.libraries} == {
        "flash_attn/_C.so": {"sm_90", "sm_100"},
        "flash_attn/_C.pyd": {"sm_80"},
        "flash_attn/libx.so": set(),
    }


def test_several_wheels_and_some_of_them(tmp_path: Path) -> None:
    """Each is a package; --package chooses."""
    first = wheel(tmp_path)
    other = tmp_path / "six-1.0-py3-none-any.whl"
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("six.py", "")
    found = look_into([str(first), str(other)], frozenset({"six"}))
    assert [one.name for one in found.distributions] == ["six"]
    assert found.names == ("Flash-Attn", "six")


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("flash.zip", b"PK"),
        ("flash_attn.whl", b""),
        (NAME, b"no archive"),
        (NAME, b""),
    ],
)
def test_what_is_no_wheel_is_a_mistake(tmp_path: Path, name: str, data: bytes) -> None:
    """By its name or by its bytes; the file is named."""
    (tmp_path / name).write_bytes(data)
    with pytest.raises(UsageError, match="--wheel") as caught:
        look_into([str(tmp_path / name)])
    assert name in str(caught.value)


def test_a_wheel_that_is_gone_is_a_mistake(tmp_path: Path) -> None:
    """A folder with the name of a wheel is one, too."""
    (tmp_path / NAME).mkdir()
    for path in (tmp_path / NAME, tmp_path / f"x{NAME}"):
        with pytest.raises(UsageError, match="--wheel"):
            look_into([str(path)])


def test_a_wheel_that_was_cut_is_a_mistake(tmp_path: Path) -> None:
    """Without its end an archive has no table."""
    path = wheel(tmp_path)
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(UsageError, match="cannot be read as a wheel"):
        look_into([str(path)])


def _bent(path: Path, member: str, at: int, layout: str, value: int) -> None:
    """Change a field of a member's entry in the table of an archive."""
    data = bytearray(path.read_bytes())
    name = member.encode()
    place = data.rindex(b"PK\x01\x02", 0, data.rindex(name))
    struct.pack_into(layout, data, place + at, value)
    path.write_bytes(data)


@pytest.mark.parametrize(
    ("packing", "at", "layout", "value"),
    [
        (zipfile.ZIP_DEFLATED, 16, "<I", 0x12345678),
        (zipfile.ZIP_DEFLATED, 42, "<I", 7),
        (zipfile.ZIP_STORED, 42, "<I", 7),
        (zipfile.ZIP_DEFLATED, 10, "<H", 99),
        (zipfile.ZIP_DEFLATED, 20, "<I", 5),
    ],
)
def test_a_damaged_member_is_an_absence(
    tmp_path: Path, packing: int, at: int, layout: str, value: int
) -> None:
    """A wrong checksum, place, packing or size: told with the member, and the rest is read."""
    path = wheel(tmp_path, packing=packing)
    _bent(path, "flash_attn/_C.so", at, layout, value)
    by_path = {one.path: one for one in look_into([str(path)]).distributions[0].libraries}
    absence = by_path["flash_attn/_C.so"].absence
    assert absence is not None and absence.reason == "failed"
    assert by_path["flash_attn/_C.pyd"].device.in_all == {"sm_80"}


@pytest.mark.parametrize("size", [2**31, 2**32 - 2])
def test_a_bomb_is_not_unpacked(tmp_path: Path, size: int) -> None:
    """A member that claims to grow two hundredfold and more is told, not unpacked."""
    path = wheel(tmp_path)
    _bent(path, "flash_attn/_C.so", 24, "<I", size)
    by_path = {one.path: one for one in look_into([str(path)]).distributions[0].libraries}
    absence = by_path["flash_attn/_C.so"].absence
    assert absence is not None
    assert f"claim to unpack to {size}" in absence.detail
