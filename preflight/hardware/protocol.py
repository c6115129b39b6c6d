"""What a backend of the machine can be asked."""

from __future__ import annotations

from typing import Protocol

import msgspec

from preflight.events import Absence
from preflight.records import Device


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """What one backend saw; an absence is never a zero."""

    looked_for: str
    """Sentence for a person: ``NVML: libnvidia-ml.so.1 is not installed``."""
    devices: tuple[Device, ...] = ()
    """Devices that the launching environment shows, in the driver's order."""
    hidden: tuple[str, ...] = ()
    """Devices that exist and are hidden, with what hides them."""
    absences: tuple[Absence, ...] = ()


class Backend(Protocol):
    """A family of devices.

    Implementations may block for ever inside a vendor's driver: they are called in a child process
    under a deadline, and only there.
    """

    def look(self, node: str) -> Sighting:
        """Devices of ``node``; never raises for a missing driver, which is an absence."""
        ...
