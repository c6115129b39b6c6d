"""How the cards of a machine are connected: links, topology, peer-to-peer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence

from preflight.facts import Card, Grid, Link, Machine, known
from preflight.rendering.machine_parts import (
    Entry,
    Part,
    Table,
    Tone,
    among,
    column,
    tables,
    warned,
)

_SELF = "X"
_MEANINGS: tuple[tuple[str, str], ...] = (
    (r"NV(\d+)", r"\1 NVLinks"),
    ("XGMI", "an Infinity Fabric link"),
    ("PIX", "one PCIe bridge at most"),
    ("PXB", "several PCIe bridges, not the host bridge"),
    ("PHB", "through the PCIe host bridge"),
    ("NODE", "between host bridges of one NUMA node"),
    ("SYS", "between NUMA nodes"),
)
"""What the words of a topology mean, the fastest first, as ``nvidia-smi topo`` defines them."""


def links_told(card: Card) -> Entry | None:
    """``18/18`` links that are active; None where the card has none or does not tell."""
    links = known(card.links)
    if not links:
        return None
    states = [known(link.state) for link in links]
    if all(state is None for state in states):
        return Entry(str(len(links)))
    active = states.count("active")
    return warned(f"{active}/{len(links)}", active < len(links))


def links_part(kind: str, cards: Sequence[Card]) -> Part:
    """The links of the cards, in one line where all are equal; ``kind`` is NVLink or XGMI."""
    having = [card for card in cards if known(card.links)]
    faults = _faults(having)
    if len({_links_in_short(kind, card) for card in having}) == 1:
        return Part(title="Links", note=links_in_short(kind, cards), remarks=faults)
    return Part(title="Links", tables=_links_table(kind, having), remarks=faults)


def _links_in_short(kind: str, card: Card) -> str:
    """``18 × NVLink 4.0 at 26.56 GB/s a direction, all active, no errors``."""
    links = known(card.links) or ()
    words = f"{len(links)} × {' '.join(filter(None, (kind, _common(links, _version))))}"
    rate = _common(links, _rate)
    words += f" at {rate} GB/s a direction" if rate else ""
    states = [known(link.state) for link in links]
    if None not in states:
        active = states.count("active")
        words += ", all active" if active == len(links) else f", {active} active"
    return words if any(known(link.errors) != 0 for link in links) else f"{words}, no errors"


def _common(links: Sequence[Link], tell: Callable[[Link], str | None]) -> str:
    """What the links that tell have in common: ``4.0``, or ``3.0 and 4.0``; empty for nothing."""
    return " and ".join(dict.fromkeys(word for word in map(tell, links) if word))


def _version(link: Link) -> str | None:
    return known(link.version)


def _rate(link: Link) -> str | None:
    rate = known(link.rate_GBps)
    return f"{rate:.4g}" if rate else None  # an inactive link carries nothing


def _errors(links: Sequence[Link]) -> Entry | None:
    counts = [count for count in (known(link.errors) for link in links) if count is not None]
    return warned(str(sum(counts)), any(counts)) if counts else None


def _links_table(kind: str, cards: Sequence[Card]) -> tuple[Table, ...]:
    links = [known(card.links) or () for card in cards]
    return tables(
        column("card", (card.device for card in cards)),
        column("active", map(links_told, cards)),
        column("kind", (" ".join(filter(None, (kind, _common(one, _version)))) for one in links)),
        column("GB/s a direction", (_common(one, _rate) or None for one in links), is_number=True),
        column("errors", map(_errors, links), is_number=True),
    )


def _faults(cards: Sequence[Card]) -> tuple[Entry, ...]:
    """Each link that is not active or has counted errors, with its other end."""
    told = []
    for card in cards:
        for link in known(card.links) or ():
            state, errors = known(link.state), known(link.errors)
            words = [state] if state not in (None, "active") else []
            words += [f"{errors} errors"] if errors else []
            if words:
                end = known(link.remote)
                where = f"{card.device} link {link.index}" + (f" to {end}" if end else "")
                told.append(Entry(f"{where}: {', '.join(filter(None, words))}", "caution"))
    return tuple(told)


def topology_part(machine: Machine) -> Part:
    """How each pair is connected, as a matrix with its key."""
    grid = machine.topology
    if grid is None or len(grid.names) < 2:
        return Part(title="Topology")
    words = sorted({word for row in grid.rows for word in row}, key=_by_number)
    key = [
        f"{word}: {match.expand(meaning)}"
        for pattern, meaning in _MEANINGS
        for word in words
        if (match := re.fullmatch(pattern, word))
    ]
    return Part(
        title="Topology",
        note=topology_in_short(machine),
        tables=_matrix(grid, _path_tone),
        remarks=(Entry("; ".join(key), "dim"),) if key else (),
    )


def _by_number(word: str) -> tuple[str, int]:
    digits = re.search(r"\d{1,9}$", word)
    return (word.rstrip("0123456789"), int(digits[0]) if digits else 0)


def topology_in_short(machine: Machine) -> str:
    """``NV18 between all cards``, or pairs counted by kind; empty for fewer than two cards."""
    grid = machine.topology
    if grid is None:
        return ""
    names = {card.device for card in machine.cards}
    places = [i for i, name in enumerate(grid.names) if name in names]
    kinds = Counter(_word(grid, i, j) for i in places for j in places if i < j)
    if len(kinds) == 1:
        word = next(iter(kinds))
        return f"{word} between {'all' if len(places) > 2 else 'both'} cards"
    counted = (f"{word} {count} ×" for word, count in kinds.most_common())
    return f"pairs of cards: {', '.join(counted)}" if kinds else ""


def _word(grid: Grid, i: int, j: int) -> str:
    """The word in a row and column; – where the record's rows are too short."""
    return grid.rows[i][j] if i < len(grid.rows) and j < len(grid.rows[i]) else "–"


