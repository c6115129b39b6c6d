"""RDMA ports, and which accelerator each is nearest to."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from preflight.facts import RdmaPort
from preflight.hardware.files import Files
from preflight.hardware.pci import BUS
from preflight.hardware.rdma import read_ports
from preflight.hardware.simulated_tree import Tree

from .machines import MALFORMED, machine, reason

RDMA = "/sys/class/infiniband"
HEALTHY: dict[str, object] = {
    "state": "4: ACTIVE",
    "phys_state": "5: LinkUp",
    "rate": "400 Gb/sec (4X NDR)",
    "link_layer": "InfiniBand",
}


def plug(root: Path, folder: str, device: str = "", numa: int = 0, **port: object) -> None:
    """A PCI device at its folder below /sys/devices, with an RDMA device where it has a name."""
    tree = Tree(root)
    place = f"/sys/devices/{folder}"
    address = folder.rpartition("/")[2]
    tree.text(f"{place}/numa_node", numa)
    tree.link(f"{BUS}/{address}", place)
    if device:
        inside = f"{place}/infiniband/{device}"
        tree.link(f"{inside}/device", place)
        tree.link(f"{RDMA}/{device}", inside)
        for name, text in {**HEALTHY, **port}.items():
            tree.text(f"{inside}/ports/1/{name}", text)


def ports(root: Path, accelerators: dict[str, str] | None = None) -> tuple[RdmaPort, ...]:
    """Ports of a machine that has RDMA."""
    found = read_ports(Files(root), accelerators or {})
    assert isinstance(found, tuple)
    return found


def nearest(root: Path, accelerators: dict[str, str]) -> dict[str, str]:
    """The nearest accelerator by device."""
    return {port.device: port.nearest for port in ports(root, accelerators)}


def test_a_port_is_read(tmp_path: Path) -> None:
    """Its states are words, its rate a number, and its file opens."""
    plug(tmp_path, "pci0000:15/0000:15:01.0/0000:18:00.0", "mlx5_0", numa=1)
    Tree(tmp_path).text("/sys/class/infiniband_verbs/uverbs0/ibdev", "mlx5_0")
    Tree(tmp_path).text("/dev/infiniband/uverbs0", "")
    assert ports(tmp_path) == (
        RdmaPort(
            device="mlx5_0",
            port=1,
            state="active",
            physical_state="link up",
            link_layer="infiniband",
            rate_Gbps=400.0,
            is_open=True,
            pci="0000:18:00.0",
            numa_node=1,
        ),
    )


@pytest.mark.parametrize(
    ("name", "text", "field", "word"),
    [
        ("state", "1: DOWN", "state", "down"),
        ("state", "2: INIT", "state", "init"),
        ("state", "3: ARMED", "state", "armed"),
        ("state", "5: ACTIVE_DEFER", "state", "active defer"),
        ("phys_state", "2: Polling", "physical_state", "polling"),
        ("phys_state", "3: Disabled", "physical_state", "disabled"),
        ("phys_state", "6: LinkErrorRecovery", "physical_state", "link error recovery"),
        ("link_layer", "Ethernet", "link_layer", "ethernet"),
        ("link_layer", "Unspecified", "link_layer", "unspecified"),
        ("rate", "2.5 Gb/sec (1X SDR)", "rate_Gbps", 2.5),
        ("rate", "800 Gb/sec (4X XDR)", "rate_Gbps", 800.0),
    ],
)
def test_words_of_the_kernel(
    tmp_path: Path, name: str, text: str, field: str, word: object
) -> None:
    """Every state of InfiniBand, Ethernet and EFA is told without its number."""
    plug(tmp_path, "pci0000:15/0000:18:00.0", "mlx5_0", **{name: text})
    (port,) = ports(tmp_path)
    assert getattr(port, field) == word


def test_a_container_without_the_device_files(tmp_path: Path) -> None:
    """The adapter can be seen and not be used: the file is missing, or refused."""
    plug(tmp_path, "pci0000:15/0000:18:00.0", "mlx5_0")
    assert reason(ports(tmp_path)[0].is_open) == "not found"
    tree = Tree(tmp_path)
    tree.text("/sys/class/infiniband_verbs/uverbs3/ibdev", "mlx5_0")
    assert reason(ports(tmp_path)[0].is_open) == "not found"
    tree.text("/dev/infiniband/uverbs3", "")
    tree.stand_in("opening", "/dev/infiniband/uverbs3", errno.EPERM)
    assert reason(ports(tmp_path)[0].is_open) == "no permission"


def test_the_longest_common_way_decides(tmp_path: Path) -> None:
    """An adapter behind the switch of one card is nearer to it than to another of its socket."""
    for number in (1, 2):
        switch = f"pci0000:15/0000:15:0{number}.0/0000:{number}6:00.0"
        plug(tmp_path, f"{switch}/0000:{number}7:00.0/0000:{number}b:00.0")
        plug(tmp_path, f"{switch}/0000:{number}7:01.0/0000:{number}8:00.0", f"mlx5_{3 - number}")
    cards = {"gpu0": "0000:1b:00.0", "gpu1": "0000:2b:00.0"}
    assert nearest(tmp_path, cards) == {"mlx5_1": "gpu1", "mlx5_2": "gpu0"}


def test_equally_near_cards_are_given_out_in_turn(tmp_path: Path) -> None:
    """Two cards and two adapters behind one switch make two pairs."""
    for slot, name in enumerate(["", "", "mlx5_0", "mlx5_1"]):
        plug(tmp_path, f"pci0000:15/0000:15:01.0/0000:2{slot}:00.0", name)
    cards = {"gpu0": "0000:20:00.0", "gpu1": "0000:21:00.0"}
    assert nearest(tmp_path, cards) == {"mlx5_0": "gpu0", "mlx5_1": "gpu1"}


def test_without_a_common_bridge_the_numa_node_decides_if_it_can(tmp_path: Path) -> None:
    """One card on the node of the adapter is its nearest; of two nobody knows."""
    plug(tmp_path, "pci0000:15/0000:1b:00.0", numa=0)
    plug(tmp_path, "pci0000:97/0000:9a:00.0", numa=1)
    plug(tmp_path, "pci0000:a7/0000:a8:00.0", "mlx5_0", numa=1)
    cards = {"gpu0": "0000:1b:00.0", "gpu1": "0000:9a:00.0"}
    assert nearest(tmp_path, cards) == {"mlx5_0": "gpu1"}
    plug(tmp_path, "pci0000:b7/0000:ba:00.0", numa=1)
    assert nearest(tmp_path, {**cards, "gpu2": "0000:ba:00.0"}) == {"mlx5_0": ""}


@pytest.mark.parametrize("node", [-1, 2])
def test_a_node_without_a_card_is_near_to_none(tmp_path: Path, node: int) -> None:
    """A firmware that names no node makes no neighbours."""
    plug(tmp_path, "pci0000:15/0000:1b:00.0", numa=-1)
    plug(tmp_path, "pci0000:a7/0000:a8:00.0", "mlx5_0", numa=node)
    assert nearest(tmp_path, {"gpu0": "0000:1b:00.0"}) == {"mlx5_0": ""}


def test_an_adapter_with_two_ports(tmp_path: Path) -> None:
    """Each port is listed, and other folders are none."""
    plug(tmp_path, "pci0000:15/0000:18:00.0", "mlx5_0")
    tree = Tree(tmp_path)
    tree.text(f"{RDMA}/mlx5_0/ports/2/state", "1: DOWN")
    tree.text(f"{RDMA}/mlx5_0/ports/x/state", "1: DOWN")
    assert [(port.port, port.state) for port in ports(tmp_path)] == [(1, "active"), (2, "down")]


def test_a_machine_without_rdma(tmp_path: Path) -> None:
    """No class beside the others is no device; no /sys at all is not known."""
    assert read_ports(machine(tmp_path / "a", {"/sys/class/net/lo/mtu": 1}), {}) == ()
    assert reason(read_ports(Files(tmp_path / "b"), {})) == "not found"


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_files_raise_nothing(tmp_path: Path, text: str) -> None:
    """The port is listed, its rate absent."""
    plug(tmp_path, "pci0000:15/0000:18:00.0", "mlx5_0", rate=text, state=text, numa_node=text)
    (port,) = ports(tmp_path, {"gpu0": text})
    assert reason(port.rate_Gbps) == "not readable"
    assert port.state != "active"
