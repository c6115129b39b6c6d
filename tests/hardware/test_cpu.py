"""The CPU as the device of a rehearsal."""

from __future__ import annotations

import platform
from pathlib import Path

from preflight.hardware.cpu import CpuBackend


def test_there_is_one_cpu(tmp_path: Path) -> None:
    """A rehearsal has one device that torch calls cpu, whatever the number of sockets."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/cpuinfo").write_text("model name : EPYC\n\nmodel name : EPYC\n")
    (tmp_path / "proc/meminfo").write_text("MemTotal: 1048576 kB\n")
    sighting = CpuBackend(tmp_path).look("node-a")
    (cpu,) = sighting.devices
    assert (cpu.name, cpu.kind, cpu.torch_device, cpu.node) == ("cpu", "cpu", "cpu", "node-a")
    assert (cpu.product, cpu.memory_GiB) == ("EPYC", 1.0)
    assert "--device cpu" in sighting.looked_for
    assert (sighting.hidden, sighting.absences) == ((), ())


def test_a_cpu_without_a_name_is_called_by_its_machine(tmp_path: Path) -> None:
    """Where the kernel tells no model, the architecture stands for it."""
    (cpu,) = CpuBackend(tmp_path).look("node-a").devices
    assert cpu.product == platform.machine()
    assert cpu.memory_GiB is None