def peers_part(machine: Machine) -> Part:
    """Peer-to-peer between each ordered pair, only where it does not work for some."""
    grid = machine.peers
    if grid is None:
        return Part(title="Peer to peer")
    places = range(len(grid.names))
    words = [_word(grid, i, j) for i in places for j in places if i != j]
    bad = sum(word not in ("OK", _SELF) for word in words)
    if not bad:
        return Part(title="Peer to peer")
    note = f"not between {bad} of {len(words)} ordered pairs"
    return Part(title="Peer to peer", note=note, tables=_matrix(grid, _peer_tone))


def _matrix(grid: Grid, tone: Callable[[str], Tone]) -> tuple[Table, ...]:
    places = range(len(grid.names))
    return tables(
        column("", (Entry(name) for name in grid.names)),
        *(
            column(name, (Entry(w, tone(w)) for w in (_word(grid, i, j) for i in places)))
            for j, name in enumerate(grid.names)
        ),
    )


def _path_tone(word: str) -> Tone:
    if re.fullmatch(r"NV\d+|XGMI", word):
        return "strong"
    return "dim" if word in (_SELF, "–") else ""


def _peer_tone(word: str) -> Tone:
    return "dim" if word in (_SELF, "–") else "" if word == "OK" else "caution"


def link_kind(kinds: Sequence[str]) -> str:
    """What the links of devices of these kinds are called."""
    return "XGMI" if "hip" in kinds else "NVLink"


def links_in_short(kind: str, cards: Sequence[Card]) -> str:
    """The links in one line, cards with the same together; empty where none tells of links."""
    told: dict[str, list[str]] = {}
    for card in cards:
        if known(card.links):
            told.setdefault(_links_in_short(kind, card), []).append(card.device)
    everyone = [card.device for card in cards]
    return "; ".join(f"{words}, on {among(names, everyone)}" for words, names in told.items())
