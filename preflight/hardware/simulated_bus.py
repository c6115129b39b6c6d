"""The PCI bus of a machine that does not exist: root ports, and what is plugged into them."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from preflight.hardware.pci import BUS
from preflight.hardware.simulated_tree import Tree

_DRIVERS = "/sys/bus/pci/drivers"
_PUBLIC = 64
_ALL_REDIRECTED = 0x001D
"""An ACS control register as firmware leaves it with virtualization on: source validation, request
and completion redirect, upstream forwarding (seen in public reports of hanging peer copies)."""


@dataclass
class SimulatedBus:
    """Every device has a root port of its own, unless it is plugged in beside another one."""

    tree: Tree
    redirects: bool = False
    """Whether the ports send traffic between two cards to the root."""
    is_readable: bool = True
    """Whether this process may read the whole configuration space, as root may."""
    _ports: dict[str, int] = field(default_factory=dict)
    """Root ports by host bridge."""
    _folders: dict[str, str] = field(default_factory=dict)
    """Folder of each device by its address."""
    _nodes: dict[str, int] = field(default_factory=dict)

    def plug(
        self, address: str, numa_node: int, driver: str | None = None, beside: str = ""
    ) -> str:
        """Folder in sysfs of a new device, which shares the port of ``beside`` if that is given."""
        above = (
            self._folders[beside].rpartition("/")[0] if beside else self._port(address, numa_node)
        )
        folder = f"{above}/{address}"
        self._folders[address] = folder
        self._nodes[address] = numa_node
        self._add(folder, numa_node)
        if driver:
            self.tree.folder(f"{_DRIVERS}/{driver}")
            self.tree.link(f"{folder}/driver", f"{_DRIVERS}/{driver}")
        return folder

    def node_of(self, address: str) -> int:
        """NUMA node of a device that was plugged in."""
        return self._nodes[address]

    def _port(self, address: str, numa_node: int) -> str:
        """Folder of a new root port; the host bridge for a device on the root bus itself."""
        root = _root_bus(numa_node)
        bridge = f"/sys/devices/pci{root}"
        if address.startswith(f"{root}:"):
            return bridge
        number = self._ports.get(root, 0)
        self._ports[root] = number + 1
        port = f"{bridge}/{root}:{0x10 + number // 8:02x}.{number % 8}"
        self._add(port, numa_node)
        space = _configuration(_ALL_REDIRECTED if self.redirects else 0)
        self.tree.data(f"{port}/config", space if self.is_readable else space[:_PUBLIC])
        return port

    def _add(self, folder: str, numa_node: int) -> None:
        entry = f"{BUS}/{folder.rpartition('/')[2]}"
        if self.tree.is_folder(entry):
            self.tree.move(entry, folder)
        self.tree.folder(folder)
        self.tree.text(f"{folder}/numa_node", numa_node)
        self.tree.link(entry, folder)


def _root_bus(numa_node: int) -> str:
    """Domain and bus below a socket's host bridge: ``0000:80`` of the second one."""
    if numa_node <= 1:
        return "0000:80" if numa_node == 1 else "0000:00"
    return f"{numa_node:04x}:00"


def _configuration(acs_control: int) -> bytes:
    """A root port's configuration space with one extended capability, ACS."""
    space = bytearray(4096)
    struct.pack_into("<HH", space, 0, 0x8086, 0x352A)
    struct.pack_into("<I", space, 0x100, 0x000D | 1 << 16)
    struct.pack_into("<HH", space, 0x104, 0x003F, acs_control)
    return bytes(space)
