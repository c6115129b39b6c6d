"""Accelerators on the PCI bus, seen without any driver."""

from __future__ import annotations

from pathlib import Path

VENDORS = {"0x10de": "NVIDIA", "0x1002": "AMD"}
CLASSES = ("0x03", "0x12")
"""Display controllers and processing accelerators (PCI code and ID assignment, base classes)."""


def accelerators(root: Path = Path("/")) -> tuple[str, ...]:
    """``NVIDIA 10de:2330 at 0000:9a:00.0`` for each; empty where there is no PCI bus to read."""
    found = []
    for folder in sorted((root / "sys/bus/pci/devices").glob("*")):
        try:
            vendor = (folder / "vendor").read_text(encoding="ascii").strip()
            kind = (folder / "class").read_text(encoding="ascii").strip()
            product = (folder / "device").read_text(encoding="ascii").strip()
        except OSError:
            continue  # a device that went away while the bus was listed
        if vendor in VENDORS and kind.startswith(CLASSES):
            found.append(f"{VENDORS[vendor]} {vendor[2:]}:{product[2:]} at {folder.name}")
    return tuple(found)
