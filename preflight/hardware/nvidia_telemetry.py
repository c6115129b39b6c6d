"""Telemetry of NVIDIA devices, through NVML."""

from __future__ import annotations

from typing import Any

from preflight import clock
from preflight.facts import Absence
from preflight.hardware.nvidia_card import clock_reasons
from preflight.hardware.nvidia_identity import GIB
from preflight.hardware.nvml_calls import Asking, as_is
from preflight.hardware.protocol import silent
from preflight.hardware.telemetry import Sample

_SM, _MEMORY = 1, 2
"""nvmlClockType_t."""
_REASONS = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
"""The same question: NVIDIA renamed it in R535."""
_TEMPERATURES = ("nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureV")
_CARD_SENSOR = 0
"""nvmlTemperatureSensors_t."""


class NvidiaTelemetry:
    """NVML, opened with the first sample and left open until the process ends."""

    def __init__(self, began_s: float) -> None:
        self._began_s = began_s
        self._system = Asking(silent)
        self._is_open = False
        self._handles: dict[str, Any] = {}

    def sample(self, pci: str) -> Sample:
        """One look at the device; the link is asked first, since it rests soonest."""
        handle = self._handle(pci)
        at_s = clock.seconds() - self._began_s
        if isinstance(handle, Absence):
            facts = (name for name in Sample.__struct_fields__ if name != "at_s")
            return Sample(at_s=at_s, **dict.fromkeys(facts, handle))
        card = self._system.about(pci, handle)
        return Sample(
            at_s=at_s,
            pcie_generation=card.whole("nvmlDeviceGetCurrPcieLinkGeneration"),
            pcie_width=card.whole("nvmlDeviceGetCurrPcieLinkWidth"),
            sm_MHz=card.whole("nvmlDeviceGetClockInfo", _SM),
            memory_MHz=card.whole("nvmlDeviceGetClockInfo", _MEMORY),
            power_W=card.value(
                "nvmlDeviceGetPowerUsage", read=lambda milliwatts: milliwatts / 1000
            ),
            temperature_C=card.first(_TEMPERATURES, _CARD_SENSOR, read=float),
            slowed_by=card.first(_REASONS, read=clock_reasons),
            memory_used_GiB=card.value(
                "nvmlDeviceGetMemoryInfo", read=lambda memory: round(int(memory.used) / GIB, 3)
            ),
        )

    def _handle(self, pci: str) -> Any:
        """What NVML calls the device; an absence while it cannot be had."""
        if not self._is_open:
            opened = self._system.value("nvmlInit", read=as_is)
            if isinstance(opened, Absence):
                return opened
            self._is_open = True
        if pci not in self._handles:
            found = self._system.value("nvmlDeviceGetHandleByPciBusId", pci, read=as_is)
            if isinstance(found, Absence):
                return found
            self._handles[pci] = found
        return self._handles[pci]
