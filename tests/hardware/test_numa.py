"""NUMA nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.facts import NumaNode
from preflight.hardware.files import Files
from preflight.hardware.numa import is_balancing, node_of, read_nodes

from .machines import MALFORMED, machine, reason

NODES = "/sys/devices/system/node"


def node(number: int, cpus: str, memory: str) -> dict[str, object]:
    """Files of one node."""
    folder = f"{NODES}/node{number}"
    return {f"{folder}/cpulist": cpus, f"{folder}/meminfo": f"Node {number} MemTotal: {memory} kB"}


def test_nodes_by_number(tmp_path: Path) -> None:
    """Node 10 follows node 2, and other files of the folder are no nodes."""
    texts = {**node(10, "4-5", "1048576"), **node(0, "0-3,8", "2097152"), **node(2, "6", "0")}
    found = read_nodes(machine(tmp_path, {**texts, f"{NODES}/online": "0,2,10"}))
    assert found == (
        NumaNode(index=0, cpus="0-3,8", memory_GiB=2.0),
        NumaNode(index=2, cpus="6", memory_GiB=0.0),
        NumaNode(index=10, cpus="4-5", memory_GiB=1.0),
    )


def test_a_node_without_cpus_is_memory_alone(tmp_path: Path) -> None:
    """On Grace the memory of a GPU is a node of its own."""
    found = read_nodes(
        machine(tmp_path, {**node(0, "0-71", "502710272"), **node(1, "", "99614720")})
    )
    assert found == (
        NumaNode(index=0, cpus="0-71", memory_GiB=479.42),
        NumaNode(index=1, cpus="", memory_GiB=95.0),
    )


def test_a_kernel_without_numa(tmp_path: Path) -> None:
    """No folder, or one without nodes, is an absence and not a machine with one node."""
    assert reason(read_nodes(Files(tmp_path))) == "not found"
    assert reason(read_nodes(machine(tmp_path, {f"{NODES}/possible": "0"}))) == "not supported"


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_files_are_absences(tmp_path: Path, text: str) -> None:
    """A node is listed all the same, with what could be read of it."""
    folder = f"{NODES}/node0"
    files = machine(
        tmp_path, {f"{folder}/cpulist": f"x{text}", f"{folder}/meminfo": text, f"{folder}/x": ""}
    )
    found = read_nodes(files)
    assert isinstance(found, tuple)
    assert (found[0].index, found[0].cpus) == (0, "")
    assert reason(found[0].memory_GiB) == "not readable"


@pytest.mark.parametrize(("mode", "is_on"), [("0", False), ("1", True), ("2", True)])
def test_every_mode_but_0_moves_pages(tmp_path: Path, mode: str, is_on: bool) -> None:
    """Balancing and tiering both move pages away under a running job."""
    assert is_balancing(machine(tmp_path, {"/proc/sys/kernel/numa_balancing": mode})) is is_on


def test_a_kernel_without_balancing(tmp_path: Path) -> None:
    """Where the kernel has no such switch, nothing is known."""
    assert reason(is_balancing(Files(tmp_path))) == "not found"


def test_the_node_of_a_device(tmp_path: Path) -> None:
    """-1 means that the firmware names none, and is kept."""
    files = machine(tmp_path, {"/sys/a/numa_node": "1", "/sys/b/numa_node": "-1"})
    assert (node_of(files, "/sys/a"), node_of(files, "/sys/b")) == (1, -1)
    assert reason(node_of(files, "/sys/c")) == "not found"
