"""How a card of AMD is called, where neither its board nor the driver says it."""

from __future__ import annotations

import re

from preflight.facts import Absence
from preflight.hardware.files import Files

NAME_LISTS = (
    "/opt/amdgpu/share/libdrm/amdgpu.ids",
    "/usr/share/libdrm/amdgpu.ids",
)
"""libdrm's own list, from which HIP takes the name of a card."""
INSTINCT = {
    0x738C: "AMD Instinct MI100",
    0x7408: "AMD Instinct MI250X",
    0x740C: "AMD Instinct MI250X / MI250",
    0x740F: "AMD Instinct MI210",
    0x74A0: "AMD Instinct MI300A",
    0x74A1: "AMD Instinct MI300X",
    0x74A2: "AMD Instinct MI308X",
    0x74A5: "AMD Instinct MI325X",
    0x74A8: "AMD Instinct MI308X HF",
    0x74A9: "AMD Instinct MI300X HF",
    0x74B5: "AMD Instinct MI300X VF",
    0x74B6: "AMD Instinct MI308X",
    0x74BD: "AMD Instinct MI300X HF",
    0x75A0: "AMD Instinct MI350X",
    0x75A3: "AMD Instinct MI355X",
    0x75B0: "AMD Instinct MI350X VF",
    0x75B3: "AMD Instinct MI355X VF",
}
"""PCI device IDs of accelerators (libdrm, data/amdgpu.ids), for a machine without that list."""


def product_name(files: Files, device_id: int, revision: int | None) -> str | None:
    """``AMD Instinct MI300X VF`` of 0x74b5; None for a card that nobody knows."""
    if revision is not None:
        for path in NAME_LISTS:
            listed = _listed(files, path, device_id, revision)
            if listed is not None:
                return listed
    return INSTINCT.get(device_id)


def _listed(files: Files, path: str, device_id: int, revision: int) -> str | None:
    text = files.text(path)
    if isinstance(text, Absence):
        return None
    line = re.compile(rf"^{device_id:04X},\s*{revision:02X},\s*(\S.*?)\s*$", re.MULTILINE | re.I)
    match = line.search(text)
    return match[1] if match else None
