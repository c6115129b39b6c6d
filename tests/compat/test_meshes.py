"""Which cards are joined, from their links and the driver's words."""

from __future__ import annotations

import pytest

from preflight.compat.meshes import are_linked, is_active, is_unread, missing_in_mesh
from preflight.facts import NOT_ASKED, Absence, Card, Grid, Link, Machine

UP = Link(index=0, state="active", remote="gpu1")


@pytest.mark.parametrize(
    ("state", "active", "unread"),
    [
        ("active", True, False),
        ("inactive", False, False),
        (NOT_ASKED, True, False),
        (Absence(reason="no permission"), False, True),
        (Absence(reason="not supported"), False, True),
    ],
)
def test_the_state_of_a_link(state: str | Absence, active: bool, unread: bool) -> None:
    """A state that nobody could read is neither active nor inactive."""
    link = Link(index=0, state=state)
    assert (is_active(link), is_unread(link)) == (active, unread)


def test_a_missing_link_is_named_from_both_ends() -> None:
    """By name or by PCI address; an inactive link reaches nobody."""
    links = {
        "gpu0": (Link(index=0, remote="gpu1"), Link(index=1, remote="0000:1d:00.0")),
        "gpu1": (Link(index=0, remote="gpu0"),),
        "gpu2": (Link(index=0, remote="gpu0"), Link(index=1, state="inactive", remote="gpu1")),
    }
    addresses = {"gpu0": {"gpu0"}, "gpu1": {"gpu1"}, "gpu2": {"gpu2", "0000:1d:00.0"}}
    assert missing_in_mesh(links, addresses) == [("gpu1", "gpu2"), ("gpu2", "gpu1")]


def machine(word: str | None, links: tuple[Link, ...] | Absence) -> Machine:
    """Two cards, and a network card that is no part of the question."""
    grid = None
    if word is not None:
        rows = (("X", word, "SYS"), (word, "X", "SYS"), ("SYS", "SYS", "X"))
        grid = Grid(names=("gpu0", "gpu1", "mlx5_0"), rows=rows)
    cards = tuple(Card(device=name, links=links) for name in ("gpu0", "gpu1"))
    return Machine(node="node-a", cards=cards, topology=grid)


@pytest.mark.parametrize(
    ("word", "links", "linked"),
    [
        ("NV18", (), True),
        ("XGMI", (), True),
        ("PHB", (UP,), False),
        ("NODE", (), False),
        (None, (UP,), True),
        (None, (), False),
        (None, NOT_ASKED, False),
    ],
)
def test_the_drivers_word_decides(
    word: str | None, links: tuple[Link, ...] | Absence, linked: bool
) -> None:
    """The topology has the last word; without it active links do."""
    assert are_linked(machine(word, links)) is linked
