"""Which cards are joined by NVLink or XGMI: pure reading of topology and links.

Source of the words: NVIDIA, ``nvidia-smi topo -m`` (NV# is a bonded set of # NVLinks; PIX, PXB,
PHB, NODE and SYS are ways over PCIe).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations

import msgspec

from preflight.facts import Absence, Card, Grid, Link
from preflight.records import Device

WORDS = {"nvlink": re.compile(r"NV[1-9]\d*"), "xgmi": re.compile(r"XGMI\d*")}
"""What the topology calls a pair that is joined, by the kind of link."""
UNKNOWN_WORDS = ("", "?", "unknown", "N/A")


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Two cards and how they are connected."""

    first: str
    second: str
    way: str
    """Word of the topology: ``NV18``, ``PHB``; ``no link`` where only the links tell."""
    is_joined: bool | None
    """None where neither the topology nor the links tell."""

    def __str__(self) -> str:
        """``gpu0-gpu1 PHB``."""
        return f"{self.first}-{self.second} {self.way}"


def pairs(
    devices: Sequence[Device],
    kind: str,
    *,
    topology: Grid | None,
    cards: Mapping[str, Card],
) -> tuple[Pair, ...]:
    """Every pair of ``devices``, joined by ``kind`` (``nvlink`` or ``xgmi``) or not.

    The topology has the word; where it is silent, the links of both cards have it.
    """
    return tuple(_pair(a, b, kind, topology, cards) for a, b in combinations(devices, 2))


def _pair(
    a: Device, b: Device, kind: str, topology: Grid | None, cards: Mapping[str, Card]
) -> Pair:
    word = _word(topology, a.name, b.name)
    if word is not None:
        joined = WORDS[kind].fullmatch(word) is not None
        return Pair(first=a.name, second=b.name, way=word, is_joined=joined)
    reached = _reaches(cards.get(a.name), b), _reaches(cards.get(b.name), a)
    is_joined = None if None in reached else all(reached)
    way = "unknown" if is_joined is None else "linked" if is_joined else "no link"
    return Pair(first=a.name, second=b.name, way=way, is_joined=is_joined)


def _word(topology: Grid | None, first: str, second: str) -> str | None:
    """What the topology says of a pair; None where it does not know it."""
    if topology is None or not {first, second} <= set(topology.names):
        return None
    word = topology.rows[topology.names.index(first)][topology.names.index(second)]
    return None if word in UNKNOWN_WORDS else word


def _reaches(card: Card | None, other: Device) -> bool | None:
    """Whether an active link of ``card`` leads to ``other`` or to a switch; None if unknown."""
    if card is None or isinstance(card.links, Absence):
        return False if card is not None and _has_none(card) else None
    return any(_leads_to(link, other) for link in card.links if link.state == "active")


def _has_none(card: Card) -> bool:
    """Whether the driver says that such a card has no links at all."""
    return isinstance(card.links, Absence) and card.links.reason == "not supported"


def _leads_to(link: Link, other: Device) -> bool:
    """An active link whose other end is not told counts: it leads somewhere in this machine."""
    if isinstance(link.remote, Absence):
        return True
    return link.remote.startswith("switch") or link.remote in (other.pci, other.name)
