"""What a device says of itself while it works; each answer may block inside a driver."""

from __future__ import annotations

from typing import Protocol

import msgspec

from preflight import clock
from preflight.facts import NOT_ASKED, Absence, Number, Whole


class Sample(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One look at one device; what could not be read is an absence with its reason."""

    at_s: float
    """Seconds since the sampling began, just before the device was asked."""
    pcie_generation: Whole = NOT_ASKED
    """Of the link as it is now; an idle one rests at generation 1."""
    pcie_width: Whole = NOT_ASKED
    """Lanes in use."""
    sm_MHz: Whole = NOT_ASKED
    memory_MHz: Whole = NOT_ASKED
    power_W: Number = NOT_ASKED
    temperature_C: Number = NOT_ASKED
    slowed_by: tuple[str, ...] | Absence = NOT_ASKED
    """What holds the clock back, in NVML's words: ``sw power cap``; empty where nothing does."""
    memory_used_GiB: Number = NOT_ASKED


class Telemetry(Protocol):
    """Asks one family of devices.

    Implementations may block for ever inside a vendor's driver: they are called in a child process
    that can be killed, and only there. They are made with the moment of the monotonic clock from
    which samples count.
    """

    def sample(self, pci: str) -> Sample:
        """The device at a PCI address, ``0000:9a:00.0``; never raises for what a driver refuses."""
        ...


class CpuTelemetry:
    """The CPU of a rehearsal: it has no link to itself, and its clocks are not asked."""

    def __init__(self, began_s: float) -> None:
        self._began_s = began_s

    def sample(self, pci: str) -> Sample:
        """The moment, and nothing else."""
        return Sample(at_s=clock.seconds() - self._began_s)
