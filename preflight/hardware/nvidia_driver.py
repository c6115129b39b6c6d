"""NVIDIA's driver: its versions, the kind of its kernel module, and the files that lead to it."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Sequence

from preflight.facts import Absence, DeviceFile, Driver, Text
from preflight.hardware.files import Files
from preflight.hardware.nvidia_identity import Identity
from preflight.hardware.nvml_calls import Asking, checked
from preflight.hardware.protocol import Say

VERSION_FILE = "/proc/driver/nvidia/version"
CONTROL_FILES = ("/dev/nvidiactl", "/dev/nvidia-uvm")
"""The second is made for the first user of CUDA, and may be missing before on a sound machine."""
_MODULE_VERSION = re.compile(r"Kernel Module\b.*?\s(\d+\.\d+(?:\.\d+)?)(?:\s|$)")
_MINOR = re.compile(r"^Device Minor:\s*(\d+)", re.MULTILINE)


class _ConfidentialSettings(ctypes.Structure):
    """nvmlSystemConfComputeSettings_v1_t of nvml.h, which nvidia-ml-py 12.535 has not."""

    _fields_ = (
        ("version", ctypes.c_uint),
        ("environment", ctypes.c_uint),
        ("ccFeature", ctypes.c_uint),
        ("devToolsMode", ctypes.c_uint),
        ("multiGpuMode", ctypes.c_uint),
    )


def read_driver(system: Asking, files: Files) -> Driver:
    """What NVML and the kernel module say; NVML has been initialized."""
    version = system.text("nvmlSystemGetDriverVersion")
    module = _module(system.say, files)
    return Driver(
        version=module.version if isinstance(version, Absence) else version,
        library=_library(system),
        cuda=system.value("nvmlSystemGetCudaDriverVersion_v2", read=_cuda_version),
        flavour=module.flavour,
        confidential=_confidential(system),
    )


def read_driver_without_nvml(system: Asking, files: Files, failure: Absence) -> Driver:
    """What can be known of a driver whose library did not start, for ``failure``."""
    module = _module(system.say, files)
    # The library tells its own version also where it does not fit the kernel module.
    library = failure if failure.reason == "not found" else _library(system)
    names = files.names("/dev")
    cards = () if isinstance(names, Absence) else names
    paths = [f"/dev/{name}" for name in cards if re.fullmatch(r"nvidia\d+", name)]
    return Driver(
        version=module.version,
        library=library,
        cuda=failure,
        flavour=module.flavour,
        confidential=failure,
        files=_opened((*CONTROL_FILES, *paths), files, system.say),
    )


def read_device_files(
    cards: Sequence[tuple[Identity, Asking]], files: Files, say: Say
) -> tuple[DeviceFile, ...]:
    """Whether the files of the driver and of ``cards`` can be opened.

    A card whose minor number nobody tells has the path ``/dev/nvidia?``, and the reason.
    """
    found = list(_opened(CONTROL_FILES, files, say))
    for identity, asking in cards:
        minor = _minor(identity, asking, files)
        if isinstance(minor, Absence):
            found.append(DeviceFile(path="/dev/nvidia?", is_open=minor))
        else:
            found += _opened((f"/dev/nvidia{minor}",), files, say)
    return tuple(found)


def _opened(paths: Sequence[str], files: Files, say: Say) -> tuple[DeviceFile, ...]:
    found = []
    for path in paths:
        say(path)
        found.append(DeviceFile(path=path, is_open=files.opens(path)))
    return tuple(found)


def _minor(identity: Identity, asking: Asking, files: Files) -> int | Absence:
    minor = asking.whole("nvmlDeviceGetMinorNumber")
    address = identity.bus.address
    if not isinstance(minor, Absence) or isinstance(address, Absence):
        return minor
    path = f"/proc/driver/nvidia/gpus/{address}/information"
    asking.say(path)
    told = files.text(path)
    match = None if isinstance(told, Absence) else _MINOR.search(told)
    return minor if match is None else int(match[1])


def _module(say: Say, files: Files) -> Driver:
    """Version and flavour of the kernel module, by the first line of its own file."""
    say(VERSION_FILE)
    told = files.text(VERSION_FILE)
    if isinstance(told, Absence):
        return Driver(version=told, flavour=told)
    line = told.partition("\n")[0]
    strange = Absence(what=VERSION_FILE, reason="not readable", detail=line[:200])
    version = _MODULE_VERSION.search(line)
    flavour: Text = strange
    if "Kernel Module" in line:
        flavour = "open" if "Open Kernel Module" in line else "proprietary"
    return Driver(version=strange if version is None else version[1], flavour=flavour)


def _library(system: Asking) -> Text:
    return system.value("nvmlSystemGetNVMLVersion", read=_library_version)


def _library_version(text: str) -> str:
    """``580.65.06`` of ``13.580.65.06``: before it stands the version of CUDA."""
    _, _, rest = text.partition(".")
    return rest if "." in rest else text


def _cuda_version(number: int) -> str:
    """``13.0`` from 13000."""
    return f"{number // 1000}.{number % 1000 // 10}"


def _confidential(system: Asking) -> Text:
    settings = _ConfidentialSettings(version=ctypes.sizeof(_ConfidentialSettings) | 1 << 24)
    call = "nvmlSystemGetConfComputeSettings"
    failed = system.value(call, ctypes.byref(settings), read=checked)
    if failed is None:
        return _confidential_word(settings)
    return system.value("nvmlSystemGetConfComputeState", read=_confidential_word)


def _confidential_word(state: object) -> str:
    if not getattr(state, "ccFeature", 0):
        return "off"
    return "development" if getattr(state, "devToolsMode", 0) else "on"
