"""A stand-in for libnvidia-ml with the calls of telemetry: one H100 that copies over Gen5 x16.

Each method is one C function and fills what it is given by reference; nvidia-ml-py looks functions
up with ``getattr(pynvml.nvmlLib, name)``. No module of the vendor is imported here, so that a
child can put this behind its own.
"""

# ruff: noqa: D102 - each method is the C function of its name

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

SUCCESS = 0
NOT_FOUND = 6
SM_CLOCK, MEMORY_CLOCK = 1, 2
BUS = b"0000:1b:00.0"


class TelemetryNvml:
    """The library; change what it holds to break one thing."""

    def __init__(self) -> None:
        self.generations = [5]
        """One a call; the last one stays."""
        self.width = 16
        self.reasons = 0x04 | 0x20
        self.broken: dict[str, int] = {}
        """Function to the error it returns."""
        self.lacking: set[str] = set()
        """Functions that this version of the library does not have."""
        self.blocked: dict[str, int] = {}
        """Function that does not return to the number of calls in which it still does."""
        self.mark = ""
        """File that is made when a function blocks."""

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("nvml"):
            return super().__getattribute__(name)
        if name in self.lacking:
            raise AttributeError(name)
        function = super().__getattribute__(name)

        def call(*arguments: Any) -> Any:  # a function, since ctypes gives it attributes
            if name in self.blocked:
                self._block_after(name)
            return self.broken[name] if name in self.broken else function(*arguments)

        return call

    def _block_after(self, name: str) -> None:
        self.blocked[name] -= 1
        if self.blocked[name] < 0:
            if self.mark:
                Path(self.mark).touch()
            time.sleep(10**6)

    def nvmlInitWithFlags(self, flags: int) -> int:
        return SUCCESS

    def nvmlShutdown(self) -> int:
        return SUCCESS

    def nvmlErrorString(self, code: int) -> bytes:
        return f"error {code} in the driver's own words".encode()

    def nvmlDeviceGetHandleByPciBusId_v2(self, bus: Any, handle: Any) -> int:
        return SUCCESS if bus.value == BUS else NOT_FOUND

    def nvmlDeviceGetCurrPcieLinkGeneration(self, handle: Any, generation: Any) -> int:
        generation._obj.value = self.generations[0]
        self.generations = self.generations[1:] or self.generations
        return SUCCESS

    def nvmlDeviceGetCurrPcieLinkWidth(self, handle: Any, width: Any) -> int:
        width._obj.value = self.width
        return SUCCESS

    def nvmlDeviceGetClockInfo(self, handle: Any, kind: Any, clock: Any) -> int:
        clock._obj.value = {SM_CLOCK: 1980, MEMORY_CLOCK: 2619}[kind.value]
        return SUCCESS

    def nvmlDeviceGetPowerUsage(self, handle: Any, milliwatts: Any) -> int:
        milliwatts._obj.value = 691_250
        return SUCCESS

    def nvmlDeviceGetTemperature(self, handle: Any, sensor: Any, celsius: Any) -> int:
        celsius._obj.value = 61
        return SUCCESS

    def nvmlDeviceGetCurrentClocksEventReasons(self, handle: Any, bits: Any) -> int:
        bits._obj.value = self.reasons
        return SUCCESS

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: Any, bits: Any) -> int:
        bits._obj.value = self.reasons
        return SUCCESS

    def nvmlDeviceGetMemoryInfo(self, handle: Any, memory: Any) -> int:
        memory._obj.used = 3 << 30
        return SUCCESS
