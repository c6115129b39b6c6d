"""What a backend of the machine can be asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import msgspec

from preflight.facts import Absence, Card, Driver, Grid
from preflight.records import Device

Say = Callable[[str], None]
"""Takes the name of the vendor's call or the file that is asked next, before it is asked, so that
the supervisor can name the one that never answered."""


def silent(call: str) -> None:
    """A Say for those who do not listen."""


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """What one backend saw; an absence is never a zero."""

    looked_for: str
    """Sentence for a person: ``NVML: libnvidia-ml.so.1 is not installed``."""
    devices: tuple[Device, ...] = ()
    """Devices that the launching environment shows, in the driver's order."""
    cards: tuple[Card, ...] = ()
    """Health and configuration of ``devices``, in the same order."""
    hidden: tuple[str, ...] = ()
    """Devices that exist and are hidden, with what hides them."""
    driver: Driver = Driver()
    topology: Grid | None = None
    peers: Grid | None = None
    absences: tuple[Absence, ...] = ()
    """What could not be read of the machine as a whole, or of the identity of a device."""


class Backend(Protocol):
    """A family of devices.

    Implementations may block for ever inside a vendor's driver: they are called in a child process
    under a deadline, and only there.
    """

    def look(self, node: str, say: Say = silent) -> Sighting:
        """Devices of ``node``; never raises for a missing driver, which is an absence."""
        ...
