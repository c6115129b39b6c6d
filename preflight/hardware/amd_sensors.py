"""Heat, power and clocks of a card of AMD, from the hwmon folder that amdgpu fills."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from preflight.facts import Absence, Clocks, Number, Power, Temperature, Whole
from preflight.hardware.attributes import scaled, unreadable, whole
from preflight.hardware.files import Files

PER_DEGREE = 1000
PER_WATT = 1_000_000
PER_MHZ = 1_000_000
"""Units of hwmon (linux Documentation/hwmon/sysfs-interface)."""
OF_THE_CARD = ("junction", "edge")
"""Labels of the card's own temperature: the hottest point, else the rim."""
_LEVEL = re.compile(r"^\s*(\d+):\s*(\d{1,9})\s*Mhz\b", re.MULTILINE | re.IGNORECASE)
"""A level of a clock's table, ``1: 2100Mhz *``; ``S:`` is the one of sleep."""

_T = TypeVar("_T")


class Sensors:
    """The hwmon folder of one card; where there is none each fact is an absence."""

    def __init__(self, files: Files, device: str) -> None:
        """``device`` is the card's folder, ``/sys/bus/pci/devices/0000:05:00.0``."""
        self._files = files
        self._device = device
        self._folder = self._find(f"{device}/hwmon")

    def temperature(self) -> Temperature:
        """``crit`` is where the card slows down and ``emergency`` where it stops, as in amd-smi."""
        card, memory = self._channel("temp", *OF_THE_CARD), self._channel("temp", "mem")
        return Temperature(
            card_C=self._read(card, "input", PER_DEGREE),
            memory_C=self._read(memory, "input", PER_DEGREE),
            slowdown_C=self._read(card, "crit", PER_DEGREE),
            shutdown_C=self._read(card, "emergency", PER_DEGREE),
        )

    def power(self) -> Power:
        """The average where the card has one, else the draw of the moment."""
        average = self._read("power1", "average", PER_WATT)
        now = self._read("power1", "input", PER_WATT)
        return Power(
            draw_W=now if isinstance(average, Absence) else average,
            limit_W=self._read("power1", "cap", PER_WATT),
            default_limit_W=self._read("power1", "cap_default", PER_WATT),
            max_limit_W=self._read("power1", "cap_max", PER_WATT),
        )

    def clocks(self) -> Clocks:
        """Clocks of the compute units and of memory; what slows them is not told in text."""
        return Clocks(
            sm_MHz=self._frequency("sclk"),
            sm_max_MHz=self._highest("pp_dpm_sclk"),
            memory_MHz=self._frequency("mclk"),
            memory_max_MHz=self._highest("pp_dpm_mclk"),
        )

    def _find(self, above: str) -> str | Absence:
        names = self._files.names(above)
        if isinstance(names, Absence):
            return names
        folders = [f"{above}/{name}" for name in names if name.startswith("hwmon")]
        ours = [f for f in folders if self._files.text(f"{f}/name") == "amdgpu"]
        if ours or folders:
            return (ours or folders)[0]
        return Absence(what=above, reason="not found", detail="the folder is empty")

    def _channel(self, kind: str, *labels: str) -> str | Absence:
        """``temp2`` whose label is the first of ``labels`` that the card has."""
        if isinstance(self._folder, Absence):
            return self._folder
        names = self._files.names(self._folder)
        if isinstance(names, Absence):
            return names
        ends = [n for n in names if n.startswith(kind) and n.endswith("_label")]
        found = {self._files.text(f"{self._folder}/{name}"): name for name in ends}
        for label in labels:
            if label in found:
                return found[label].removesuffix("_label")
        what = f"{kind} of {' or '.join(labels)} in {self._folder}"
        return Absence(what=what, reason="not found")

    def _read(self, channel: str | Absence, what: str, divisor: int) -> Number:
        return self._in(channel, what, lambda path: scaled(self._files, path, divisor))

    def _frequency(self, label: str) -> Whole:
        hertz = self._in(
            self._channel("freq", label), "input", lambda path: whole(self._files, path, least=0)
        )
        return hertz if isinstance(hertz, Absence) else round(hertz / PER_MHZ)

    def _in(
        self, channel: str | Absence, what: str, read: Callable[[str], _T | Absence]
    ) -> _T | Absence:
        if isinstance(channel, Absence):
            return channel
        if isinstance(self._folder, Absence):
            return self._folder
        return read(f"{self._folder}/{channel}_{what}")

    def _highest(self, table: str) -> Whole:
        path = f"{self._device}/{table}"
        found = self._files.text(path)
        if isinstance(found, Absence):
            return found
        levels = [int(match[2]) for match in _LEVEL.finditer(found)]
        return max(levels) if levels else unreadable(path, found)
