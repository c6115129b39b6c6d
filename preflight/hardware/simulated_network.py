"""Network interfaces and RDMA devices of a machine that does not exist."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from preflight.hardware.simulated_bus import SimulatedBus
from preflight.hardware.simulated_tree import Tree


@dataclass
class SimulatedInterface:
    """A network interface."""

    name: str = "ens10f0np0"
    rate_Gbps: float = 100
    is_up: bool = True
    numa_node: int = 0
    driver: str = "ice"


@dataclass
class SimulatedPort:
    """The one port of an RDMA device."""

    device: str
    rate_Gbps: float = 400
    is_up: bool = True
    link_layer: str = "InfiniBand"
    numa_node: int | None = None
    """None plugs it in beside the accelerator of the same number, on a switch of theirs."""


def write_interfaces(
    tree: Tree, bus: SimulatedBus, interfaces: Sequence[SimulatedInterface]
) -> None:
    """Loopback, which is no hardware, and the interfaces."""
    tree.folder("/sys/devices/virtual/net/lo")
    tree.link("/sys/class/net/lo", "/sys/devices/virtual/net/lo")
    for index, interface in enumerate(interfaces):
        device = bus.plug(f"0000:{0xF0 + index:02x}:00.0", interface.numa_node, interface.driver)
        folder = f"{device}/net/{interface.name}"
        tree.text(f"{folder}/operstate", "up" if interface.is_up else "down")
        tree.text(f"{folder}/speed", int(interface.rate_Gbps * 1000) if interface.is_up else -1)
        tree.text(f"{folder}/mtu", 1500)
        tree.link(f"{folder}/device", device)
        tree.link(f"/sys/class/net/{interface.name}", folder)


def write_ports(
    tree: Tree,
    bus: SimulatedBus,
    ports: Sequence[SimulatedPort],
    cards: Sequence[str],
    *,
    has_files: bool,
) -> None:
    """RDMA devices, each beside the card of its number in ``cards``, which are PCI addresses.

    ``has_files`` is whether /dev/infiniband is there too.
    """
    for index, port in enumerate(ports):
        device = _plug(bus, index, port, cards)
        folder = f"{device}/infiniband/{port.device}"
        tree.link(f"{folder}/device", device)
        tree.link(f"/sys/class/infiniband/{port.device}", folder)
        _write_port(tree, f"{folder}/ports/1", port)
        verbs = f"{device}/infiniband_verbs/uverbs{index}"
        tree.text(f"{verbs}/ibdev", port.device)
        tree.link(f"/sys/class/infiniband_verbs/uverbs{index}", verbs)
        if has_files:
            tree.data(f"/dev/infiniband/uverbs{index}", b"")


def _plug(bus: SimulatedBus, index: int, port: SimulatedPort, cards: Sequence[str]) -> str:
    if port.numa_node is None and index < len(cards):
        card = cards[index]
        address = f"{card.rpartition(':')[0]}:{0x10 + index % 16:02x}.0"
        return bus.plug(address, bus.node_of(card), "mlx5_core", beside=card)
    return bus.plug(f"0000:{0xC0 + index:02x}:00.0", port.numa_node or 0, "mlx5_core")


def _write_port(tree: Tree, folder: str, port: SimulatedPort) -> None:
    tree.text(f"{folder}/state", "4: ACTIVE" if port.is_up else "1: DOWN")
    tree.text(f"{folder}/phys_state", "5: LinkUp" if port.is_up else "2: Polling")
    tree.text(f"{folder}/link_layer", port.link_layer)
    # A port that is down tells the lowest rate there is.
    tree.text(f"{folder}/rate", f"{port.rate_Gbps:g} Gb/sec (4X)" if port.is_up else "10 Gb/sec")
