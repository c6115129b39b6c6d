"""AMD devices, from the KFD topology in sysfs; no library of the vendor is loaded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from preflight.facts import Absence
from preflight.hardware.protocol import Say, Sighting, silent
from preflight.hardware.visibility import AMD_VARIABLES, visible
from preflight.records import Device

GIB = 1024**3
TOPOLOGY = "sys/class/kfd/kfd/topology/nodes"
VRAM_HEAPS = ("1", "2")
"""heap_type of a memory bank: 1 and 2 are public and private frame buffer (linux kfd_sysfs.h)."""


class AmdBackend:
    """Reads below ``root``, so that a folder of captured files is a machine too."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def look(self, node: str, say: Say = silent) -> Sighting:
        """Devices in the order of the KFD nodes, which is the one that HIP counts in."""
        topology = self._root / TOPOLOGY
        if not topology.is_dir():
            absence = Absence(what="KFD", reason="not found", detail=f"/{TOPOLOGY} does not exist")
            return Sighting(looked_for="KFD of the amdgpu driver: not found", absences=(absence,))
        absences: list[Absence] = []
        devices: list[Device] = []
        for folder in sorted(topology.iterdir(), key=lambda path: int(path.name)):
            try:
                properties = _properties(folder / "properties")
            except OSError as error:
                absences.append(_unreadable(folder / "properties", error))
                continue
            if int(properties.get("simd_count", "0")) > 0:  # a node without SIMDs is a CPU
                devices.append(self._device(folder, properties, len(devices), node, absences))
        absences += self._device_files()
        shown, hiding = visible([d.uuid for d in devices], os.environ, AMD_VARIABLES)
        hidden = [d for i, d in enumerate(devices) if i not in shown]
        return Sighting(
            looked_for=f"KFD: {len(devices)} device(s)",
            devices=tuple(devices[i] for i in sorted(shown)),
            hidden=tuple(f"{d.name} ({d.product}) by {', '.join(hiding)}" for d in hidden),
            absences=tuple(absences),
        )

    def _device(
        self,
        folder: Path,
        properties: Mapping[str, str],
        index: int,
        node: str,
        absences: list[Absence],
    ) -> Device:
        name = f"gpu{index}"
        pci = _pci(properties)
        unique = int(properties.get("unique_id", "0"))
        version = int(properties.get("gfx_target_version", "0"))  # old kernels do not tell it
        return Device(
            name=name,
            node=node,
            kind="hip",
            product=self._product(pci) or f"AMD device {int(properties.get('device_id', 0)):#06x}",
            uuid=f"GPU-{unique:016x}" if unique else None,
            pci=pci,
            memory_GiB=_memory_GiB(folder, name, absences),
            architecture=gfx_name(version) if version else None,
            driver=self._driver(),
        )

    def _product(self, pci: str) -> str | None:
        path = self._root / "sys/bus/pci/devices" / pci / "product_name"
        try:
            return path.read_text(encoding="utf-8", errors="replace").strip() or None
        except OSError:
            return None

    def _driver(self) -> str | None:
        """The packaged amdgpu has a version of its own, the one in the kernel does not."""
        try:
            path = self._root / "sys/module/amdgpu/version"
            return path.read_text(encoding="utf-8", errors="replace").strip() or None
        except OSError:
            return None

    def _device_files(self) -> list[Absence]:
        kfd = self._root / "dev/kfd"
        if not kfd.exists():
            return [Absence(what="/dev/kfd", reason="not found")]
        if not os.access(kfd, os.R_OK | os.W_OK):
            return [
                Absence(
                    what="/dev/kfd",
                    reason="no permission",
                    detail="add this user to the group that owns it (render or video)",
                )
            ]
        return []


def gfx_name(version: int) -> str:
    """``gfx942`` from 90402: major, two digits of minor, two of stepping, the last two in hex."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}"


def _properties(path: Path) -> dict[str, str]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(line.split(maxsplit=1) for line in lines if len(line.split(maxsplit=1)) == 2)


def _pci(properties: Mapping[str, str]) -> str:
    """location_id holds bus, device and function as PCI numbers them."""
    location = int(properties.get("location_id", "0"))
    domain = int(properties.get("domain", "0"))
    return f"{domain:04x}:{location >> 8 & 0xFF:02x}:{location >> 3 & 0x1F:02x}.{location & 7}"


def _memory_GiB(folder: Path, name: str, absences: list[Absence]) -> float | None:
    total = 0
    try:
        for bank in sorted((folder / "mem_banks").iterdir()):
            properties = _properties(bank / "properties")
            if properties.get("heap_type") in VRAM_HEAPS:
                total += int(properties["size_in_bytes"])
    except OSError as error:
        absences.append(_unreadable(folder / "mem_banks", error, what=f"memory of {name}"))
        return None
    return round(total / GIB, 2)


def _unreadable(path: Path, error: OSError, what: str = "") -> Absence:
    reason = "no permission" if isinstance(error, PermissionError) else "not readable"
    return Absence(what=what or str(path), reason=reason, detail=str(error.strerror))
