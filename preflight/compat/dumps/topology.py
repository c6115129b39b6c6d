"""``nvidia-smi topo -m``, the weights of ``rocm-smi --showtopo``, and ``lspci``."""

from __future__ import annotations

import re

from preflight.compat.dumps.facts import Condition, Gpu, Reading
from preflight.compat.dumps.text import Line

MOST = 256
_HEAD = re.compile(r"(?:GPU\d+\s+)*GPU\d+\b")
_ROW = re.compile(r"GPU(\d+)\s+((?:X|NV\d+|PIX|PXB|PHB|NODE|SYS|SOC|XGMI|PCIE|\d+)\b.*)")
_LSPCI = re.compile(
    r"(?P<place>(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]) "
    r"(?:3D controller|VGA compatible controller|Processing accelerators|Display controller)\S*: "
    r"(?P<vendor>NVIDIA|Advanced Micro Devices)",
    re.IGNORECASE,
)
_NARROW = re.compile(r"LnkSta:.*Width x(\d+) \(downgraded\)")


class Topology:
    """Gathers how many cards a matrix or the PCI bus shows."""

    def __init__(self) -> None:
        self._rows: dict[str, Gpu] = {}
        self.pci_cards: list[Reading] = []
        self.conditions: list[Condition] = []

    def read(self, line: Line) -> None:
        """Take what a line has of interest."""
        text = line.text
        if text.startswith("GPU") and (found := _ROW.match(text)):
            if len(self._rows) < MOST:
                self._rows.setdefault(
                    found[1], Gpu(name="card without a name", line=line.number, tool="topology")
                )
        elif "ontroller" in text or "rocessing accel" in text:
            if (found := _LSPCI.match(text)) and len(self.pci_cards) < MOST:
                self.pci_cards.append(Reading(value=found["place"], line=line.number))
        elif "LnkSta" in text and (found := _NARROW.search(text)):
            self.conditions.append(
                Condition(
                    stage="system",
                    status="warn",
                    reason=f"a PCIe link came up with {found[1]} lanes, fewer than both ends have",
                    action="ask the seller to reseat the card or its riser; read LnkSta again",
                    line=line.number,
                )
            )

    def finish(self) -> tuple[Gpu, ...]:
        """A card for each row of a matrix."""
        return tuple(self._rows.values())
