"""A simulated machine with cards of AMD: the tree of sysfs that amdgpu and its KFD would show.

Everything is healthy until a field says otherwise. The numbers of the links are those that KFD
gives on machines with eight MI300X, whole (weight 15) and divided (13 within a card, 41 between).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from preflight.hardware.files import STAND_INS
from preflight.hardware.kfd import LINK_ENABLED, LINK_PCIE, LINK_XGMI, NODES, PROCESSES
from preflight.hardware.simulated_amd_card import (
    SimulatedAmdCard,
    SimulatedHeat,
    SimulatedLink,
    SimulatedPower,
    SimulatedProcess,
    SimulatedRas,
    link_to,
    write_card,
)

__all__ = [
    "SimulatedAmd",
    "SimulatedAmdCard",
    "SimulatedHeat",
    "SimulatedLink",
    "SimulatedPower",
    "SimulatedProcess",
    "SimulatedRas",
    "mi300x_cards",
]

BUSES = (0x05, 0x26, 0x46, 0x65, 0x85, 0xA6, 0xC6, 0xE5)
GPU_IDS = (28851, 23018, 29122, 22683, 53458, 63883, 53667, 63738)
"""Where a machine with eight MI300X has them, and what KFD calls them there."""
FIRST_MINOR = 128
MINORS_PER_CARD = 8
"""The driver of an MI300 makes a device file for each part that there could be."""
HOST_MEMORY_BYTES = 811_000_000_000


def mi300x_cards(count: int = 8) -> list[SimulatedAmdCard]:
    """Healthy cards, half of them at each of two CPUs."""
    cards = []
    for index in range(count):
        far = index * 2 >= max(count, 2)
        cards.append(
            SimulatedAmdCard(
                bus=BUSES[index % 8],
                domain=index // 8,
                gpu_id=GPU_IDS[index % 8] + index // 8,
                unique_id=0x9A1B_0000_0000_0000 + index,
                serial=f"6922510000{index:02d}",
                numa_node=int(far),
                cpus="96-191" if far else "0-95",
            )
        )
    return cards


@dataclass
class SimulatedAmd:
    """A machine; change its fields, then ``write`` it."""

    cards: list[SimulatedAmdCard] = field(default_factory=mi300x_cards)
    cpu_nodes: int = 2
    hive_id: int = 0x9389_3B5A_2C6E_1F1B
    """0 for cards without XGMI."""
    xgmi_MBps: int = 64_000
    """Of one link in one direction: 16 lanes of 32 Gbit/s."""
    cut: set[frozenset[int]] = field(default_factory=set)
    """Pairs of cards, by index, whose XGMI link is down; ``cut_xgmi`` fills it."""
    has_pcie_peers: bool = True
    """Whether cards without XGMI between them reach each other over PCIe."""
    is_old_kernel: bool = False
    """A kernel that lists neither gfx_target_version, unique_id and domain nor p2p_links."""
    has_kfd: bool = True
    """Whether there is a topology."""
    has_kfd_file: bool = True
    kfd_errno: int | None = None
    """What opening /dev/kfd ends in: errno.EACCES, errno.EINVAL."""
    amdgpu_version: str | None = "6.12.12"
    """None for the driver of the kernel's own tree."""
    rocm_version: str | None = "6.4.1-83"

    def cut_xgmi(self, card: int, other: int | None = None) -> None:
        """Take down the link between two cards, or all links of one."""
        others = range(len(self.cards)) if other is None else (other,)
        self.cut |= {frozenset((card, one)) for one in others if one != card}

    def write(self, root: Path) -> None:
        """Write the tree below ``root``, which holds no cards of AMD so far."""
        for index, card in enumerate(self.cards):
            write_card(root, card, index)
        (root / "sys/module/amdgpu").mkdir(parents=True, exist_ok=True)
        if self.amdgpu_version:
            _put(root / "sys/module/amdgpu/version", self.amdgpu_version)
        if self.rocm_version:
            _put(root / "opt/rocm/.info/version", self.rocm_version)
        if self.has_kfd:
            self._write_topology(root)
        self._write_device_files(root)

    def _write_topology(self, root: Path) -> None:
        parts = self._parts()
        for cpu in range(self.cpu_nodes):
            self._write_cpu(root, cpu, parts)
        (root / PROCESSES.lstrip("/")).mkdir(parents=True)
        for part in parts:
            self._write_part(root, part, parts)
            _write_processes(root, part)

    def _parts(self) -> list[_Part]:
        parts: list[_Part] = []
        for index, card in enumerate(self.cards):
            for number in range(card.parts if card.is_in_kfd else 0):
                parts.append(_Part(self.cpu_nodes + len(parts), index, number, card))
        return parts

    def _write_cpu(self, root: Path, cpu: int, parts: list[_Part]) -> None:
        folder = root / NODES.lstrip("/") / str(cpu)
        _put_lines(folder / "properties", cpu_cores_count=96, simd_count=0, mem_banks_count=1)
        _put(folder / "gpu_id", "0")
        bank = folder / "mem_banks/0/properties"
        _put_lines(bank, heap_type=0, size_in_bytes=HOST_MEMORY_BYTES, flags=0)
        own = [part for part in parts if part.cpu(self.cpu_nodes) == cpu]
        _write_links(folder / "io_links", cpu, [_Link(p.node, LINK_PCIE, 20, 64_000) for p in own])

    def _write_part(self, root: Path, part: _Part, parts: list[_Part]) -> None:
        folder = root / NODES.lstrip("/") / str(part.node)
        _put_lines(folder / "properties", **self._properties(part))
        _put(folder / "gpu_id", str(part.gpu_id))
        bank = folder / "mem_banks/0/properties"
        size = part.card.memory_bytes // part.card.parts
        _put_lines(bank, heap_type=1, size_in_bytes=size, flags=0, width=8192, mem_clk_max=1300)
        direct, around = self._links(part, parts)
        _write_links(folder / "io_links", part.node, direct)
        if not self.is_old_kernel:
            _write_links(folder / "p2p_links", part.node, around)

    def _properties(self, part: _Part) -> dict[str, int]:
        card = part.card
        lines = {
            "cpu_cores_count": 0,
            "simd_count": card.simds // card.parts,
            "mem_banks_count": 1,
            "gfx_target_version": card.gfx_target_version or 0,
            "vendor_id": 0x1002,
            "device_id": card.device_id,
            # The driver adds the number of the part to the function of the address.
            "location_id": card.bus << 8 | part.number,
            "domain": card.domain,
            "drm_render_minor": part.minor,
            "hive_id": self.hive_id,
            "unique_id": card.unique_id or 0,
        }
        for name in ("gfx_target_version", "domain", "unique_id") if self.is_old_kernel else ():
            del lines[name]
        return lines

    def _links(self, part: _Part, parts: list[_Part]) -> tuple[list[_Link], list[_Link]]:
        """Direct ones, to the own CPU first, and those around over PCIe."""
        own = part.cpu(self.cpu_nodes)
        direct = [_Link(own, LINK_PCIE, 20, 64_000)]
        around = [_Link(cpu, LINK_PCIE, 52, 0) for cpu in range(self.cpu_nodes) if cpu != own]
        for other in parts:
            if other is part:
                continue
            if other.index == part.index:
                direct.append(_Link(other.node, LINK_XGMI, 13, 819_200))
            elif self.hive_id and frozenset((part.index, other.index)) not in self.cut:
                is_whole = part.card.parts == other.card.parts == 1
                weight, rate = (15, self.xgmi_MBps) if is_whole else (41, 0)
                direct.append(_Link(other.node, LINK_XGMI, weight, rate))
            elif self.has_pcie_peers:
                weight = 40 if other.cpu(self.cpu_nodes) == own else 72
                around.append(_Link(other.node, LINK_PCIE, weight, 0))
        return direct, around

    def _write_device_files(self, root: Path) -> None:
        """Empty files, the outcome of opening them, and the links to the cards behind them."""
        outcomes = {"/dev/kfd": self.kfd_errno}
        if self.has_kfd_file:
            _put(root / "dev/kfd", "")
        for part in self._parts():
            node = f"dev/dri/renderD{part.minor}"
            outcomes[f"/{node}"] = part.card.render_errno
            if part.card.has_render_node:
                _put(root / node, "")
            card = root / "sys/bus/pci/devices" / part.card.address
            link_to(root / f"sys/class/drm/renderD{part.minor}/device", card.resolve())
        path = root / STAND_INS
        kept = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        errors = {name: number for name, number in outcomes.items() if number is not None}
        kept["opening"] = {**kept.get("opening", {}), **errors}
        path.write_text(json.dumps(kept, indent=2), encoding="utf-8")


