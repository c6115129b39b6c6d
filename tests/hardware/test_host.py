"""Facts of the host, from captured files and from this machine."""

from __future__ import annotations

import os
import platform
import resource
import socket
from pathlib import Path

import pytest

from preflight.hardware.host import cpu_name, memory_GiB, read_host


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small host outside any container."""
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    for name in ("proc", "etc", "dev/shm", "run"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "proc/cpuinfo").write_text(
        "processor\t: 0\nmodel name\t: AMD EPYC 9654 96-Core Processor \nprocessor\t: 1\n"
        "model name\t: another\n"
    )
    (tmp_path / "proc/meminfo").write_text("MemTotal:       1584738304 kB\nMemFree: 12 kB\n")
    (tmp_path / "etc/os-release").write_text('ID=ubuntu\nPRETTY_NAME="Ubuntu 24.04.3 LTS"\n')
    return tmp_path


def test_a_host_is_read(root: Path) -> None:
    """The files of the host and this process's own limits give every fact."""
    host = read_host(root)
    assert host.name == socket.gethostname()
    assert host.kernel == platform.release()
    assert host.machine == platform.machine()
    assert host.distribution == "Ubuntu 24.04.3 LTS"
    assert host.cpu == "AMD EPYC 9654 96-Core Processor"
    assert host.memory_GiB == 1511.32
    assert host.cores == len(os.sched_getaffinity(0))
    assert host.shm_GiB is not None and host.shm_GiB > 0
    assert host.container is None


def test_what_cannot_be_read_is_none(tmp_path: Path) -> None:
    """A host without files has unknown facts, never zeros."""
    host = read_host(tmp_path)
    assert (host.distribution, host.cpu, host.memory_GiB, host.shm_GiB) == (None,) * 4


def test_an_arm_machine_names_no_model(root: Path) -> None:
    """cpuinfo without a model name gives None."""
    (root / "proc/cpuinfo").write_text("processor\t: 0\nBogoMIPS\t: 2000.00\n")
    assert cpu_name(root) is None


def test_memory_of_another_form_is_unknown(root: Path) -> None:
    """A line that is not as the kernel writes it is not guessed at."""
    (root / "proc/meminfo").write_text("MemTotal: many\n")
    assert memory_GiB(root) is None


def test_bytes_that_are_no_text_do_not_stop_the_reading(root: Path) -> None:
    """A distribution may write what it likes into os-release."""
    (root / "etc/os-release").write_bytes(b"PRETTY_NAME=Caf\xe9 Linux\n")
    assert read_host(root).distribution == "Caf\ufffd Linux"


@pytest.mark.parametrize(
    ("sign", "container"), [(".dockerenv", "docker"), ("run/.containerenv", "podman")]
)
def test_a_container_is_known_by_its_sign(root: Path, sign: str, container: str) -> None:
    """Docker and Podman leave a file."""
    (root / sign).touch()
    assert read_host(root).container == container


def test_kubernetes_is_known_by_its_variable(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pod has the address of its service, which wins over the runtime's own sign."""
    (root / ".dockerenv").touch()
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert read_host(root).container == "kubernetes"


def test_limits_are_soft_ones_in_their_units(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locked memory is in KiB, open files are counted, and unlimited is -1."""
    limits = {
        resource.RLIMIT_MEMLOCK: (8 * 1024**2, resource.RLIM_INFINITY),
        resource.RLIMIT_NOFILE: (resource.RLIM_INFINITY, resource.RLIM_INFINITY),
    }
    monkeypatch.setattr(resource, "getrlimit", limits.__getitem__)
    host = read_host(root)
    assert (host.memlock_KiB, host.open_files) == (8192, -1)
