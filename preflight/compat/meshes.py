"""Which cards are joined by NVLink or XGMI, from facts alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from preflight.facts import Absence, Link, Machine, known


def is_active(link: Link) -> bool:
    """Whether a link is up; KFD lists only links that exist, and gives them no state."""
    if isinstance(link.state, Absence):
        return link.state.reason == "not asked"
    return link.state == "active"


def is_unread(link: Link) -> bool:
    """Whether nobody can say if a link is up: neither active nor inactive."""
    return isinstance(link.state, Absence) and link.state.reason != "not asked"


def missing_in_mesh(
    links: Mapping[str, tuple[Link, ...]], addresses: Mapping[str, Collection[str]]
) -> list[tuple[str, str]]:
    """Pairs of cards of which the first has no active link to the second.

    ``addresses`` are the words by which a link may name each card of the mesh: its name and its PCI
    address.
    """
    reached = {
        name: {known(link.remote) for link in found if is_active(link)}
        for name, found in links.items()
    }
    return [
        (name, other)
        for name in reached
        for other in reached
        if name != other and not reached[name] & set(addresses[other])
    ]


def are_linked(machine: Machine) -> bool:
    """Whether all cards talk over NVLink or XGMI, by the driver's word for each pair.

    Without such words, whether every card has an active link.
    """
    names = [card.device for card in machine.cards]
    grid = machine.topology
    if grid is not None and set(names) <= set(grid.names):
        at = [grid.names.index(name) for name in names]
        words = [grid.rows[i][j] for i in at for j in at if i != j]
        return all(word.startswith(("NV", "XGMI")) for word in words)
    return all(any(map(is_active, known(card.links) or ())) for card in machine.cards)
