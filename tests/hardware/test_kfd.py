"""The topology of KFD as the kernel writes it."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.facts import Absence
from preflight.hardware.files import Files
from preflight.hardware.kfd import NODES, read_properties, read_topology
from preflight.hardware.simulated_kfd import SimulatedAmd, mi300x_cards

from . import sysfs


def test_cpus_and_cards(tmp_path: Path) -> None:
    """All nodes are kept in order; those with SIMDs compute."""
    SimulatedAmd(cards=mi300x_cards(2)).write(tmp_path)
    topology = read_topology(Files(tmp_path))
    assert [(node.number, node.is_gpu) for node in topology.nodes] == [
        (0, False),
        (1, False),
        (2, True),
        (3, True),
    ]
    assert [node.gpu_id for node in topology.gpus] == [28851, 23018]
    assert (topology.absences, topology.refused, topology.fault) == ([], [], None)


def test_links_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    """Link 10 comes after link 9, and each says type, end, weight and bandwidth."""
    SimulatedAmd(cards=mi300x_cards(12)).write(tmp_path)
    links = read_topology(Files(tmp_path)).gpus[0].io_links
    assert not isinstance(links, Absence)
    assert [link.index for link in links] == list(range(12))
    last = links[-1]
    assert (last.type, last.node_to, last.weight, last.flags) == (11, 13, 15, 1)
    assert last.max_bandwidth_MBps == 64_000


def test_no_topology(tmp_path: Path) -> None:
    """Without the folder there is no node and no guess, but the reason."""
    topology = read_topology(Files(tmp_path))
    assert topology.nodes == []
    assert topology.fault is not None and topology.fault.reason == "not found"


def test_other_names_are_passed_over(tmp_path: Path) -> None:
    """Only folders with a number are nodes."""
    SimulatedAmd(cards=[]).write(tmp_path)
    (tmp_path / NODES.lstrip("/") / "power").mkdir()
    assert len(read_topology(Files(tmp_path)).nodes) == 2


def test_only_frame_buffer_is_memory_of_the_card(tmp_path: Path) -> None:
    """Public and private frame buffer add up; system memory and caches do not count."""
    banks = [(0, 512 * 1024**3), (1, 16 * 1024**3), (2, 48 * 1024**3), (4, 1024**3)]
    sysfs.write_node(tmp_path, 1, sysfs.mi300x(0), banks)
    assert read_topology(Files(tmp_path)).nodes[0].memory_bytes == 64 * 1024**3


@pytest.mark.parametrize("banks", [[], [(0, 512 * 1024**3)]])
def test_no_frame_buffer_is_no_size(tmp_path: Path, banks: list[tuple[int, int]]) -> None:
    """A card whose banks list no frame buffer has an unknown size, not 0."""
    sysfs.write_node(tmp_path, 1, sysfs.mi300x(0), banks)
    (tmp_path / NODES.lstrip("/") / "1/mem_banks").mkdir(exist_ok=True)
    assert isinstance(read_topology(Files(tmp_path)).nodes[0].memory_bytes, Absence)


def test_a_bank_that_cannot_be_read(tmp_path: Path) -> None:
    """Part of the memory is no size: one bank that is damaged makes all of it unknown."""
    sysfs.write_node(tmp_path, 1, sysfs.mi300x(0), [(1, 1024**3), (1, 1024**3)])
    (tmp_path / NODES.lstrip("/") / "1/mem_banks/1/properties").write_text("heap_type 1\n")
    found = read_topology(Files(tmp_path)).nodes[0].memory_bytes
    assert isinstance(found, Absence) and "size_in_bytes" in found.what


def test_a_line_that_is_missing_or_no_number(tmp_path: Path) -> None:
    """An old kernel lacks a line, a sick one damages it; the other lines are still read."""
    (tmp_path / "properties").write_text("simd_count 1216\nhive_id zz\nunique_id 0\nalone\n")
    properties = read_properties(Files(tmp_path), "/properties")
    assert properties.whole("simd_count") == 1216
    assert properties.whole("unique_id") == 0
    reasons = {}
    for name in ("hive_id", "domain", "alone"):
        fact = properties.whole(name)
        assert isinstance(fact, Absence)
        reasons[name] = fact.reason
    assert reasons == {"hive_id": "not readable", "domain": "not found", "alone": "not found"}
    assert isinstance(properties.positive("unique_id"), Absence)


def test_a_card_whose_properties_are_lost_is_still_one(tmp_path: Path) -> None:
    """gpu_id says that there is a card where its properties say nothing."""
    SimulatedAmd(cards=mi300x_cards(2)).write(tmp_path)
    (tmp_path / NODES.lstrip("/") / "2/properties").write_text("")
    topology = read_topology(Files(tmp_path))
    assert [node.number for node in topology.gpus] == [2, 3]
