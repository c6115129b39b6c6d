"""Options of the kernel's command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.hardware.boot import boot_options, option
from preflight.hardware.files import Files

from .machines import MALFORMED, machine, reason


def options(root: Path, line: str) -> object:
    """What is kept of a command line."""
    return boot_options(machine(root, {"/proc/cmdline": line}))


@pytest.mark.parametrize(
    "text",
    [
        "iommu=pt",
        "intel_iommu=on,sm_on",
        "amd_iommu=off",
        "iommu.passthrough=1",
        "pci=noacs,realloc=off",
        "pcie_aspm=off",
        "pcie_acs_override=downstream",
        "numa_balancing=disable",
        "numa=off",
        "nvidia-drm.modeset=1",
        "nvidia.NVreg_EnableGpuFirmware=0",
        'nvidia.NVreg_RegistryDwords="RmA=1; RmB=2"',
        "amdgpu.gpu_recovery=0",
        "nouveau.modeset=0",
        "modprobe.blacklist=nouveau",
        "rd.driver.blacklist=nouveau",
        "pci-stub.ids=10de:2330",
        "hugepages=16",
    ],
)
def test_what_concerns_us_is_kept(tmp_path: Path, text: str) -> None:
    """An option of the IOMMU, the bus, NUMA or a driver stands as it was given."""
    assert options(tmp_path, f"BOOT_IMAGE=/vmlinuz ro {text} quiet") == text


@pytest.mark.parametrize(
    "text",
    [
        "root=UUID=5f0a",
        "nfsroot=10.0.0.1:/root,password=hunter2",
        "systemd.setenv=TOKEN=hunter2",
        "ds=nocloud;seedfrom=http://user:hunter2@seed/",
        'x="a iommu=pt hunter2"',
        "nvproxy.enable=1",
        "my_iommu=hunter2",
        "iommu_secret=hunter2",
        "cloud-config-url=http://x/?pci=hunter2",
    ],
)
def test_nothing_else_is_kept(tmp_path: Path, text: str) -> None:
    """Any other option may hold what is nobody's business."""
    assert options(tmp_path, f"{text} quiet") == ""


def test_what_follows_the_dashes_is_inits(tmp_path: Path) -> None:
    """The kernel reads nothing behind them."""
    assert options(tmp_path, "iommu=pt -- amd_iommu=off") == "iommu=pt"


def test_the_last_value_counts(tmp_path: Path) -> None:
    """An option may be given twice; one without a value has an empty one."""
    files = machine(tmp_path, {"/proc/cmdline": "iommu=off amd_iommu iommu=pt"})
    assert (option(files, "iommu"), option(files, "amd_iommu")) == ("pt", "")
    assert option(files, "intel_iommu") is None


def test_no_command_line(tmp_path: Path) -> None:
    """Without the file nothing is known."""
    assert reason(boot_options(Files(tmp_path))) == "not found"
    assert option(Files(tmp_path), "iommu") is None


@pytest.mark.parametrize("text", [*MALFORMED, '"', '"""', "=", '="'])
def test_malformed_lines_keep_nothing(tmp_path: Path, text: str) -> None:
    """Whatever stands there, nothing is raised."""
    assert options(tmp_path, text) == ""
