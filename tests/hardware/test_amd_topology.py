"""How the cards of AMD reach each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.facts import Absence, Grid, Link, known
from preflight.hardware.amd import AmdBackend
from preflight.hardware.files import Files
from preflight.hardware.kfd import NODES
from preflight.hardware.protocol import Sighting
from preflight.hardware.simulated_kfd import SimulatedAmd, mi300x_cards


def see(root: Path) -> Sighting:
    """What is seen of the machine below ``root``."""
    return AmdBackend(Files(root), {}).look("n")


def look(root: Path, machine: SimulatedAmd) -> Sighting:
    """What is seen of a machine that is written first."""
    machine.write(root)
    return see(root)


def links(sighting: Sighting, card: int) -> tuple[Link, ...]:
    """XGMI links of one card."""
    return known(sighting.cards[card].links) or ()


def row(grid: Grid | None, index: int) -> tuple[str, ...]:
    """One row of a grid that is there."""
    assert grid is not None
    return grid.rows[index]


def edit(root: Path, path: str, old: str, new: str) -> None:
    """Change one file of KFD's topology."""
    file = root / NODES.lstrip("/") / path / "properties"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_a_full_mesh(tmp_path: Path) -> None:
    """Each of eight cards has an active link to each of the others, one hop away."""
    sighting = look(tmp_path, SimulatedAmd())
    for index in range(8):
        others = [f"gpu{other}" for other in range(8) if other != index]
        assert [link.remote for link in links(sighting, index)] == others
    assert links(sighting, 0)[0] == Link(
        index=1, state="active", remote="gpu1", rate_GBps=64.0, weight=15
    )
    assert row(sighting.topology, 2) == ("XGMI", "XGMI", "X", *["XGMI"] * 5)
    assert row(sighting.peers, 2) == ("OK", "OK", "X", *["OK"] * 5)


def test_a_link_that_is_down(tmp_path: Path) -> None:
    """The pair has no link in either card, meets at the CPU, and no other pair is touched."""
    machine = SimulatedAmd()
    machine.cut_xgmi(1, 6)
    sighting = look(tmp_path, machine)
    assert "gpu6" not in [link.remote for link in links(sighting, 1)]
    assert "gpu1" not in [link.remote for link in links(sighting, 6)]
    assert [len(links(sighting, index)) for index in range(8)] == [7, 6, 7, 7, 7, 7, 6, 7]
    assert row(sighting.topology, 1) == ("XGMI", "X", *["XGMI"] * 4, "SYS", "XGMI")
    assert row(sighting.peers, 1)[6] == "OK", "the way over PCIe is left"


def test_a_card_that_lost_all_links(tmp_path: Path) -> None:
    """A card outside the mesh has no links, which is not the same as unknown ones."""
    machine = SimulatedAmd()
    machine.cut_xgmi(3)
    sighting = look(tmp_path, machine)
    assert sighting.cards[3].links == ()
    assert row(sighting.topology, 3) == ("PHB", "PHB", "PHB", "X", "SYS", "SYS", "SYS", "SYS")


def test_cards_without_xgmi(tmp_path: Path) -> None:
    """Cards below one CPU are PHB to each other and SYS to those of the other one."""
    sighting = look(tmp_path, SimulatedAmd(cards=mi300x_cards(3), hive_id=0))
    assert row(sighting.topology, 0) == ("X", "PHB", "SYS")
    assert row(sighting.topology, 2) == ("SYS", "SYS", "X")
    assert row(sighting.peers, 0) == ("X", "OK", "OK")


def test_firmware_without_numa_nodes(tmp_path: Path) -> None:
    """Where no NUMA node is named the pair is PCIE, whatever lies between."""
    cards = mi300x_cards(2)
    for card in cards:
        card.numa_node = -1
    sighting = look(tmp_path, SimulatedAmd(cards=cards, hive_id=0))
    assert row(sighting.topology, 0) == ("X", "PCIE")


@pytest.mark.parametrize(("is_old", "word"), [(False, "no link"), (True, "unknown")])
def test_cards_that_do_not_reach_each_other(tmp_path: Path, is_old: bool, word: str) -> None:
    """A kernel that lists such ways and lists none says so; an older one cannot know."""
    machine = SimulatedAmd(
        cards=mi300x_cards(2), hive_id=0, has_pcie_peers=False, is_old_kernel=is_old
    )
    assert row(look(tmp_path, machine).peers, 0) == ("X", word)


def test_a_link_that_is_listed_and_disabled(tmp_path: Path) -> None:
    """A link without KFD's flag of an enabled one is inactive."""
    SimulatedAmd(cards=mi300x_cards(2)).write(tmp_path)
    edit(tmp_path, "2/io_links/1", "flags 1", "flags 4")
    assert links(see(tmp_path), 0)[0].state == "inactive"


def test_a_rate_that_is_not_told(tmp_path: Path) -> None:
    """KFD's 0 is no bandwidth of 0."""
    sighting = look(tmp_path, SimulatedAmd(cards=mi300x_cards(2), xgmi_MBps=0))
    rate = links(sighting, 0)[0].rate_GBps
    assert isinstance(rate, Absence) and rate.reason == "not found"


def test_a_link_that_cannot_be_read_is_not_a_missing_one(tmp_path: Path) -> None:
    """It stays in the list with its reason; the pair is known from the other card."""
    SimulatedAmd(cards=mi300x_cards(2)).write(tmp_path)
    edit(tmp_path, "2/io_links/1", "type 11", "type zz")
    edit(tmp_path, "2/io_links/1", "node_to 3", "node_to zz")
    sighting = see(tmp_path)
    (link,) = links(sighting, 0)
    assert isinstance(link.state, Absence) and isinstance(link.remote, Absence)
    assert link.index == 1
    assert row(sighting.topology, 0) == ("X", "XGMI")
    assert row(sighting.peers, 0) == ("X", "unknown")


def test_xgmi_to_a_cpu_is_no_link_between_cards(tmp_path: Path) -> None:
    """A card that hangs from its CPU by XGMI, as in Frontier, has no link more for it."""
    SimulatedAmd(cards=mi300x_cards(2)).write(tmp_path)
    edit(tmp_path, "2/io_links/0", "type 2", "type 11")
    assert [link.remote for link in links(see(tmp_path), 0)] == ["gpu1"]


def test_links_of_hidden_cards(tmp_path: Path) -> None:
    """A hidden card is in no grid, and keeps its name at the end of a link."""
    SimulatedAmd(cards=mi300x_cards(4)).write(tmp_path)
    sighting = AmdBackend(Files(tmp_path), {"HIP_VISIBLE_DEVICES": "1,3"}).look("n")
    assert sighting.topology is not None
    assert sighting.topology.names == ("gpu1", "gpu3")
    assert sighting.topology.rows == (("X", "XGMI"), ("XGMI", "X"))
    assert [link.remote for link in links(sighting, 0)] == ["gpu0", "gpu2", "gpu3"]


def test_parts_of_divided_cards(tmp_path: Path) -> None:
    """Parts reach each other within the card and across; one link to each other card is listed."""
    cards = mi300x_cards(3)
    for card in cards:
        card.compute_partition = "DPX"
    sighting = look(tmp_path, SimulatedAmd(cards=cards))
    assert row(sighting.topology, 0) == ("X", *["XGMI"] * 5)
    for part in range(2):
        reached = [(link.remote, link.weight) for link in links(sighting, part)]
        assert reached == [("gpu2", 41), ("gpu4", 41)]
