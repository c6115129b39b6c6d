"""What the PCIe link of a card can carry, and from which rate on it is healthy: pure functions.

Generations and encodings: PCI-SIG, PCI Express Base Specification, revisions 1.0 to 6.0. Gates:
Azure's health checks of HPC nodes (AzNHC, ``conf/*.conf``), whose copies go through pinned memory,
one card at a time, as ours do.
"""

from __future__ import annotations

import re

import msgspec

_LANE_GTps = {1: 2.5, 2: 5.0, 3: 8.0, 4: 16.0, 5: 32.0, 6: 64.0}
_PAYLOAD = {1: 8 / 10, 2: 8 / 10, 3: 128 / 130, 4: 128 / 130, 5: 128 / 130, 6: 242 / 256}
"""Share of the bits on the wire that the encoding leaves (revision 6: that a flit leaves)."""


class Gate(msgspec.Struct, frozen=True):
    """A published rate of copies over 16 lanes, below which its publisher rejects a machine."""

    GBps: float
    generation: int
    product: str

    @property
    def share(self) -> float:
        """Of the theoretical rate; the rest is headers, flow control and spread of machines."""
        return self.GBps / (_lane_GBps(self.generation) * 16)


_GATES = {3: Gate(9.0, 3, "V100"), 4: Gate(21.0, 4, "A100"), 5: Gate(44.0, 5, "MI300X")}
"""The lowest for a card of each generation; H100 and H200 have 48."""
_NEWEST = _GATES[max(_GATES)]
_GATES_BY_ARCHITECTURE = {"gfx90a": Gate(12.0, 4, "MI200")}
"""Cards with a gate far below that of their generation."""

_OTHER_WAY = re.compile(r"\b(GH200|GB200|GB300|GB10|Thor|Orin|MI300A)\b", re.IGNORECASE)
"""Products whose copies do not go over PCIe: NVLink-C2C to Grace (NVIDIA's datasheets of Grace
Hopper and Grace Blackwell), or memory that host and device share (GB10, Jetson, MI300A)."""


def theoretical_GBps(generation: int, width: int) -> float | None:
    """What a link carries in one direction, decimal gigabytes: 63.0 for Gen5 x16.

    None for a generation that is not known.
    """
    return _lane_GBps(generation) * width if generation in _LANE_GTps else None


def floor_share(generation: int, architecture: str | None) -> tuple[float, str] | None:
    """Share of the theoretical rate that a healthy link reaches, and who says so.

    That of the published gate, for links of other widths too; a generation newer than every gate
    is held to the newest one's. None for generations 1 and 2.
    """
    gate = _GATES_BY_ARCHITECTURE.get(architecture or "") or _GATES.get(generation)
    if gate is None and generation > _NEWEST.generation:
        gate = _NEWEST
    if gate is None:
        return None
    source = (
        f"AzNHC rejects {gate.product} below {gate.GBps:.0f} GB/s over Gen{gate.generation} x16, "
        f"{gate.share:.0%} of what PCI-SIG gives it"
    )
    return gate.share, source


def copies_over_pcie(product: str) -> bool:
    """Whether a product, as its driver names it, reaches its host over PCIe."""
    return _OTHER_WAY.search(product) is None


def _lane_GBps(generation: int) -> float:
    return _LANE_GTps[generation] * _PAYLOAD[generation] / 8