@dataclass(frozen=True)
class _Part:
    """One KFD node of a card."""

    node: int
    index: int
    """Of the card."""
    number: int
    """Within the card."""
    card: SimulatedAmdCard

    @property
    def minor(self) -> int:
        return FIRST_MINOR + MINORS_PER_CARD * self.index + self.number

    @property
    def gpu_id(self) -> int:
        return self.card.gpu_id + self.number

    def cpu(self, cpu_nodes: int) -> int:
        """The KFD node of its CPU; the first one where the firmware names none."""
        return self.card.numa_node if 0 <= self.card.numa_node < cpu_nodes else 0


@dataclass(frozen=True)
class _Link:
    node_to: int
    type: int
    weight: int
    MBps: int


def _write_links(folder: Path, node_from: int, links: list[_Link]) -> None:
    folder.mkdir(parents=True)
    for index, link in enumerate(links):
        _put_lines(
            folder / str(index) / "properties",
            type=link.type,
            version_major=0,
            version_minor=0,
            node_from=node_from,
            node_to=link.node_to,
            weight=link.weight,
            min_latency=0,
            max_latency=0,
            min_bandwidth=link.MBps,
            max_bandwidth=link.MBps,
            recommended_transfer_size=0,
            flags=LINK_ENABLED,
        )


def _write_processes(root: Path, part: _Part) -> None:
    for process in part.card.processes:
        folder = root / PROCESSES.lstrip("/") / str(process.pid)
        _put(folder / f"vram_{part.gpu_id}", str(process.memory_bytes // part.card.parts))
        _put(root / f"proc/{process.pid}/comm", process.name)


def _put(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"{content}\n" if content else "", encoding="utf-8")


def _put_lines(path: Path, **lines: int) -> None:
    _put(path, "\n".join(f"{name} {number}" for name, number in lines.items()))
