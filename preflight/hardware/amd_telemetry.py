"""Telemetry of AMD devices, from the files of the amdgpu driver in sysfs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeVar

from preflight import clock
from preflight.facts import Absence, Number
from preflight.hardware.files import Files
from preflight.hardware.telemetry import Sample

GIB = 1024**3
DEVICES = "/sys/bus/pci/devices"
AMD = "0x1002"
"""The vendor of AMD's cards; its CPUs and their root ports are 0x1022."""
GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
"""GT/s of a lane to generation (PCI-SIG); the kernel writes ``32.0 GT/s PCIe``."""
_CURRENT_LEVEL = re.compile(r"^\s*\w+:\s*(\d+)\s*Mhz\s*\*", re.MULTILINE | re.IGNORECASE)

_T = TypeVar("_T")


class AmdTelemetry:
    """Reads what ``files`` shows, so that a folder of captured files is a machine too."""

    def __init__(self, began_s: float, files: Files | None = None) -> None:
        self._began_s = began_s
        self._files = files or Files()

    def sample(self, pci: str) -> Sample:
        """One look at the device; it tells what slows it down in a binary table alone."""
        at_s = clock.seconds() - self._began_s
        folder = f"{DEVICES}/{pci}"
        link = self._slot(folder)
        return Sample(
            at_s=at_s,
            pcie_generation=self._read(f"{link}/current_link_speed", generation),
            pcie_width=self._read(f"{link}/current_link_width", lanes),
            sm_MHz=self._read(f"{folder}/pp_dpm_sclk", current_MHz),
            memory_MHz=self._read(f"{folder}/pp_dpm_mclk", current_MHz),
            power_W=self._sensor(folder, ("power1_average", "power1_input"), 1e6),
            temperature_C=self._sensor(folder, ("temp1_input", "temp2_input"), 1e3),
            memory_used_GiB=self._read(
                f"{folder}/mem_info_vram_used", lambda text: round(int(text) / GIB, 3)
            ),
        )

    def _slot(self, folder: str) -> str:
        """Folder of the function that sits in the slot.

        Many cards hold a PCIe switch of their own, behind which the device's link is always at its
        best; what counts is the outermost bridge of the card.
        """
        root = self._files.root.resolve()
        found = self._files.at(folder).resolve()
        while found.parent.is_relative_to(root):
            above = f"/{found.parent.relative_to(root)}"
            if self._files.text(f"{above}/vendor") != AMD:
                break
            found = found.parent
        return f"/{found.relative_to(root)}" if found.is_relative_to(root) else folder

    def _sensor(self, folder: str, names: tuple[str, ...], unit: float) -> Number:
        """The first of some files of the device's hwmon, of which products have one or another."""
        monitors = self._files.names(f"{folder}/hwmon")
        if isinstance(monitors, Absence):
            return monitors
        found: Number = Absence(what=f"{folder}/hwmon", reason="not found")
        for monitor in monitors:
            for name in names:
                path = f"{folder}/hwmon/{monitor}/{name}"
                found = self._read(path, lambda text: int(text) / unit)
                if not isinstance(found, Absence):
                    return found
        return found

    def _read(self, path: str, convert: Callable[[str], _T]) -> _T | Absence:
        text = self._files.text(path)
        if isinstance(text, Absence):
            return text
        try:
            return convert(text)
        except ValueError:
            return Absence(what=path, reason="not readable", detail=text[:80])


def generation(text: str) -> int:
    """5 from ``32.0 GT/s PCIe``; ValueError for a speed that is none."""
    words = text.split()
    found = GENERATIONS.get(float(words[0])) if words else None
    if found is None:
        raise ValueError(text)
    return found


def lanes(text: str) -> int:
    """Width of a link; ValueError for the 0 and 63 of a function without one."""
    found = int(text)
    if not 0 < found <= 32:
        raise ValueError(text)
    return found


def current_MHz(text: str) -> int:
    """2100 from the line of ``1: 2100Mhz *``; ValueError where no level is marked."""
    found = _CURRENT_LEVEL.search(text)
    if found is None:
        raise ValueError(text)
    return int(found[1])
