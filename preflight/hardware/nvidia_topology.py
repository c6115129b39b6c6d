"""How pairs of NVIDIA cards are connected, and whether they can reach each other's memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from preflight.facts import Absence, Card, Grid
from preflight.hardware.nvidia_links import SWITCH, UNKNOWN_END
from preflight.hardware.nvml_calls import Asking
from preflight.records import Device

_ANCESTORS = {0: "PIX", 10: "PIX", 20: "PXB", 30: "PHB", 40: "NODE", 50: "SYS"}
"""nvmlGpuTopologyLevel_t in the words of ``nvidia-smi topo``; 0 is two chips on one board."""
_READ, _WRITE = 0, 1
"""nvmlGpuP2PCapsIndex_t; the constant of nvidia-ml-py for reading is a tuple by mistake."""
_PEERS = {
    0: "OK",
    1: "chipset not supported",
    2: "gpu not supported",
    3: "topology not supported",
    4: "disabled by regkey",
    5: "not supported",
}
"""nvmlGpuP2PStatus_t; 6 is NVML's own "unknown"."""
_UNKNOWN = "unknown"


@dataclass(frozen=True)
class Ends:
    """One card as an end of connections."""

    asking: Asking
    device: Device
    card: Card


def read_topology(ends: Sequence[Ends]) -> tuple[Grid | None, tuple[Absence, ...]]:
    """A word of ``nvidia-smi topo -m`` for each pair; None where no pair could be told."""

    def word(one: Ends, other: Ends) -> str | Absence:
        links = nvlinks(one, other)
        return f"NV{links}" if links else _ancestor(one, other)

    return _grid(ends, word, symmetric=True)


def read_peers(ends: Sequence[Ends]) -> tuple[Grid | None, tuple[Absence, ...]]:
    """Whether peer-to-peer reads and writes work, for each ordered pair."""
    return _grid(ends, _peer, symmetric=False) if len(ends) > 1 else (None, ())


def nvlinks(one: Ends, other: Ends) -> int:
    """Active NVLinks between two cards, direct ones, else what both have to switches."""
    direct = min(_links_to(one, other), _links_to(other, one))
    return direct or min(_links_to_switches(one), _links_to_switches(other))


def _active(ends: Ends) -> list[list[str]]:
    """Words of the far ends of active links: kind and address, as far as they are told."""
    links = () if isinstance(ends.card.links, Absence) else ends.card.links
    return [
        [UNKNOWN_END] if isinstance(link.remote, Absence) else link.remote.split()
        for link in links
        if link.state == "active"
    ]


def _links_to(one: Ends, other: Ends) -> int:
    return sum(other.device.pci in far for far in _active(one))


def _links_to_switches(ends: Ends) -> int:
    """In a virtual machine the far end is not told; NCCL too takes it for a switch there
    (graph/xml.cc, "Assume NVSwitch")."""
    return sum(far[0] in (SWITCH, UNKNOWN_END) for far in _active(ends))


def _ancestor(one: Ends, other: Ends) -> str | Absence:
    asking = one.asking.about(f"{one.device.name} {other.device.name}")
    call = "nvmlDeviceGetTopologyCommonAncestor"
    return asking.word(call, other.asking.handle, words=_ANCESTORS)


def _peer(one: Ends, other: Ends) -> str | Absence:
    asking = one.asking.about(f"{one.device.name} {other.device.name}")
    call, far = "nvmlDeviceGetP2PStatus", other.asking.handle
    read = asking.word(call, far, _READ, words=_PEERS)
    write = asking.word(call, far, _WRITE, words=_PEERS)
    for found in (read, write):
        if isinstance(found, Absence):
            return found
    return read if read == write else f"read {read}, write {write}"


def _grid(
    ends: Sequence[Ends], word: Callable[[Ends, Ends], str | Absence], *, symmetric: bool
) -> tuple[Grid | None, tuple[Absence, ...]]:
    """A word for each pair, and the absences, one for each reason."""
    found: dict[tuple[int, int], str | Absence] = {}
    for row, one in enumerate(ends):
        for column, other in enumerate(ends):
            if row == column:
                found[row, column] = "X"
            elif symmetric and column < row:
                found[row, column] = found[column, row]
            else:
                found[row, column] = word(one, other)
    unknown = [fact for fact in found.values() if isinstance(fact, Absence)]
    absences = tuple({(fact.what, fact.reason): fact for fact in unknown}.values())
    pairs = len(found) - len(ends)
    if not ends or (pairs and len(unknown) == pairs):
        return None, absences
    indices = range(len(ends))
    rows = tuple(tuple(_shown(found[row, column]) for column in indices) for row in indices)
    return Grid(names=tuple(end.device.name for end in ends), rows=rows), absences


def _shown(fact: str | Absence) -> str:
    return f"{_UNKNOWN}: {fact.reason}" if isinstance(fact, Absence) else fact
