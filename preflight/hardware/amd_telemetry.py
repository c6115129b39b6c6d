"""Telemetry of AMD devices, from the files of the amdgpu driver in sysfs."""

from __future__ import annotations

from preflight import clock
from preflight.hardware.amd_pcie import read_pcie
from preflight.hardware.amd_sensors import Sensors
from preflight.hardware.attributes import scaled
from preflight.hardware.files import Files
from preflight.hardware.telemetry import Sample

GIB = 1024**3
DEVICES = "/sys/bus/pci/devices"


class AmdTelemetry:
    """Reads what ``files`` shows, so that a folder of captured files is a machine too."""

    def __init__(self, began_s: float, files: Files | None = None) -> None:
        self._began_s = began_s
        self._files = files or Files()

    def sample(self, pci: str) -> Sample:
        """One look at the device; what slows it down is told in a binary table alone."""
        at_s = clock.seconds() - self._began_s
        folder = f"{DEVICES}/{pci}"
        link = read_pcie(self._files, folder)
        sensors = Sensors(self._files, folder)
        clocks = sensors.clocks()
        return Sample(
            at_s=at_s,
            pcie_generation=link.generation,
            pcie_width=link.width,
            sm_MHz=clocks.sm_MHz,
            memory_MHz=clocks.memory_MHz,
            power_W=sensors.power().draw_W,
            temperature_C=sensors.temperature().card_C,
            slowed_by=clocks.slowed_by,
            memory_used_GiB=scaled(self._files, f"{folder}/mem_info_vram_used", GIB),
        )
