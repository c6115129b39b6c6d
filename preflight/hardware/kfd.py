"""The topology that KFD, the compute half of amdgpu, lists below /sys/class/kfd."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from preflight.facts import Absence, Whole
from preflight.hardware.attributes import number, unreadable
from preflight.hardware.files import Files
from preflight.hardware.protocol import Say, silent

NODES = "/sys/class/kfd/kfd/topology/nodes"
PROCESSES = "/sys/class/kfd/kfd/proc"
FRAME_BUFFER_HEAPS = (1, 2)
"""heap_type of a memory bank: 1 and 2 are public and private frame buffer (linux kfd_crat.h)."""
LINK_PCIE = 2
LINK_XGMI = 11
"""Types of a link (linux kfd_crat.h, CRAT_IOLINK_TYPE_*)."""
LINK_ENABLED = 1
"""Bit of a link's flags (linux kfd_crat.h, CRAT_IOLINK_FLAGS_ENABLED)."""


@dataclass(frozen=True)
class Properties:
    """A file of lines ``name number``."""

    path: str
    values: Mapping[str, str]
    fault: Absence | None = None
    """Why there are no lines at all."""

    def whole(self, name: str) -> Whole:
        """The number on the line of ``name``; an old kernel does not have every line."""
        if self.fault is not None:
            return self.fault
        what = f"{name} in {self.path}"
        text = self.values.get(name)
        if text is None:
            return Absence(what=what, reason="not found")
        found = number(text)
        return unreadable(what, text) if found is None else found

    def positive(self, name: str) -> Whole:
        """The same where 0 says that there is nothing, as it does in most lines."""
        found = self.whole(name)
        if found == 0:
            return Absence(what=f"{name} in {self.path}", reason="not found", detail="KFD gives 0")
        return found


@dataclass(frozen=True)
class KfdLink:
    """One link of a node to another one, as listed in ``io_links`` or ``p2p_links``."""

    index: int
    """Number of its folder."""
    type: Whole
    node_to: Whole
    weight: Whole
    """15 is one XGMI hop, 20 PCIe to the own CPU, 13 within a package."""
    max_bandwidth_MBps: Whole
    flags: Whole


@dataclass(frozen=True)
class KfdNode:
    """A card, or with partitions a part of one, or a CPU."""

    number: int
    is_gpu: bool
    gpu_id: Whole
    properties: Properties
    memory_bytes: Whole
    """Frame buffer of its own."""
    io_links: tuple[KfdLink, ...] | Absence
    """Direct links: PCIe to the CPU, XGMI."""
    p2p_links: tuple[KfdLink, ...] | Absence
    """Paths over PCIe and the CPU; ``not found`` on an older kernel."""

    @property
    def links(self) -> tuple[KfdLink, ...]:
        """All links that could be listed."""
        lists = (self.io_links, self.p2p_links)
        return tuple(link for links in lists if not isinstance(links, Absence) for link in links)


@dataclass
class Topology:
    """All nodes in KFD's order, which is the one that HIP counts in."""

    nodes: list[KfdNode] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    """Nodes of cards that the device cgroup of this container withholds."""
    absences: list[Absence] = field(default_factory=list)
    """Nodes that could not be read for another reason."""
    fault: Absence | None = None
    """Why there is no topology at all."""

    @property
    def gpus(self) -> list[KfdNode]:
        """The nodes that compute; one with CPU cores and SIMDs is an APU, such as MI300A."""
        return [node for node in self.nodes if node.is_gpu]


def read_topology(files: Files, say: Say = silent) -> Topology:
    """Every node; a folder that vanishes meanwhile is an absence and hides no other."""
    names = files.names(NODES)
    if isinstance(names, Absence):
        return Topology(fault=names)
    topology = Topology()
    for node in sorted(n for n in map(number, names) if n is not None):
        say(f"KFD node {node}")
        found = _read_node(files, node)
        if isinstance(found, KfdNode):
            topology.nodes.append(found)
        elif found.detail == os.strerror(errno.EPERM):
            topology.refused.append(node)
        else:
            topology.absences.append(found)
    return topology


def read_properties(files: Files, path: str) -> Properties:
    """Lines of a properties file; one that holds none is at fault as a whole."""
    found = files.text(path)
    if isinstance(found, Absence):
        return Properties(path=path, values={}, fault=found)
    pairs = [line.split(maxsplit=1) for line in found.splitlines()]
    values = {pair[0]: pair[1].strip() for pair in pairs if len(pair) == 2}
    fault = None if values else unreadable(path, found)
    return Properties(path=path, values=values, fault=fault)


def _read_node(files: Files, node: int) -> KfdNode | Absence:
    folder = f"{NODES}/{node}"
    properties = read_properties(files, f"{folder}/properties")
    gpu_id = files.whole(f"{folder}/gpu_id")
    simds = properties.whole("simd_count")
    if isinstance(simds, Absence) and isinstance(gpu_id, Absence):
        return simds
    return KfdNode(
        number=node,
        # gpu_id is 0 on a CPU; it says what the node is where the properties do not.
        is_gpu=simds > 0 if isinstance(simds, int) else isinstance(gpu_id, int) and gpu_id > 0,
        gpu_id=gpu_id,
        properties=properties,
        memory_bytes=_frame_buffer(files, folder),
        io_links=_read_links(files, f"{folder}/io_links"),
        p2p_links=_read_links(files, f"{folder}/p2p_links"),
    )


def _frame_buffer(files: Files, folder: str) -> Whole:
    """Sum over the banks; one unreadable bank makes it unknown, for part of it is no size."""
    banks = files.names(f"{folder}/mem_banks")
    if isinstance(banks, Absence):
        return banks
    total = 0
    for bank in banks:
        properties = read_properties(files, f"{folder}/mem_banks/{bank}/properties")
        heap, size = properties.whole("heap_type"), properties.whole("size_in_bytes")
        for fact in (heap, size):
            if isinstance(fact, Absence):
                return fact
        if heap in FRAME_BUFFER_HEAPS and isinstance(size, int):
            total += size
    what = f"{folder}/mem_banks"
    return total or Absence(what=what, reason="not found", detail="no frame buffer is listed")


def _read_links(files: Files, folder: str) -> tuple[KfdLink, ...] | Absence:
    """Links in order of their numbers; one that cannot be read stays, with the reasons."""
    names = files.names(folder)
    if isinstance(names, Absence):
        return names
    links = []
    for index in sorted(n for n in map(number, names) if n is not None):
        properties = read_properties(files, f"{folder}/{index}/properties")
        links.append(
            KfdLink(
                index=index,
                type=properties.whole("type"),
                node_to=properties.whole("node_to"),
                weight=properties.whole("weight"),
                max_bandwidth_MBps=properties.positive("max_bandwidth"),
                flags=properties.whole("flags"),
            )
        )
    return tuple(links)
