"""Which cards are joined."""

from __future__ import annotations

import pytest

from preflight.compat.links import Pair, pairs
from preflight.facts import Absence, Card, Grid, Link
from preflight.records import Device

A = Device(name="gpu0", node="a", kind="cuda", product="NVIDIA B200", pci="0000:1b:00.0")
B = Device(name="gpu1", node="a", kind="cuda", product="NVIDIA B200", pci="0000:1c:00.0")


def grid(word: str) -> Grid:
    """The topology of two cards and a network card."""
    return Grid(
        names=("gpu0", "gpu1", "mlx5_0"),
        rows=(("X", word, "PIX"), (word, "X", "SYS"), ("PIX", "SYS", "X")),
    )


def judged(
    kind: str = "nvlink", topology: Grid | None = None, cards: tuple[Card, ...] = ()
) -> Pair:
    """The only pair."""
    (pair,) = pairs((A, B), kind, topology=topology, cards={card.device: card for card in cards})
    return pair


@pytest.mark.parametrize(
    ("kind", "word", "joined"),
    [
        ("nvlink", "NV18", True),
        ("nvlink", "NV1", True),
        ("nvlink", "PHB", False),
        ("nvlink", "NODE", False),
        ("nvlink", "XGMI", False),
        ("xgmi", "XGMI", True),
        ("xgmi", "NV18", False),
    ],
)
def test_the_topology_has_the_word(kind: str, word: str, joined: bool) -> None:
    """A pair is joined by the kind that is asked for; NODE begins like NVLink and is PCIe."""
    pair = judged(kind, grid(word))
    assert (pair.is_joined, str(pair)) == (joined, f"gpu0-gpu1 {word}")


def card(name: str, *links: Link) -> Card:
    """A card with links."""
    return Card(device=name, links=links)


def to(remote: str, state: str = "active") -> Link:
    """One link."""
    return Link(index=0, state=state, remote=remote)


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        (to("0000:1c:00.0"), to("0000:1b:00.0"), True),
        (to("switch 0000:05:00.0"), to("switch 0000:05:00.0"), True),
        (to("gpu1"), to("gpu0"), True),
        (to("0000:1c:00.0", "inactive"), to("0000:1b:00.0"), False),
        (to("0000:1d:00.0"), to("0000:1e:00.0"), False),
        (Link(index=0, state="active"), Link(index=0, state="active"), True),
    ],
)
@pytest.mark.parametrize("topology", [None, grid("")])
def test_links_speak_where_the_topology_is_silent(
    first: Link, second: Link, joined: bool, topology: Grid | None
) -> None:
    """An active link to the other card or to a switch joins, from both ends."""
    cards = card("gpu0", first), card("gpu1", second)
    assert judged("nvlink", topology, cards).is_joined is joined


def test_a_card_without_links_is_not_joined() -> None:
    """The driver says that there are none: that is an answer."""
    none = Absence(reason="not supported")
    cards = Card(device="gpu0", links=none), Card(device="gpu1", links=none)
    assert judged(cards=cards).is_joined is False
    assert judged(cards=(card("gpu0"), card("gpu1"))).is_joined is False


@pytest.mark.parametrize("reason", ["failed", "not asked"])
def test_what_nobody_tells_is_not_known(reason: str) -> None:
    """Neither joined nor apart: no topology, and links that could not be read."""
    unread = Absence(reason=reason)
    cards = Card(device="gpu0", links=unread), Card(device="gpu1", links=unread)
    assert judged(cards=cards).is_joined is None
    assert judged().is_joined is None


def test_every_pair_is_there_once() -> None:
    """Four cards make six pairs."""
    four = [
        Device(name=f"gpu{index}", node="a", kind="cuda", product="NVIDIA B200")
        for index in range(4)
    ]
    assert len(pairs(four, "nvlink", topology=None, cards={})) == 6
