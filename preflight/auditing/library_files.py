"""Reads one library: its device code and what it asks of the loader."""

from __future__ import annotations

import errno
from pathlib import Path

import msgspec

from preflight.auditing.file_bytes import open_bytes
from preflight.compat.buffers import Buffer
from preflight.compat.device_code import read_device_code, sections_or_error
from preflight.compat.dynamic import Dynamic, DynamicError, read_dynamic
from preflight.compat.installed import Library
from preflight.compat.sections import SectionError
from preflight.facts import Absence

_MACHINES = {62: "x86_64", 183: "aarch64"}
"""e_machine of ELF."""
_REASONS = {
    errno.ENOENT: ("not found", "the link points nowhere"),
    errno.ELOOP: ("not found", "the link leads in a circle"),
    errno.EACCES: ("no permission", "this user has no permission"),
    errno.EPERM: ("no permission", "this user has no permission"),
    errno.EISDIR: ("not readable", "it is a folder"),
    errno.EINVAL: ("not readable", "it is no regular file"),
    errno.ENXIO: ("not readable", "it is no regular file"),
}


def read_library(
    path: Path, *, shown: str, recorded_bytes: int | None = None, is_link: bool = False
) -> Library:
    """The library at ``path``; never raises for what stands there.

    ``is_link`` tells that ``path`` is where a link leads.
    """
    try:
        with open_bytes(path) as data:
            return library_of(data, shown=shown, recorded_bytes=recorded_bytes)
    except OSError as error:
        reason, detail = _REASONS.get(error.errno or 0, ("failed", error.strerror or str(error)))
        if reason == "not found" and not is_link:
            detail = "it is recorded and not there"
        absence = Absence(what=shown, reason=reason, detail=detail)
        return Library(path=shown, recorded_bytes=recorded_bytes, absence=absence)


def library_of(data: Buffer, *, shown: str, recorded_bytes: int | None = None) -> Library:
    """The library that these bytes are."""
    sections = sections_or_error(data)
    device = read_device_code(data, sections)
    dynamic: Dynamic | None = None
    if not isinstance(sections, SectionError):
        try:
            dynamic = read_dynamic(data, sections)
        except DynamicError as error:
            trouble = device.trouble or f"its dynamic section cannot be read: {error}"
            device = msgspec.structs.replace(device, trouble=trouble)
    return Library(
        path=shown,
        device=device,
        dynamic=dynamic,
        machine=_MACHINES.get(int.from_bytes(data[18:20], "little")) if dynamic else None,
        num_bytes=len(data),
        recorded_bytes=recorded_bytes,
    )
