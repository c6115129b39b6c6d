"""What could not be read of a machine, and why: equal absences of several cards on one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from preflight.facts import NOT_ASKED, Absence, Machine
from preflight.rendering.escaping import clip
from preflight.rendering.machine_parts import Entry, Part, among

Path = tuple[str, ...]

_TOLD_ELSEWHERE = {("driver", "files", "is_open"), ("bus", "driver"), ("bus", "is_accelerator")}
_MOST_CALLS = 3
"""So many calls that failed alike have lines of their own; more share one."""
_LONGEST = 1000
_UNIT = re.compile(r"_(GiB|KiB|GBps|Gbps|MHz|W|C|s)$")
_ADDRESS = re.compile(r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]|[0-9]+")
_WORDS = {
    "acs": "ACS",
    "cpus": "CPUs",
    "cuda": "CUDA",
    "ecc": "ECC",
    "iommu": "IOMMU",
    "memlock": "locked memory",
    "mig": "MIG",
    "numa": "NUMA",
    "pci": "PCI",
    "pcie": "PCIe",
    "ras": "RAS",
    "rdma": "RDMA",
    "rocm": "ROCm",
    "shm": "/dev/shm",
    "sm": "SM",
    "vbios": "VBIOS",
    "wsl": "WSL",
}
"""Words of field names as people write them."""
_NAMES = {
    ("ecc", "enabled"): "ECC mode",
    ("remapped", "corrected"): "rows remapped after corrected errors",
    ("remapped", "uncorrected"): "rows remapped after uncorrected errors",
    ("links", "rate_GBps"): "rate of the links",
    ("links", "state"): "state of the links",
    ("links", "errors"): "errors of the links",
    ("processes", "memory_GiB"): "memory of the processes",
    ("bus",): "PCI bus",
    ("host", "kernel_log"): "kernel log",
}


@dataclass(frozen=True)
class _Gap:
    """An absence with the fact that it stands for and the card, empty for the machine."""

    fact: str
    card: str
    absence: Absence


def unknown_part(machine: Machine, absences: Sequence[Absence] = ()) -> Part:
    """One line for each reason and call: facts, cards, reason, and what was asked.

    ``absences`` are those of the look as a whole. What nobody asked for is never listed.
    """
    names = [card.device for card in machine.cards]
    gaps = [_Gap(absence.what or "the machine", "", absence) for absence in absences]
    lines = [
        _line(gap.fact, gap.absence, "") for gap in gaps if gap.absence.reason != NOT_ASKED.reason
    ]
    return Part(
        title="Not known",
        remarks=(
            *(Entry(line, "caution") for line in dict.fromkeys(lines)),
            *(Entry(line, "dim") for line in _grouped(_gaps(machine), names)),
        ),
    )


def _gaps(machine: Machine) -> Iterator[_Gap]:
    for card in machine.cards:
        for path, absence in _absences(card, ()):
            yield _Gap(fact_name(path), card.device, absence)
    for name in ("driver", "host", "bus"):
        for path, absence in _absences(getattr(machine, name), (name,)):
            yield _Gap(fact_name(path), "", absence)


def _absences(value: Any, path: Path) -> Iterator[tuple[Path, Absence]]:
    """Absences anywhere in a value, with the names of the fields that lead to them."""
    if path in _TOLD_ELSEWHERE:
        return
    if isinstance(value, Absence):
        if value.reason != NOT_ASKED.reason:
            yield path, value
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _absences(getattr(value, name), (*path, name))
    elif isinstance(value, tuple):
        for item in value:
            yield from _absences(item, path)


def fact_name(path: Path) -> str:
    """A fact in words, by its path in the record: ``power limit``, ``ECC mode``."""
    if path in _NAMES:
        return _NAMES[path]
    rest = path[1:] if path[0] == "host" and len(path) > 1 else path
    words = [word for field in rest for word in _UNIT.sub("", field).split("_")]
    return " ".join(_WORDS.get(word, word) for word in words)


def _grouped(gaps: Iterable[_Gap], names: Sequence[str]) -> list[str]:
    """Lines: absences alike of several cards together, then facts alike of the same cards."""
    by_fact: dict[tuple[str, str, str, str], dict[str, Absence]] = {}
    for gap in gaps:
        one = gap.absence
        key = (gap.fact, one.reason, _alike(one.what), _alike(one.detail))
        by_fact.setdefault(key, {})[gap.card] = one
    by_call: dict[tuple[tuple[str, ...], Absence], list[str]] = {}
    for (fact, *_), of_cards in by_fact.items():
        by_call.setdefault((tuple(of_cards), _merged(of_cards.values())), []).append(fact)
    by_reason: dict[tuple[tuple[str, ...], str], list[tuple[Absence, list[str]]]] = {}
    for (cards, absence), facts in by_call.items():
        by_reason.setdefault((cards, absence.reason), []).append((absence, facts))
    return [
        _line(", ".join(facts), absence, among([card for card in cards if card], names))
        for (cards, _), group in by_reason.items()
        for absence, facts in _shortened(group)
    ]


def _merged(absences: Iterable[Absence]) -> Absence:
    """One for absences that differ in numbers at most: a star stands for what differs."""
    first, *others = absences
    if all(other == first for other in others):
        return first
    return Absence(what=_alike(first.what), reason=first.reason, detail=_alike(first.detail))


def _shortened(group: list[tuple[Absence, list[str]]]) -> list[tuple[Absence, list[str]]]:
    """Calls that failed for the same reason on the same cards; many of them as one."""
    if len(group) <= _MOST_CALLS:
        return group
    first = group[0][0]
    facts = list(dict.fromkeys(fact for _, some in group for fact in some))
    what = f"{first.what} and {len(group) - 1} more calls" if first.what else ""
    told = Absence(what=what, reason=first.reason, detail=", ".join(facts))
    return [(told, [f"{len(facts)} facts"])]


def _alike(text: str) -> str:
    """Text with a star for each number and PCI address, which are those of one card."""
    return _ADDRESS.sub("*", text)


def _line(fact: str, absence: Absence, where: str) -> str:
    of = f" of {where}" if where else ""
    call = f" ({absence.what})" if absence.what and absence.what != fact else ""
    detail = " ".join(absence.detail.split())
    more = f": {clip(detail, _LONGEST)}" if detail else ""
    return f"{fact}{of}: {absence.reason}{call}{more}"
