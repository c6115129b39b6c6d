"""Telemetry of NVIDIA devices, through NVML (nvidia-ml-py)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import pynvml

from preflight import clock
from preflight.facts import Absence
from preflight.hardware.telemetry import Sample

GIB = 1024**3

SLOWED_BY = (
    (0x001, "gpu idle"),
    (0x002, "applications clocks setting"),
    (0x004, "sw power cap"),
    (0x008, "hw slowdown"),
    (0x010, "sync boost"),
    (0x020, "sw thermal slowdown"),
    (0x040, "hw thermal slowdown"),
    (0x080, "hw power brake slowdown"),
    (0x100, "display clock setting"),
    (0x200, "board limit"),
    (0x400, "reliability"),
)
"""Bits of the reasons that hold a clock back (nvml.h, nvmlClocksEventReason*)."""

_REASONS = {
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: "not found",
    pynvml.NVML_ERROR_NOT_FOUND: "not found",
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "driver not loaded",
    pynvml.NVML_ERROR_NOT_SUPPORTED: "not supported",
    pynvml.NVML_ERROR_NO_PERMISSION: "no permission",
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: "driver lacks the call",
    pynvml.NVML_ERROR_GPU_IS_LOST: "device lost",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "library and kernel module differ",
}

_T = TypeVar("_T")


class NvidiaTelemetry:
    """NVML, opened with the first sample and left open until the process ends."""

    def __init__(self, began_s: float) -> None:
        self._began_s = began_s
        self._is_open = False
        self._handles: dict[str, Any] = {}

    def sample(self, pci: str) -> Sample:
        """One look at the device; the link is asked first, since it is what rests soonest."""
        handle = _ask("NVML", lambda: self._handle(pci))
        at_s = clock.seconds() - self._began_s
        if isinstance(handle, Absence):
            return _nothing(at_s, handle)
        return Sample(
            at_s=at_s,
            pcie_generation=_ask(
                "PCIe generation", lambda: int(pynvml.nvmlDeviceGetCurrPcieLinkGeneration(handle))
            ),
            pcie_width=_ask(
                "PCIe width", lambda: int(pynvml.nvmlDeviceGetCurrPcieLinkWidth(handle))
            ),
            sm_MHz=_ask("SM clock", lambda: _clock_MHz(handle, pynvml.NVML_CLOCK_SM)),
            memory_MHz=_ask("memory clock", lambda: _clock_MHz(handle, pynvml.NVML_CLOCK_MEM)),
            power_W=_ask("power", lambda: pynvml.nvmlDeviceGetPowerUsage(handle) / 1000),
            temperature_C=_ask(
                "temperature",
                lambda: float(pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU)),
            ),
            slowed_by=_ask("clock event reasons", lambda: _slowed_by(handle)),
            memory_used_GiB=_ask(
                "memory", lambda: round(int(pynvml.nvmlDeviceGetMemoryInfo(handle).used) / GIB, 3)
            ),
        )

    def _handle(self, pci: str) -> Any:
        if not self._is_open:
            pynvml.nvmlInit()
            self._is_open = True
        if pci not in self._handles:
            self._handles[pci] = pynvml.nvmlDeviceGetHandleByPciBusId(pci)
        return self._handles[pci]


def _ask(what: str, call: Callable[[], _T]) -> _T | Absence:
    try:
        return call()
    except pynvml.NVMLError as error:
        reason = _REASONS.get(error.value, "failed")
        return Absence(what=what, reason=reason, detail=str(error))


def _clock_MHz(handle: Any, kind: int) -> int:
    return int(pynvml.nvmlDeviceGetClockInfo(handle, kind))


def _slowed_by(handle: Any) -> tuple[str, ...]:
    """By the call's new name, or by its old one where binding or driver is older than that."""
    old = pynvml.nvmlDeviceGetCurrentClocksThrottleReasons
    try:
        bits = int(getattr(pynvml, "nvmlDeviceGetCurrentClocksEventReasons", old)(handle))
    except pynvml.NVMLError_FunctionNotFound:
        bits = int(old(handle))
    return tuple(word for bit, word in SLOWED_BY if bits & bit)


def _nothing(at_s: float, absence: Absence) -> Sample:
    """A moment at which not even the device could be found."""
    return Sample(
        at_s=at_s,
        pcie_generation=absence,
        pcie_width=absence,
        sm_MHz=absence,
        memory_MHz=absence,
        power_W=absence,
        temperature_C=absence,
        slowed_by=absence,
        memory_used_GiB=absence,
    )
