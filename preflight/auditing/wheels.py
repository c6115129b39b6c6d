"""Looks into wheels without unpacking them.

A library that is stored is read where it lies in the archive, one that is deflated goes through a
temporary file.
"""

from __future__ import annotations

import lzma
import os
import re
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from preflight.auditing.file_bytes import FileBytes
from preflight.auditing.library_files import library_of
from preflight.auditing.library_names import is_library_name
from preflight.compat.installed import Distribution, Installed, Library
from preflight.compat.vendor_libraries import normal_name
from preflight.errors import UsageError
from preflight.facts import Absence

MOST_MEMBER_BYTES = 8 * 1024**3
"""No library of a wheel was seen beyond 2 GiB."""
MOST_RATIO = 200
"""How far a library may have been deflated; NVIDIA's shrink to a third, zeros to a thousandth."""
_SMALL = 16 * 1024**2
_LOCAL = struct.Struct("<4s22xHH")
"""Magic of a member's own header; then the lengths of its name and of its extra field."""
_NAME = re.compile(r"(?P<name>[^-]+)-(?P<version>[^-]+)(-\d[^-]*)?-[^-]+-[^-]+-[^-]+\.whl")
_CHUNK = 1024 * 1024
_BROKEN = (
    *(OSError, ValueError, EOFError, RuntimeError, NotImplementedError),
    *(zipfile.BadZipFile, zlib.error, lzma.LZMAError),
)
"""What zipfile raises for members that are damaged, encrypted, or packed in an unknown way."""


def look_into(wheels: Sequence[str], only: frozenset[str] = frozenset()) -> Installed:
    """What stands in wheels; raises UsageError for a file that is none."""
    found = [_read(Path(wheel)) for wheel in wheels]
    return Installed(
        subject=", ".join(Path(wheel).name for wheel in wheels),
        is_complete=False,
        distributions=tuple(one for one in found if not only or normal_name(one.name) in only),
        names=tuple(one.name for one in found),
    )


def _read(path: Path) -> Distribution:
    named = _NAME.fullmatch(path.name)
    if named is None:
        raise _no_wheel(
            path, "its name is not that of a wheel: name-version-python-abi-platform.whl"
        )
    try:
        with path.open("rb") as stream, zipfile.ZipFile(stream) as archive:
            libraries = tuple(_libraries(archive, stream.fileno()))
            name = _spelled(archive) or named["name"]
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise _no_wheel(path, str(getattr(error, "strerror", None) or error)) from error
    return Distribution(name=name, version=named["version"], libraries=libraries)


def _no_wheel(path: Path, why: str) -> UsageError:
    return UsageError(
        f"{path} cannot be read as a wheel: {why}",
        where="--wheel",
        mend="download it again: pip download --no-deps NAME",
    )


def _spelled(archive: zipfile.ZipFile) -> str | None:
    """The name as the metadata spell it."""
    for info in archive.infolist():
        if re.fullmatch(r"[^/]+\.dist-info/METADATA", info.filename) and info.file_size < _SMALL:
            found = re.search(rb"^Name:[ \t]*(\S+)", archive.read(info), re.MULTILINE)
            return found[1].decode("utf-8", "replace") if found else None
    return None


def _libraries(archive: zipfile.ZipFile, descriptor: int) -> Iterator[Library]:
    for info in archive.infolist():
        if info.is_dir() or not is_library_name(info.filename.rpartition("/")[2]):
            continue
        try:
            with _opened(archive, info, descriptor) as data:
                yield library_of(data, shown=info.filename)
        except _BROKEN as error:
            detail = getattr(error, "strerror", None) or str(error)
            absence = Absence(what=info.filename, reason="failed", detail=detail)
            yield Library(path=info.filename, absence=absence)


@contextmanager
def _opened(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, descriptor: int
) -> Iterator[FileBytes]:
    """A member as bytes; raises OSError, ValueError and what zipfile raises."""
    is_bomb = info.file_size > _SMALL and info.file_size > MOST_RATIO * info.compress_size
    if info.file_size > MOST_MEMBER_BYTES or is_bomb:
        raise ValueError(
            f"{info.compress_size} bytes claim to unpack to {info.file_size}: it is not unpacked"
        )
    if info.compress_type == zipfile.ZIP_STORED and info.file_size == info.compress_size:
        yield _stored(info, descriptor)
        return
    with tempfile.TemporaryFile() as copy, archive.open(info) as member:
        left = info.file_size
        while left > 0 and (chunk := member.read(min(_CHUNK, left))):
            copy.write(chunk)
            left -= len(chunk)
        copy.flush()
        yield FileBytes(copy.fileno(), 0, info.file_size - left)


def _stored(info: zipfile.ZipInfo, descriptor: int) -> FileBytes:
    head = os.pread(descriptor, _LOCAL.size, info.header_offset)
    if len(head) < _LOCAL.size:
        raise ValueError("its header lies outside of the archive")
    magic, name, extra = _LOCAL.unpack(head)
    start = info.header_offset + _LOCAL.size + name + extra
    if magic != b"PK\x03\x04" or start + info.file_size > os.fstat(descriptor).st_size:
        raise ValueError("it lies outside of the archive")
    return FileBytes(descriptor, start, info.file_size)
