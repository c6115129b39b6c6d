"""NVIDIA's driver and the files that lead to it."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pynvml
import pytest

from preflight.facts import Absence, DeviceFile, Driver
from preflight.hardware.files import STAND_INS
from preflight.hardware.simulated_nvml import SimulatedNvml

from .nvml_in_place import look, write

VERSION = "/proc/driver/nvidia/version"
OPEN = (
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build  "
    "(dvs-builder@U22-I3-AM02-24-3)  Sun Jul 27 06:54:38 UTC 2025\n"
    "GCC version:  gcc version 12.3.0\n"
)
PROPRIETARY = (
    "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Sat Feb 17 22:55:48 UTC 2024\n"
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A machine with the open kernel module and all device files of two cards."""
    write(tmp_path, VERSION, OPEN)
    for name in ("nvidiactl", "nvidia-uvm", "nvidia0", "nvidia1", "nvidia-modeset", "null"):
        write(tmp_path, f"/dev/{name}", "")
    return tmp_path


def test_a_healthy_driver(root: Path) -> None:
    """Versions, flavour and files of a sound driver, each of them there."""
    assert look(SimulatedNvml(), root=root).driver == Driver(
        version="580.65.06",
        library="580.65.06",
        cuda="13.0",
        flavour="open",
        confidential="off",
        files=tuple(
            DeviceFile(path=f"/dev/{name}", is_open=True)
            for name in ("nvidiactl", "nvidia-uvm", "nvidia0", "nvidia1")
        ),
    )


@pytest.mark.parametrize(
    ("text", "version", "flavour"),
    [
        (OPEN, "580.65.06", "open"),
        (PROPRIETARY, "535.161.08", "proprietary"),
        (OPEN.replace("x86_64", "aarch64"), "580.65.06", "open"),
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  610.43  Mon", "610.43", "proprietary"),
    ],
)
def test_the_kernel_module(text: str, version: str, flavour: str, root: Path) -> None:
    """Version and flavour are in the first line of the module's own file."""
    write(root, VERSION, text)
    library = SimulatedNvml()
    library.broken["nvmlSystemGetDriverVersion"] = pynvml.NVML_ERROR_UNKNOWN
    sighting = look(library, root=root)
    assert (sighting.driver.version, sighting.driver.flavour) == (version, flavour)
    assert sighting.devices[0].driver == version
    assert sighting.absences == ()


def test_a_kernel_module_that_says_something_else(root: Path) -> None:
    """A line that nobody knows is quoted, and nothing is guessed from it."""
    write(root, VERSION, "NVRM: something new\n")
    flavour = look(SimulatedNvml(), root=root).driver.flavour
    assert flavour == Absence(what=VERSION, reason="not readable", detail="NVRM: something new")


def test_library_and_kernel_module_differ(root: Path) -> None:
    """A half-done update: both versions are told although NVML does not start."""
    write(root, VERSION, PROPRIETARY)
    library = SimulatedNvml()
    library.broken["nvmlInitWithFlags"] = pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH
    driver = look(library, root=root).driver
    assert (driver.version, driver.library) == ("535.161.08", "580.65.06")
    assert isinstance(driver.cuda, Absence)
    assert driver.cuda.reason == "library and kernel module differ"
    assert isinstance(driver.files, tuple)
    assert [one.path for one in driver.files] == [
        "/dev/nvidiactl",
        "/dev/nvidia-uvm",
        "/dev/nvidia0",
        "/dev/nvidia1",
    ]


def test_a_driver_that_is_not_loaded(tmp_path: Path) -> None:
    """Without a kernel module its facts are absent, and so are the files."""
    library = SimulatedNvml()
    library.broken["nvmlInitWithFlags"] = pynvml.NVML_ERROR_DRIVER_NOT_LOADED
    driver = look(library, root=tmp_path).driver
    assert isinstance(driver.version, Absence)
    assert driver.version.what == VERSION
    assert driver.library == "580.65.06"
    assert isinstance(driver.files, tuple)
    for one in driver.files:
        assert isinstance(one.is_open, Absence)
        assert one.is_open.reason == "not found"


