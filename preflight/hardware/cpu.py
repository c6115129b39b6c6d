"""The CPU as the device of a rehearsal."""

from __future__ import annotations

from preflight.facts import known
from preflight.hardware.files import Files
from preflight.hardware.memory import memory_GiB
from preflight.hardware.processors import architecture, cpu_name
from preflight.hardware.protocol import Say, Sighting, silent
from preflight.records import Device


class CpuBackend:
    """One device, whatever the number of sockets."""

    def __init__(self, files: Files | None = None) -> None:
        self._files = files or Files()

    def look(self, node: str, say: Say = silent) -> Sighting:
        """The CPU, always there."""
        kind = architecture(self._files)
        device = Device(
            name="cpu",
            node=node,
            kind="cpu",
            product=cpu_name(self._files) or kind or "unknown CPU",
            torch_device="cpu",
            memory_GiB=known(memory_GiB(self._files)),
            architecture=kind,
        )
        return Sighting(looked_for="the CPU, asked for by --device cpu", devices=(device,))
