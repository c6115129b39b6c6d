"""The driver of AMD: versions, and the device files through which it is reached."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from preflight.facts import Absence, DeviceFile
from preflight.hardware.amd_driver import closed_files, open_files, read_driver
from preflight.hardware.files import Files
from preflight.hardware.simulated_kfd import SimulatedAmd, mi300x_cards


def installed(root: Path, *folders: str) -> None:
    """ROCm in folders such as ``rocm-6.4.1``, each saying its version."""
    for name in folders:
        (root / "opt" / name / ".info").mkdir(parents=True)
        version = name.partition("-")[2] or "7.0.2"
        (root / "opt" / name / ".info/version").write_text(f"{version}-83\n")


def test_versions(tmp_path: Path) -> None:
    """The packaged amdgpu and ROCm, without the number of its build."""
    SimulatedAmd(cards=[]).write(tmp_path)
    driver = read_driver(Files(tmp_path), {})
    assert (driver.version, driver.rocm) == ("6.12.12", "6.4.1")


@pytest.mark.parametrize(("loaded", "reason"), [(True, "not found"), (False, "driver not loaded")])
def test_no_version(tmp_path: Path, loaded: bool, reason: str) -> None:
    """The driver of the kernel's own tree has none, which is not the absence of a driver."""
    if loaded:
        SimulatedAmd(cards=[], amdgpu_version=None).write(tmp_path)
    version = read_driver(Files(tmp_path), {}).version
    assert isinstance(version, Absence) and version.reason == reason


@pytest.mark.parametrize(
    ("folders", "variable", "version"),
    [
        (("rocm-6.9.0", "rocm-6.10.1"), "", "6.10.1"),
        (("rocm", "rocm-6.4.1"), "", "7.0.2"),
        (("rocm", "rocm-6.4.1"), "/opt/rocm-6.4.1", "6.4.1"),
        (("rocm-6.4.1",), "/opt/rocm-5.0.0", "6.4.1"),
    ],
)
def test_one_of_several(
    tmp_path: Path, folders: tuple[str, ...], variable: str, version: str
) -> None:
    """ROCM_PATH says which is meant, then /opt/rocm, then the newest beside it."""
    installed(tmp_path, *folders)
    assert read_driver(Files(tmp_path), {"ROCM_PATH": variable}).rocm == version


def test_no_rocm(tmp_path: Path) -> None:
    """Without ROCm, as with torch's own wheels, there is no version; a damaged one is told."""
    missing = read_driver(Files(tmp_path), {}).rocm
    assert isinstance(missing, Absence) and missing.reason == "not found"
    installed(tmp_path, "rocm")
    (tmp_path / "opt/rocm/.info/version").write_text("of today\n")
    damaged = read_driver(Files(tmp_path), {}).rocm
    assert isinstance(damaged, Absence) and damaged.reason == "not readable"


def test_open_files(tmp_path: Path) -> None:
    """/dev/kfd and the render nodes that are asked for, each named before it is opened."""
    SimulatedAmd(cards=mi300x_cards(2)).write(tmp_path)
    said: list[str] = []
    opened = open_files(Files(tmp_path), [128, 136], said.append)
    assert opened == (
        DeviceFile(path="/dev/kfd", is_open=True),
        DeviceFile(path="/dev/dri/renderD128", is_open=True),
        DeviceFile(path="/dev/dri/renderD136", is_open=True),
    )
    assert said == [f"open {file.path}" for file in opened]
    assert closed_files(opened) == ()


def test_three_ways_to_be_closed(tmp_path: Path) -> None:
    """A denied, a refusing and a missing file differ in reason, and each has its remedy."""
    cards = mi300x_cards(2)
    cards[0].render_errno = errno.EACCES
    cards[1].has_render_node = False
    SimulatedAmd(cards=cards, kfd_errno=errno.EINVAL).write(tmp_path)
    kfd, first, second = closed_files(open_files(Files(tmp_path), [128, 136]))
    assert (kfd.reason, first.reason, second.reason) == ("failed", "no permission", "not found")
    assert kfd.detail.startswith("Invalid argument: the kernel driver itself refuses")
    assert "gVisor" in kfd.detail
    assert "--group-add" in first.detail and "--device /dev/dri" in second.detail