@pytest.mark.parametrize(
    ("number", "reason"),
    [(errno.EACCES, "no permission"), (errno.EPERM, "no permission"), (errno.EIO, "failed")],
)
def test_a_device_file_that_does_not_open(number: int, reason: str, root: Path) -> None:
    """A file that is there and closed to us says why, and the others are open."""
    stand_ins = {"opening": {"/dev/nvidia1": number}}
    (root / STAND_INS).write_text(json.dumps(stand_ins), encoding="utf-8")
    files = look(SimulatedNvml(), root=root).driver.files
    assert isinstance(files, tuple)
    closed = [one for one in files if one.is_open is not True]
    assert [one.path for one in closed] == ["/dev/nvidia1"]
    assert isinstance(closed[0].is_open, Absence)
    assert closed[0].is_open.reason == reason


def test_the_file_of_unified_memory_may_be_missing(root: Path) -> None:
    """A machine on which nobody used CUDA yet has no /dev/nvidia-uvm: told, and no absence."""
    (root / "dev/nvidia-uvm").unlink()
    sighting = look(SimulatedNvml(), root=root)
    assert isinstance(sighting.driver.files, tuple)
    missing = [one for one in sighting.driver.files if one.is_open is not True]
    assert [one.path for one in missing] == ["/dev/nvidia-uvm"]
    assert sighting.absences == ()


def test_a_file_is_named_by_minor_number_and_not_by_index(root: Path) -> None:
    """The number in the file's name is the driver's own; cards of a container start anywhere."""
    library = SimulatedNvml(1)
    library.cards[0].minor = 6
    files = look(library, root=root).driver.files
    assert isinstance(files, tuple)
    assert files[-1].path == "/dev/nvidia6"


def test_a_minor_number_that_only_the_kernel_tells(root: Path) -> None:
    """Where NVML does not tell it, the file of the kernel module does."""
    information = "Model: \t\t NVIDIA H100 80GB HBM3\nDevice Minor: \t 5\n"
    write(root, "/proc/driver/nvidia/gpus/0000:1b:00.0/information", information)
    library = SimulatedNvml(1)
    library.cards[0].minor = None
    files = look(library, root=root).driver.files
    assert isinstance(files, tuple)
    assert files[-1].path == "/dev/nvidia5"


def test_a_minor_number_that_nobody_tells(root: Path) -> None:
    """The file of such a card has no name, and the reason."""
    library = SimulatedNvml(1)
    library.cards[0].minor = None
    files = look(library, root=root).driver.files
    assert isinstance(files, tuple)
    assert files[-1].path == "/dev/nvidia?"
    assert isinstance(files[-1].is_open, Absence)
    assert files[-1].is_open.what == "nvmlDeviceGetMinorNumber"


@pytest.mark.parametrize(
    ("on", "tools", "word"),
    [(False, False, "off"), (True, False, "on"), (True, True, "development")],
)
@pytest.mark.parametrize("lacking", [set(), {"nvmlSystemGetConfComputeSettings"}])
def test_confidential_computing(on: bool, tools: bool, word: str, lacking: set[str]) -> None:
    """Its state is told by the newer call, or by the older one."""
    library = SimulatedNvml()
    library.driver.confidential, library.driver.development_tools = on, tools
    library.lacking |= lacking
    assert look(library).driver.confidential == word


def test_confidential_computing_is_not_supported() -> None:
    """A machine without it says so; an error code that nvidia-ml-py passes on is no answer."""
    library = SimulatedNvml()
    library.broken = dict.fromkeys(
        ("nvmlSystemGetConfComputeSettings", "nvmlSystemGetConfComputeState"), 3
    )
    found = look(library).driver.confidential
    assert isinstance(found, Absence)
    assert (found.what, found.reason) == ("nvmlSystemGetConfComputeState", "not supported")


@pytest.mark.parametrize(
    ("told", "version"), [("12.535.161.08", "535.161.08"), ("13.580.65", "580.65"), ("7", "7")]
)
def test_the_librarys_version(told: str, version: str) -> None:
    """The version of CUDA before that of the driver is left out."""
    library = SimulatedNvml()
    library.driver.library = told
    assert look(library).driver.library == version


def test_a_version_that_is_no_text() -> None:
    """Bytes in the driver's version cost no device."""
    library = SimulatedNvml()
    library.driver.version = b"580.\xff"
    assert look(library).devices[0].driver == "580.\ufffd"
