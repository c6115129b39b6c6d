"""The CPU as the device of a rehearsal."""

from __future__ import annotations

import platform
from pathlib import Path

from preflight.hardware.host import cpu_name, memory_GiB
from preflight.hardware.protocol import Say, Sighting, silent
from preflight.records import Device


class CpuBackend:
    """One device, whatever the number of sockets."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def look(self, node: str, say: Say = silent) -> Sighting:
        """The CPU, always there."""
        device = Device(
            name="cpu",
            node=node,
            kind="cpu",
            product=cpu_name(self._root) or platform.machine(),
            torch_device="cpu",
            memory_GiB=memory_GiB(self._root),
            architecture=platform.machine(),
        )
        return Sighting(looked_for="the CPU, asked for by --device cpu", devices=(device,))
