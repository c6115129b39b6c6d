from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from preflight.facts import Absence, Card, Grid, Link, Machine
from preflight.rendering.machine_links import (
    link_kind,
    links_in_short,
    links_part,
    links_told,
    peers_part,
    topology_in_short,
    topology_part,
)
from preflight.rendering.machine_parts import Entry

from . import machines

GONE = Absence(what="nvmlDeviceGetNvLinkState", reason="not supported")
EIGHT = tuple(machines.h100(i) for i in range(8))


def linked(index: int, *states: str, **fields: Any) -> Card:
    """A card with a link for each state."""
    return Card(
        device=f"gpu{index}",
        links=tuple(Link(index=i, state=state, **fields) for i, state in enumerate(states)),
    )


def grid_of(*rows: str, names: tuple[str, ...] | None = None) -> Machine:
    """A machine of as many cards as there are rows, connected as these words say."""
    cards = tuple(Card(device=f"gpu{i}") for i in range(len(rows)))
    words = tuple(tuple(row.split()) for row in rows)
    grid = Grid(names=names or tuple(card.device for card in cards), rows=words)
    return Machine(node="node-a", cards=cards, topology=grid, peers=grid)


@pytest.mark.parametrize(
    ("card", "entry"),
    [
        (linked(0, "active", "active"), Entry("2/2")),
        (linked(0, "active", "inactive"), Entry("1/2", "caution")),
        (Card(device="gpu0", links=(Link(index=0), Link(index=1))), Entry("2")),
        (Card(device="gpu0", links=()), None),
        (Card(device="gpu0", links=GONE), None),
    ],
)
def test_active_links_are_counted(card: Card, entry: Entry | None) -> None:
    """Where states are told; without them links alone are counted, and nothing is made up."""
    assert links_told(card) == entry


def test_equal_links_are_one_line() -> None:
    """Number, kind, rate, state and errors of eight cards in a sentence, without a table."""
    part = links_part("NVLink", EIGHT)
    assert part.note == (
        "18 × NVLink 4.0 at 26.56 GB/s a direction, all active, no errors, on each card"
    )
    assert (part.tables, part.remarks) == ((), ())


def test_links_of_an_unknown_error_count_are_not_called_without_errors() -> None:
    """No errors are told only where each link has told its zero."""
    part = links_part("NVLink", (linked(0, "active", errors=GONE),))
    assert part.note == "1 × NVLink, all active, on gpu0"


def test_links_that_differ_are_a_table_and_the_bad_ones_are_named() -> None:
    """Each link that is down or has errors is named with its other end."""
    bad = linked(1, "active", "inactive", remote="gpu0", errors=3)
    part = links_part("XGMI", (linked(0, "active", "active", errors=0), bad))
    assert [[e.text for e in row] for row in part.tables[0].rows] == [
        ["gpu0", "2/2", "XGMI", "0"],
        ["gpu1", "1/2", "XGMI", "6"],
    ]
    assert [entry.text for entry in part.remarks] == [
        "gpu1 link 0 to gpu0: 3 errors",
        "gpu1 link 1 to gpu0: inactive, 3 errors",
    ]


def test_a_machine_without_links_has_no_such_part() -> None:
    """Cards on PCIe alone say nothing of links."""
    assert links_part("NVLink", (Card(device="gpu0", links=()), Card(device="gpu1"))).is_empty
    assert links_in_short("NVLink", (Card(device="gpu0"),)) == ""


def test_cards_with_the_same_links_stand_together() -> None:
    """In one line, each group with its names."""
    cards = (linked(0, "active"), linked(1, "active"), linked(2, "inactive"))
    assert links_in_short("NVLink", cards) == (
        "1 × NVLink, all active, on gpu0, gpu1; 1 × NVLink, 0 active, on gpu2"
    )


def test_links_have_the_name_of_their_vendor() -> None:
    """XGMI on AMD's cards, NVLink on the others."""
    assert (link_kind(["hip", "hip"]), link_kind(["cuda"]), link_kind([])) == (
        "XGMI",
        "NVLink",
        "NVLink",
    )


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (grid_of("X NV18", "NV18 X"), "NV18 between both cards"),
        (grid_of("X PIX PIX", "PIX X PIX", "PIX PIX X"), "PIX between all cards"),
        (grid_of("X NV4 SYS", "NV4 X SYS", "SYS SYS X"), "pairs of cards: SYS 2 ×, NV4 1 ×"),
        (grid_of("X"), ""),
        (Machine(node="node-a"), ""),
    ],
)
def test_the_topology_in_a_line(machine: Machine, words: str) -> None:
    """One word where all pairs are alike, else pairs counted by kind."""
    assert topology_in_short(machine) == words


def test_network_cards_do_not_count_as_pairs() -> None:
    """The line speaks of accelerators, the matrix of all."""
    made = machines.eight_h100().machine
    assert made is not None
    names = (*(f"gpu{i}" for i in range(8)), "mlx5_0")
    mixed = replace(made, topology=machines.square(names, "NV18"))
    assert topology_part(mixed).note == "NV18 between all cards"
    assert len(topology_part(mixed).tables[0].columns) == 10


def test_the_key_explains_the_words_that_occur() -> None:
    """The fastest first, and no word that is not in the matrix."""
    part = topology_part(grid_of("X NV12 SYS", "NV12 X NV4", "SYS NV4 X"))
    assert part.remarks == (
        Entry("NV4: 4 NVLinks; NV12: 12 NVLinks; SYS: between NUMA nodes", "dim"),
    )
    assert topology_part(grid_of("X odd", "odd X")).remarks == ()


def test_a_single_device_has_no_matrix() -> None:
    """There is no pair to speak of."""
    assert topology_part(grid_of("X")).is_empty


def test_peers_are_shown_only_where_some_pair_does_not_work() -> None:
    """Eight cards that all reach each other need no matrix."""
    assert peers_part(grid_of("X OK", "OK X")).is_empty
    assert peers_part(Machine(node="node-a")).is_empty
    part = peers_part(grid_of("X OK", "disabled X"))
    assert part.note == "not between 1 of 2 ordered pairs"
    assert part.tables[0].rows[1][1] == Entry("disabled", "caution")


def test_a_pair_that_is_not_told_is_not_called_working() -> None:
    """A row that is too short is no OK."""
    assert peers_part(grid_of("X OK", "")).note == "not between 1 of 2 ordered pairs"
