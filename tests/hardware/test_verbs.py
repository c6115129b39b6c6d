"""What lets RDMA reach user space and the memory of an accelerator."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.hardware.files import Files
from preflight.hardware.verbs import peer_memory, verbs_library

from .machines import MALFORMED, machine, reason

LIBRARY = "libibverbs.so.1"
OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.65.06  Release Build"
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  Sun Jul 27"
AMD = "amdgpu 19898368 8 - Live 0x0000000000000000"
NVIDIA = "nvidia_uvm 2 0 - Live 0x0\nnvidia 14376960 1 nvidia_uvm, Live 0x0"


@pytest.mark.parametrize(
    "folder", ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib"]
)
def test_the_library_in_the_folders_of_a_distribution(tmp_path: Path, folder: str) -> None:
    """Debian's and Red Hat's families keep it in different places."""
    files = machine(tmp_path, {f"{folder}/{LIBRARY}": ""})
    assert verbs_library(files, {}) == f"{folder}/{LIBRARY}"


def test_folders_of_the_environment_come_first(tmp_path: Path) -> None:
    """LD_LIBRARY_PATH wins; relative and empty entries count from a folder nobody knows."""
    files = machine(
        tmp_path, {f"{place}/{LIBRARY}": "" for place in ("/usr/lib", "/here", "/opt/ofed")}
    )
    environ = {"LD_LIBRARY_PATH": "::here:../here:/nowhere:/opt/ofed/"}
    assert verbs_library(files, environ) == f"/opt/ofed/{LIBRARY}"
    assert verbs_library(files, {}) == f"/usr/lib/{LIBRARY}"


def test_folders_that_are_configured(tmp_path: Path) -> None:
    """A vendor's package names its folder to ld.so."""
    texts = {
        "/etc/ld.so.conf.d/ofed.conf": "# OFED\n/opt/ofed/lib \nrelative",
        "/etc/ld.so.conf.d/readme": "/opt/other",
        f"/opt/ofed/lib/{LIBRARY}": "",
        f"/opt/other/{LIBRARY}": "",
    }
    assert verbs_library(machine(tmp_path, texts), {}) == f"/opt/ofed/lib/{LIBRARY}"


def test_without_the_library(tmp_path: Path) -> None:
    """A library for developers, or of another version, is not the one that is opened."""
    files = machine(tmp_path, {"/usr/lib/libibverbs.so": "", "/usr/lib/libibverbs.so.2": ""})
    assert reason(verbs_library(files, {})) == "not found"
    assert reason(verbs_library(files, {"LD_LIBRARY_PATH": "/\0:/usr/lib"})) == "not found"


@pytest.mark.parametrize("module", ["nvidia_peermem", "nv_peer_mem"])
def test_modules_of_nvidia(tmp_path: Path, module: str) -> None:
    """The module of the driver, and the one before it."""
    text = f"{NVIDIA}\n{module} 16384 0 - Live 0x0"
    assert peer_memory(machine(tmp_path, {"/proc/modules": text})) == module


@pytest.mark.parametrize(
    ("version", "release", "word"),
    [
        (OPEN, "6.8.0-60-generic", "dmabuf"),
        (OPEN, "5.12.0", "dmabuf"),
        (OPEN, "5.4.0-216-generic", "none"),
        (CLOSED, "6.8.0-60-generic", "none"),
    ],
)
def test_nvidia_without_a_module(tmp_path: Path, version: str, release: str, word: str) -> None:
    """The open driver exports memory as dma-buf on kernels that know it."""
    texts = {
        "/proc/modules": NVIDIA,
        "/proc/driver/nvidia/version": version,
        "/proc/sys/kernel/osrelease": release,
    }
    assert peer_memory(machine(tmp_path, texts)) == word


@pytest.mark.parametrize("place", ["/sys/kernel/mm", "/sys/kernel", "/sys"])
def test_amd_with_peer_memory(tmp_path: Path, place: str) -> None:
    """The place of the list depends on the version of the module."""
    texts = {"/proc/modules": AMD, f"{place}/memory_peers/amdkfd/version": "1.0"}
    assert peer_memory(machine(tmp_path, texts)) == "amdkfd"


@pytest.mark.parametrize(
    ("configuration", "word"),
    [
        ("CONFIG_PCI_P2PDMA=y\nCONFIG_DMABUF_MOVE_NOTIFY=y", "dmabuf"),
        ("CONFIG_PCI_P2PDMA=y\n# CONFIG_DMABUF_MOVE_NOTIFY is not set", "none"),
        ("", "none"),
    ],
)
def test_amd_by_the_configuration_of_the_kernel(
    tmp_path: Path, configuration: str, word: str
) -> None:
    """Both options are needed."""
    texts = {
        "/proc/modules": AMD,
        "/proc/sys/kernel/osrelease": "6.8.0-60-generic",
        "/boot/config-6.8.0-60-generic": configuration,
    }
    assert peer_memory(machine(tmp_path, texts)) == word


def test_what_cannot_be_read_is_not_none(tmp_path: Path) -> None:
    """A container lacks the configuration of the kernel, a sandbox the list of modules."""
    assert reason(peer_memory(Files(tmp_path))) == "not found"
    texts = {"/proc/modules": AMD, "/proc/sys/kernel/osrelease": "6.8.0"}
    assert reason(peer_memory(machine(tmp_path / "amd", texts))) == "not found"
    assert reason(peer_memory(machine(tmp_path / "nv", {"/proc/modules": NVIDIA}))) == "not found"


def test_a_machine_without_accelerators(tmp_path: Path) -> None:
    """Without their drivers nothing exports memory."""
    assert peer_memory(machine(tmp_path, {"/proc/modules": "ext4 1 1 - Live 0x0"})) == "none"


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_files_raise_nothing(tmp_path: Path, text: str) -> None:
    """Torn lists name no module and no version."""
    texts = {"/proc/driver/nvidia/version": text, "/proc/sys/kernel/osrelease": text}
    assert peer_memory(machine(tmp_path, {**texts, "/proc/modules": NVIDIA})) == "none"
    assert peer_memory(machine(tmp_path, {"/proc/modules": text})) == "none"
