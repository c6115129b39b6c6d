"""How the cards of AMD reach each other: links of each, and a word for each pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from preflight.facts import Absence, Grid, Link, Number, Text, Whole
from preflight.hardware.kfd import LINK_ENABLED, LINK_XGMI, KfdLink, KfdNode

MBPS_PER_GBPS = 1000
ITSELF = "X"


@dataclass(frozen=True)
class Place:
    """A device and where it sits."""

    name: str
    """``gpu0``."""
    pci: str | None
    node: KfdNode


def links_of(
    place: Place, others: Sequence[Place], cpus: frozenset[int]
) -> tuple[Link, ...] | Absence:
    """XGMI links to other cards, numbered as KFD numbers them.

    Left out are links to ``cpus``, numbers of KFD nodes, and those between the parts of one card;
    of several to the parts of another card the first one stands for all. A link that cannot be
    read is listed with the reasons, for without it the card would seem to lack it. A node that no
    place has is a card which the container may not see.
    """
    io_links = place.node.io_links
    if isinstance(io_links, Absence):
        return io_links
    by_node = {other.node.number: other for other in others}
    reached = {place.pci} - {None}
    links = []
    for link in io_links:
        is_pcie = isinstance(link.type, int) and link.type != LINK_XGMI
        if is_pcie or link.node_to in cpus:
            continue
        other = None if isinstance(link.node_to, Absence) else by_node.get(link.node_to)
        if other is not None and other.pci in reached:
            continue
        if other is not None and other.pci is not None:
            reached.add(other.pci)
        links.append(_link(link, by_node))
    return tuple(links)


def _link(link: KfdLink, by_node: Mapping[int, Place]) -> Link:
    return Link(
        index=link.index,
        state=_state(link),
        remote=_remote(link.node_to, by_node),
        rate_GBps=_rate(link.max_bandwidth_MBps),
        weight=link.weight,
    )


def _state(link: KfdLink) -> Text:
    """KFD lists the links that exist; one that it may not use has lost its flag."""
    if isinstance(link.type, Absence):
        return link.type
    if isinstance(link.flags, Absence):
        return link.flags
    return "active" if link.flags & LINK_ENABLED else "inactive"


def _remote(node_to: Whole, by_node: Mapping[int, Place]) -> Text:
    if isinstance(node_to, Absence):
        return node_to
    return by_node[node_to].name if node_to in by_node else f"KFD node {node_to}"


def _rate(max_bandwidth_MBps: Whole) -> Number:
    """Decimal GB/s per direction, as KFD states it."""
    if isinstance(max_bandwidth_MBps, Absence):
        return max_bandwidth_MBps
    return max_bandwidth_MBps / MBPS_PER_GBPS


def topology_grid(places: Sequence[Place], numa: Sequence[Whole]) -> Grid:
    """``XGMI`` where KFD lists such a link in either direction, be it over one hop or more.

    Other pairs meet at the CPU: ``PHB`` below the same NUMA node, ``SYS`` across nodes, and
    ``PCIE``, rocm-smi's word, where the firmware names no node. ``numa`` has one for each place.
    """
    return Grid(
        names=tuple(place.name for place in places),
        rows=tuple(
            tuple(
                ITSELF if a is b else _connection(a, b, near, far)
                for b, far in zip(places, numa, strict=True)
            )
            for a, near in zip(places, numa, strict=True)
        ),
    )


def _connection(a: Place, b: Place, near: Whole, far: Whole) -> str:
    for one, other in ((a, b), (b, a)):
        for link in one.node.links:
            if link.node_to == other.node.number and link.type == LINK_XGMI:
                return "XGMI"
    if isinstance(near, Absence) or isinstance(far, Absence) or near < 0 or far < 0:
        return "PCIE"
    return "PHB" if near == far else "SYS"


def peer_grid(places: Sequence[Place]) -> Grid:
    """``OK`` where KFD lists a way from the card of the row to that of the column, or ``no link``.

    Older kernels list no ways over PCIe; there, as after an error of reading, a pair without XGMI
    is ``unknown``.
    """
    return Grid(
        names=tuple(place.name for place in places),
        rows=tuple(
            tuple(ITSELF if a is b else _peer(a.node, b.node) for b in places) for a in places
        ),
    )


def _peer(a: KfdNode, b: KfdNode) -> str:
    if any(link.node_to == b.number for link in a.links):
        return "OK"
    lists = (a.io_links, a.p2p_links)
    is_whole = not any(isinstance(links, Absence) for links in lists) and not any(
        isinstance(link.node_to, Absence) for link in a.links
    )
    return "no link" if is_whole else "unknown"
