"""The driver of AMD: its versions, and whether its device files let us in."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence

from preflight.facts import Absence, DeviceFile, Driver, Text
from preflight.hardware.attributes import word
from preflight.hardware.files import Files
from preflight.hardware.kfd import NODES
from preflight.hardware.protocol import Say, silent

KFD = "/dev/kfd"
RENDER_NODE = "/dev/dri/renderD"
MODULE = "/sys/module/amdgpu"
ROCM_VARIABLE = "ROCM_PATH"
_NUMBERS = r"\d+(\.\d+)+"
_BUILD = r"(-[\w.]+)?"
_DEVICES = "start the container with --device /dev/kfd --device /dev/dri"
_REFUSED = (
    "the kernel driver itself refuses, which no group and no permission mends; ask the provider, "
    "with what dmesg says of kfd and amdgpu"
)
_BY_ERROR = {
    errno.EACCES: (
        "add this user to the group that owns the file (render or video); a container needs "
        "--group-add with the number which that group has on the host"
    ),
    errno.EPERM: f"the container's list of devices leaves it out: {_DEVICES}",
    errno.EINVAL: (
        f"{_REFUSED}; a container in a sandbox of its own (gVisor) and a driver that did not "
        "start as a whole show this"
    ),
}
"""What to do about an error of opening a device file (ROCm's installation prerequisites for the
groups and the devices of a container, linux kfd_process.c for EINVAL)."""
_ADVICE = {os.strerror(number): advice for number, advice in _BY_ERROR.items()}


def read_driver(files: Files, environ: Mapping[str, str]) -> Driver:
    """Versions of the kernel module and of an installed ROCm; no device file is opened."""
    return Driver(version=_version(files), rocm=_rocm(files, environ))


def open_files(
    files: Files, render_minors: Sequence[int], say: Say = silent
) -> tuple[DeviceFile, ...]:
    """The outcome of opening /dev/kfd and the render node of each card."""
    opened = []
    for path in (KFD, *(f"{RENDER_NODE}{minor}" for minor in render_minors)):
        say(f"open {path}")
        opened.append(DeviceFile(path=path, is_open=files.opens(path)))
    return tuple(opened)


def closed_files(opened: Sequence[DeviceFile]) -> tuple[Absence, ...]:
    """Those that do not open, each with the error and what to do about it."""
    return tuple(
        Absence(what=file.path, reason=file.is_open.reason, detail=_advice(file.is_open))
        for file in opened
        if isinstance(file.is_open, Absence)
    )


def _advice(closed: Absence) -> str:
    if closed.reason == "not found":
        return f"{_DEVICES}; without a container, the amdgpu driver has not made it"
    return f"{closed.detail}: {_ADVICE.get(closed.detail, _REFUSED)}"


def _version(files: Files) -> Text:
    """Of the packaged amdgpu (DKMS); the one in the kernel's own tree has none."""
    path = f"{MODULE}/version"
    found = word(files, path)
    if isinstance(found, str) or found.reason != "not found":
        return found
    if isinstance(files.names(MODULE), Absence) and isinstance(files.names(NODES), Absence):
        return Absence(what=path, reason="driver not loaded")
    detail = "the amdgpu of the kernel itself has no version but the kernel's"
    return Absence(what=path, reason="not found", detail=detail)


def _rocm(files: Files, environ: Mapping[str, str]) -> Text:
    """``6.4.1`` of the ROCm that is installed; the newest where several are, side by side."""
    folders = [environ.get(ROCM_VARIABLE, ""), "/opt/rocm"]
    listed = files.names("/opt")
    if not isinstance(listed, Absence):
        beside = [name for name in listed if name.startswith("rocm-")]
        folders += [f"/opt/{name}" for name in sorted(beside, key=_release, reverse=True)]
    first: Absence | None = None
    for folder in filter(None, folders):
        found = word(files, f"{folder}/.info/version", _NUMBERS + _BUILD)
        if isinstance(found, str):
            return found.partition("-")[0]
        if first is None or first.reason == "not found":
            first = found
    return first or Absence(what="ROCm", reason="not found")


def _release(name: str) -> tuple[int, ...]:
    """(6, 4, 1) of ``rocm-6.4.1``, so that 6.10 comes after 6.9."""
    parts = name.removeprefix("rocm-").split(".")
    return tuple(int(part) for part in parts if part.isascii() and part.isdigit())
