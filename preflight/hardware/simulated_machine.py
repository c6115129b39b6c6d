"""A whole machine that does not exist: what stands behind NVML, and the files of the kernel."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from preflight.hardware.catalog import GIB, LinkSpec, Product, products
from preflight.hardware.pci import BUS
from preflight.hardware.profiles import SILENT_FABRIC, ProfileRow, product_of
from preflight.hardware.simulated_amd_card import SimulatedAmdCard
from preflight.hardware.simulated_host import Accelerator, SimulatedHost, SimulatedPort
from preflight.hardware.simulated_kfd import SimulatedAmd, mi300x_cards
from preflight.hardware.simulated_nvml import (
    SimulatedCard,
    SimulatedFabric,
    SimulatedNvml,
    healthy_cards,
)
from preflight.hardware.simulated_tree import Tree

NVLINK_VERSIONS = {"3.0": 4, "4.0": 6, "5.0": 7}
"""nvmlNvlinkVersion_t by what it means (nvml.h)."""
REMOTE_GPU, REMOTE_SWITCH = 0, 2
MARGIN_OF_RATE = 1.0625
"""What NVML tells is the rate on the wire: 26562 MB/s of a link that is sold as 25 GB/s."""
SUPERCHIP_ADDRESSES = ("0008:01:00.0", "0009:01:00.0", "0018:01:00.0", "0019:01:00.0")


@dataclass
class SimulatedMachine:
    """One machine, to be broken by hand before it is written."""

    row: ProfileRow
    host: SimulatedHost
    nvml: SimulatedNvml | None = None
    amd: SimulatedAmd | None = None
    cards: list[SimulatedCard] = field(default_factory=list)
    """Cards of NVIDIA that are on the bus; the driver lists those of ``nvml``."""
    module_version: str | None = None
    """Of NVIDIA's kernel module, where it is not that of the library."""

    def accelerators(self) -> list[Accelerator]:
        """Address, PCI id and NUMA node of every card on the bus."""
        nodes = self._nodes()
        if self.amd is not None:
            return [
                (card.address, f"1002:{card.device_id:04x}", card.numa_node)
                for card in self.amd.cards
            ]
        return [
            (bus_address(card), f"10de:{card.pci_id >> 16:04x}", node)
            for card, node in zip(self.cards, nodes, strict=True)
        ]

    def _nodes(self) -> list[int]:
        """NUMA node of each card: half of them at each CPU."""
        count, sockets = len(self.cards), self.host.sockets
        return [index * sockets // count for index in range(count)]

    def write(self, root: Path) -> None:
        """Write the files of the kernel below ``root``."""
        if self.amd is not None:
            self.amd.write(root)
        self.host.write(root, self.accelerators())
        if self.amd is not None:
            self._write_iommu_groups(Tree(root))
        if self.nvml is not None:
            self._write_nvidia(Tree(root))

    def _write_nvidia(self, tree: Tree) -> None:
        version = self.module_version or self.row.driver
        kind = f"Open Kernel Module for {self.host.architecture}"
        tree.text(
            "/proc/driver/nvidia/version",
            f"NVRM version: NVIDIA UNIX {kind}  {version}  Release Build  (buildd@host)",
        )
        for path in ("/dev/nvidiactl", "/dev/nvidia-uvm"):
            tree.text(path, "")
        cpus = self.host.cores_per_socket * self.host.threads_per_core
        for card, node in zip(self.cards, self._nodes(), strict=True):
            tree.text(f"/dev/nvidia{card.minor}", "")
            near = f"{node * cpus}-{(node + 1) * cpus - 1}"
            tree.text(f"{BUS}/{bus_address(card)}/local_cpulist", near)

    def _write_iommu_groups(self, tree: Tree) -> None:
        """A group of its own for each card of AMD, as the host's writer gives those of NVIDIA."""
        kind = {"passthrough": "identity", "translating": "DMA-FQ"}.get(self.host.iommu)
        for number, (address, _, _) in enumerate(self.accelerators() if kind else ()):
            group = f"/sys/kernel/iommu_groups/{number}"
            tree.text(f"{group}/type", kind)
            tree.link(f"{BUS}/{address}/iommu_group", group)

    @contextlib.contextmanager
    def behind_the_libraries(self) -> Iterator[None]:
        """While it lasts, NVIDIA's management library is this machine's."""
        if self.nvml is None:
            yield
            return
        with self.nvml.put_in_place():
            yield


def bus_address(card: SimulatedCard) -> str:
    """``0000:1b:00.0`` from NVML's ``00000000:1B:00.0``."""
    assert isinstance(card.bus, str), "a profile has no broken address"
    domain, _, rest = card.bus.lower().partition(":")
    return f"{int(domain, 16):04x}:{rest}"


def build_machine(row: ProfileRow) -> SimulatedMachine:
    """A healthy machine of a profile."""
    product = product_of(row)
    host = _host(row, product)
    if row.kind == "hip":
        amd = SimulatedAmd(
            cards=mi300x_cards(row.cards), amdgpu_version=row.driver, rocm_version=f"{row.hip}.0"
        )
        return SimulatedMachine(row=row, host=host, amd=amd)
    cards = nvidia_cards(row, product)
    nvml = SimulatedNvml(list(cards))
    nvml.driver.version = row.driver
    nvml.driver.library = f"{(row.driver_cuda or '').partition('.')[0]}.{row.driver}"
    nvml.driver.cuda = _cuda_number(row.driver_cuda or "")
    return SimulatedMachine(row=row, host=host, nvml=nvml, cards=cards)


def _cuda_number(version: str) -> int:
    """13000 from ``13.0``."""
    major, _, minor = version.partition(".")
    return int(major) * 1000 + int(minor or 0) * 10


def nvidia_cards(row: ProfileRow, product: Product) -> list[SimulatedCard]:
    """Cards of one product at the addresses of a profile."""
    cards = healthy_cards(row.cards)
    for index, card in enumerate(cards):
        become(card, product)
        if row.superchip:
            card.bus = f"0000{SUPERCHIP_ADDRESSES[index].upper()}"
    _join(cards, product.link)
    return cards


def become(card: SimulatedCard, product: Product) -> None:
    """Make a card one of ``product``; address, serial number and links stay."""
    major, minor = product.architecture[3:-1], product.architecture[-1]
    card.name = product.driver_names[0]
    card.capability = (int(major), int(minor))
    card.memory_bytes = int((product.memory_GiB or product.memory_GB * 1e9 / GIB) * GIB)
    if product.pci_ids:
        card.pci_id = int(product.pci_ids[0].partition(":")[2], 16) << 16 | 0x10DE
    generation = product.pcie_generation or 5
    card.max_generation = card.card_max_generation = generation
    card.generation = generation if product.data_center else 1
    power_W = product.power_W or 700.0
    card.limit_W = card.default_limit_W = card.max_limit_W = power_W
    if not product.data_center:  # neither ECC by default, nor spare rows, nor slices
        card.ecc, card.banks, card.mig, card.fabric = False, None, None, None
        card.ecc_pending = False
    if product.architecture in SILENT_FABRIC:
        card.fabric = None


def _join(cards: list[SimulatedCard], link: LinkSpec | None) -> None:
    """NVLinks of a product, over its switches."""
    for card in cards:
        if link is None or link.optional:
            card.links, card.fabric = [], None
            continue
        for one in card.links:
            one.version = NVLINK_VERSIONS[link.version or "4.0"]
            one.rate_MBps = int((link.rate_GBps or 25) * 1000 * MARGIN_OF_RATE)
        del card.links[link.links or len(card.links) :]
        if card.fabric is not None:
            card.fabric = SimulatedFabric()


def _host(row: ProfileRow, product: Product) -> SimulatedHost:
    """The host that such cards usually sit in."""
    if row.superchip:
        memory_GiB = product.memory_GiB or 0.0
        return SimulatedHost(
            architecture="aarch64",
            cpu="Neoverse-V2",
            kernel="6.8.0-1028-nvidia-64k",
            cores_per_socket=72,
            threads_per_core=1,
            memory_GiB=960.0,
            card_nodes_GiB=(memory_GiB,) * row.cards,
            vendor="NVIDIA",
            rdma=[SimulatedPort(f"mlx5_{index}") for index in range(4)],
            verbs_library="/usr/lib/aarch64-linux-gnu/libibverbs.so.1",
        )
    if row.kind == "hip":
        return SimulatedHost(
            cpu="AMD EPYC 9654 96-Core Processor",
            cores_per_socket=96,
            threads_per_core=1,
            driver="amdgpu",
            services=(),
            peer_memory="amdkfd",
        )
    if not product.data_center:
        return SimulatedHost(
            cpu="AMD Ryzen 9 9950X 16-Core Processor",
            sockets=1,
            cores_per_socket=16,
            memory_GiB=128.0,
            vendor="ASUS",
            iommu="off",
            rdma=[],
            verbs_library=None,
            peer_memory="none",
            services=(),
        )
    return SimulatedHost()


def other_product(row: ProfileRow) -> Product:
    """What is delivered in the place of what was bought."""
    return next(product for product in products() if product.name == row.wrong_product)


def first_ports(host: SimulatedHost) -> Iterator[SimulatedPort]:
    """RDMA ports that are up, in order."""
    return (port for port in host.rdma if port.is_up)


def become_amd(card: SimulatedAmdCard, product: Product) -> None:
    """Make a card of AMD one of ``product``."""
    card.product_name = (product.driver_names or (f"AMD Instinct {product.name}",))[0]
    digits = product.architecture.removeprefix("gfx")
    major, minor, step = digits[:-2], digits[-2], digits[-1]
    card.gfx_target_version = int(major) * 10000 + int(minor, 16) * 100 + int(step, 16)
    card.memory_bytes = int((product.memory_GiB or product.memory_GB * 1e9 / GIB) * GIB)
    if product.pci_ids:
        card.device_id = int(product.pci_ids[0].partition(":")[2], 16)
