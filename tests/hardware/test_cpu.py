"""The CPU as the device of a rehearsal."""

from __future__ import annotations

import platform
from pathlib import Path

from preflight.hardware.cpu import CpuBackend
from preflight.hardware.files import Files

from .machines import machine


def test_there_is_one_cpu(tmp_path: Path) -> None:
    """A rehearsal has one device that torch calls cpu, whatever the number of sockets."""
    texts = {
        "/proc/cpuinfo": "model name : EPYC\n\nmodel name : EPYC",
        "/proc/meminfo": "MemTotal: 1048576 kB",
        "/proc/sys/kernel/arch": "x86_64",
    }
    sighting = CpuBackend(machine(tmp_path, texts)).look("node-a")
    (cpu,) = sighting.devices
    assert (cpu.name, cpu.kind, cpu.torch_device, cpu.node) == ("cpu", "cpu", "cpu", "node-a")
    assert (cpu.product, cpu.memory_GiB, cpu.architecture) == ("EPYC", 1.0, "x86_64")
    assert "--device cpu" in sighting.looked_for
    assert (sighting.hidden, sighting.absences) == ((), ())


def test_a_cpu_without_a_name_is_called_by_its_machine(tmp_path: Path) -> None:
    """Where the kernel tells no model, the architecture stands for it."""
    files = machine(tmp_path, {"/proc/sys/kernel/arch": "aarch64"})
    (cpu,) = CpuBackend(files).look("node-a").devices
    assert (cpu.product, cpu.memory_GiB) == ("aarch64", None)


def test_a_cpu_of_which_nothing_is_known(tmp_path: Path) -> None:
    """Another machine's CPU does not borrow this one's name."""
    (cpu,) = CpuBackend(Files(tmp_path)).look("node-a").devices
    assert (cpu.product, cpu.architecture) == ("unknown CPU", None)


def test_the_cpu_of_this_machine() -> None:
    """By default it is this one's."""
    (cpu,) = CpuBackend().look("node-a").devices
    assert cpu.architecture == platform.machine()
    assert cpu.memory_GiB is not None and cpu.memory_GiB > 0
