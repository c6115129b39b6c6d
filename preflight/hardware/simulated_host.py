"""A host that does not exist, healthy by default, written as files that ``Files`` can read.

It is what tests break and what a simulated run is judged on. A change of one field is one fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from preflight.hardware.simulated_bus import SimulatedBus
from preflight.hardware.simulated_cgroup import SimulatedCgroup, write_cgroup
from preflight.hardware.simulated_kernel import (
    write_kernel,
    write_log,
    write_modules,
    write_processes,
)
from preflight.hardware.simulated_network import (
    SimulatedInterface,
    SimulatedPort,
    write_interfaces,
    write_ports,
)
from preflight.hardware.simulated_storage import TIB, SimulatedMount, shared_memory, write_mounts
from preflight.hardware.simulated_tree import Tree

__all__ = [
    "Accelerator",
    "SimulatedCgroup",
    "SimulatedHost",
    "SimulatedInterface",
    "SimulatedMount",
    "SimulatedPort",
]

Accelerator = tuple[str, str, int]
"""PCI address, PCI id and NUMA node: ``("0000:1b:00.0", "10de:2330", 0)``."""
Container = Literal["docker", "podman", "kubernetes", "lxc", "apptainer", "enroot"]
_NVIDIA = "10de"
_3D_CONTROLLER = "0x030200"
_SIGNS: dict[str, str] = {
    "docker": "/.dockerenv",
    "podman": "/run/.containerenv",
    "kubernetes": "/var/run/secrets/kubernetes.io/serviceaccount/namespace",
    "apptainer": "/.singularity.d/labels.json",
}
_ROOTS: dict[str, str] = {
    "docker": "/var/lib/docker/overlay2/l/A",
    "podman": "/var/lib/containers/storage/overlay/l/A",
    "kubernetes": "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/1/fs",
    "lxc": "/var/lib/lxc/a/rootfs",
    "apptainer": "/var/lib/apptainer/mnt/session/overlay-lowerdir",
    "enroot": "/run/enroot/data/pyxis_1042.0",
}


@dataclass
class SimulatedHost:
    """Ubuntu 24.04 on bare metal: two sockets, 2 TiB of memory, one RDMA adapter a card."""

    name: str = "node-a"
    kernel: str = "6.8.0-60-generic"
    distribution: str = "Ubuntu 24.04.3 LTS"
    architecture: str = "x86_64"
    cpu: str = "Intel(R) Xeon(R) Platinum 8480C"
    sockets: int = 2
    cores_per_socket: int = 56
    threads_per_core: int = 2
    cpus_allowed: str | None = None
    """A list such as ``0-7``; None allows all."""
    memory_GiB: float = 2 * TIB
    swap_GiB: float = 0.0
    numa_nodes: int | None = None
    """Nodes with CPUs; None is one a socket, 0 a kernel that lists none."""
    card_nodes_GiB: tuple[float, ...] = ()
    """Memory of nodes without CPUs, such as the GPUs of Grace machines."""
    is_numa_balancing: bool = False
    wsl: bool = False
    vendor: str = "Supermicro"
    """Of the machine, as firmware names it; ``Amazon EC2`` with ``is_virtual``."""
    is_virtual: bool = False
    container: Container | None = None
    shm_GiB: float | None = None
    """Size of /dev/shm; None is half of the memory."""
    memlock_KiB: int = -1
    """Soft and hard limit; -1 is unlimited."""
    open_files: int = 1048576
    """Soft and hard limit."""
    cgroup: SimulatedCgroup = field(default_factory=SimulatedCgroup)
    iommu: Literal["off", "passthrough", "translating"] = "passthrough"
    acs_redirects: bool = False
    is_root: bool = True
    """Whether this process may read all of the PCI configuration space."""
    driver: str | None = "nvidia"
    """Kernel driver that has taken NVIDIA's cards."""
    interfaces: list[SimulatedInterface] = field(default_factory=lambda: [SimulatedInterface()])
    rdma: list[SimulatedPort] = field(
        default_factory=lambda: [SimulatedPort(f"mlx5_{index}") for index in range(8)]
    )
    has_rdma_files: bool = True
    """Whether /dev/infiniband is there, which a container gets only on request."""
    verbs_library: str | None = "/usr/lib/x86_64-linux-gnu/libibverbs.so.1"
    peer_memory: Literal["nvidia_peermem", "amdkfd", "dmabuf", "none"] = "nvidia_peermem"
    """With NVIDIA's driver ``none`` makes it the proprietary one: the open one has ``dmabuf``."""
    mounts: list[SimulatedMount] = field(default_factory=lambda: [SimulatedMount()])
    """``/`` is overlaid in a container."""
    services: tuple[str, ...] = ("nvidia-fabricmanager", "nvidia-persistenced")
    uptime_s: float = 864000.0
    kernel_log: list[tuple[float, str]] | None = field(default_factory=list)
    """Age in seconds and text of each line; None where there is no log to read."""
    boot_options: str = ""
    """Besides those of the IOMMU."""

    @property
    def is_isolated(self) -> bool:
        """Whether processes, network and log of the host are out of this container's sight."""
        return self.container in ("docker", "podman", "kubernetes", "lxc")

    @property
    def has_iommu(self) -> bool:
        """Whether an IOMMU is in use."""
        return self.iommu != "off" and not self.wsl

    def write(self, root: Path, accelerators: Sequence[Accelerator] = ()) -> Path:
        """Write the machine below ``root``, beside what others write there, and return ``root``.

        Cards of NVIDIA get their entries on the PCI bus; of other cards only the place on the bus
        is written, and what their own writer has put there stays.
        """
        tree = Tree(root)
        if self.wsl:
            accelerators = ()  # Windows keeps the bus; a card is reached through its own device
        bus = SimulatedBus(tree, redirects=self.acs_redirects, is_readable=self.is_root)
        self._write_cards(tree, bus, accelerators)
        write_interfaces(tree, bus, () if self.is_isolated else self.interfaces)
        cards = [address for address, _, _ in accelerators]
        write_ports(tree, bus, () if self.wsl else self.rdma, cards, has_files=self.has_rdma_files)
        self._write_kernel(tree)
        self._write_cpus(tree)
        self._write_memory(tree)
        self._write_limits(tree)
        self._write_firmware(tree)
        self._write_storage(tree)
        self._write_libraries(tree, bool(accelerators))
        return root

    def _write_cards(
        self, tree: Tree, bus: SimulatedBus, accelerators: Sequence[Accelerator]
    ) -> None:
        for index, (address, pci_id, node) in enumerate(accelerators):
            vendor, product = pci_id.split(":")
            is_ours = vendor == _NVIDIA
            folder = bus.plug(address, node, self.driver if is_ours else None)
            if is_ours:
                tree.text(f"{folder}/vendor", f"0x{vendor}")
                tree.text(f"{folder}/device", f"0x{product}")
                tree.text(f"{folder}/class", _3D_CONTROLLER)
            if self.has_iommu:
                group = f"/sys/kernel/iommu_groups/{index + 20}"
                kind = "identity" if self.iommu == "passthrough" else "DMA-FQ"
                tree.text(f"{group}/type", kind)
                tree.link(f"{folder}/iommu_group", group)
        tree.folder("/sys/class/iommu")
        if self.has_iommu:
            tree.folder("/sys/class/iommu/dmar0")

    def _write_kernel(self, tree: Tree) -> None:
        release = "5.15.167.4-microsoft-standard-WSL2" if self.wsl else self.kernel
        write_kernel(
            tree,
            name=self.name,
            release=release,
            architecture=self.architecture,
            iommu=self.iommu,
            options=self.boot_options,
        )
        write_processes(tree, () if self.is_isolated else self.services)
        is_hidden = self.is_isolated or self.wsl
        write_log(tree, self.name, self.uptime_s, None if is_hidden else self.kernel_log)

    def _write_cpus(self, tree: Tree) -> None:
        count = self.sockets * self.cores_per_socket * self.threads_per_core
        name = f"model name\t: {self.cpu}\n" if self.architecture == "x86_64" else ""
        flag = " hypervisor" if self.is_virtual or self.wsl else ""
        flags = f"flags\t\t: fpu vme sse2{flag}\n" if self.architecture == "x86_64" else ""
        tree.text(
            "/proc/cpuinfo", "".join(f"processor\t: {n}\n{name}{flags}\n" for n in range(count))
        )
        tree.text("/sys/devices/system/cpu/online", f"0-{count - 1}")
        for socket in range(self.sockets):  # the folder of its first CPU is enough to count it
            folder = f"/sys/devices/system/cpu/cpu{socket * self.cores_per_socket}/topology"
            tree.text(f"{folder}/physical_package_id", socket)
        allowed = self.cpus_allowed or f"0-{count - 1}"
        tree.text("/proc/self/status", f"Name:\tpython3\nCpus_allowed_list:\t{allowed}")
        self._write_nodes(tree, count)

    def _write_nodes(self, tree: Tree, cpus: int) -> None:
        nodes = self.sockets if self.numa_nodes is None else self.numa_nodes
        share = cpus // nodes if nodes else 0
        lists = [f"{n * share}-{(n + 1) * share - 1}" for n in range(nodes)]
        sizes_GiB = [*(self.memory_GiB / nodes for _ in range(nodes)), *self.card_nodes_GiB]
        for node, size_GiB in enumerate(sizes_GiB):
            folder = f"/sys/devices/system/node/node{node}"
            tree.text(f"{folder}/cpulist", lists[node] if node < nodes else "")
            tree.text(f"{folder}/meminfo", f"Node {node} MemTotal: {_kB(size_GiB)} kB")
        tree.text("/proc/sys/kernel/numa_balancing", int(self.is_numa_balancing))

    def _write_memory(self, tree: Tree) -> None:
        sizes_GiB = {
            "MemTotal": self.memory_GiB,
            "MemAvailable": 0.97 * self.memory_GiB,
            "SwapTotal": self.swap_GiB,
        }
        lines = [f"{name}: {_kB(size_GiB):>12} kB" for name, size_GiB in sizes_GiB.items()]
        tree.text("/proc/meminfo", "\n".join(lines))

    def _write_limits(self, tree: Tree) -> None:
        locked = "unlimited" if self.memlock_KiB < 0 else self.memlock_KiB * 1024
        tree.text(
            "/proc/self/limits",
            "Limit                     Soft Limit           Hard Limit           Units\n"
            f"Max open files            {self.open_files:<20} {self.open_files:<20} files\n"
            f"Max locked memory         {locked:<20} {locked:<20} bytes",
        )

    def _write_firmware(self, tree: Tree) -> None:
        tree.text("/etc/os-release", f'ID=ubuntu\nPRETTY_NAME="{self.distribution}"')
        if not self.wsl:
            tree.text("/sys/class/dmi/id/sys_vendor", self.vendor)
            tree.text("/sys/class/dmi/id/product_name", "SYS-821GE-TNHR")

    def _write_storage(self, tree: Tree) -> None:
        shm_GiB = self.memory_GiB / 2 if self.shm_GiB is None else self.shm_GiB
        others = write_cgroup(tree, self.cgroup, is_namespace=self.is_isolated)
        if self.container:
            if self.container in _SIGNS:
                tree.text(_SIGNS[self.container], "")
            if self.container == "lxc":
                tree.text("/run/systemd/container", "lxc")
            lower = _ROOTS[self.container]
            others.append(f"99 1 0:99 / / rw,relatime - overlay overlay rw,lowerdir={lower}")
        write_mounts(tree, [*self.mounts, shared_memory(shm_GiB)], others)

    def _write_libraries(self, tree: Tree, has_cards: bool) -> None:
        """Modules, and what lets RDMA reach the memory of a card."""
        if self.verbs_library:
            tree.text(self.verbs_library, "")
        modules = ["ib_core", "mlx5_ib", "mlx5_core"] if self.rdma else []
        modules += ["nvidia_uvm", "nvidia"] if has_cards and self.driver == "nvidia" else []
        modules += ["nvidia_peermem"] if self.peer_memory == "nvidia_peermem" else []
        write_modules(tree, modules)
        if "nvidia" in modules and self.peer_memory in ("dmabuf", "none"):
            flavour = "Open Kernel Module for " if self.peer_memory == "dmabuf" else ""
            tree.lines("/proc/driver/nvidia/version", [f"NVIDIA UNIX {flavour}x86_64  580.65.06"])
        if self.peer_memory == "amdkfd":
            tree.text("/sys/kernel/mm/memory_peers/amdkfd/version", "1.0")


def _kB(size_GiB: float) -> int:
    return int(size_GiB * 1024**2)
