"""Healthy machines as an inventory finds them, and records made of machines."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from preflight.events import Inventory
from preflight.facts import (
    Absence,
    BusCard,
    Card,
    Cgroup,
    Clocks,
    DeviceFile,
    Disk,
    Driver,
    Ecc,
    Fabric,
    Grid,
    HostFacts,
    Link,
    Machine,
    NetworkInterface,
    NumaNode,
    Pcie,
    Power,
    RasBlock,
    RdmaPort,
    RemappedRows,
    Service,
    Temperature,
)
from preflight.records import Device, Host, Node, Record

from . import sample

HOST = Host(
    name="node-a",
    kernel="5.15.0-122-generic",
    distribution="Ubuntu 22.04.5 LTS",
    machine="x86_64",
    cpu="Intel(R) Xeon(R) Platinum 8480C",
    cores=224,
    memory_GiB=2015.5,
    shm_GiB=1007.7,
    memlock_KiB=-1,
    open_files=1048576,
)
FACTS = HostFacts(
    wsl=False,
    virtual="none",
    container="docker",
    sockets=2,
    cpus_online=224,
    cpus_allowed=224,
    memory_available_GiB=1938.2,
    swap_GiB=0.0,
    numa=(
        NumaNode(index=0, cpus="0-55,112-167", memory_GiB=1007.5),
        NumaNode(index=1, cpus="56-111,168-223", memory_GiB=1008.0),
    ),
    numa_balancing=False,
    cgroup=Cgroup(
        version=2,
        path="/system.slice/docker-5d0c.scope",
        memory_limit_GiB=None,
        memory_used_GiB=12.3,
        cpus=None,
        processes=None,
    ),
    memlock_hard_KiB=-1,
    open_files_hard=1048576,
    shm_free_GiB=1007.7,
    iommu="passthrough",
    acs=(),
    verbs_library="/usr/lib/x86_64-linux-gnu/libibverbs.so.1",
    peer_memory="nvidia_peermem",
    disks=(
        Disk(
            purpose="checkpoint",
            path="/data/checkpoints",
            mount="/data",
            source="/dev/md0",
            filesystem="xfs",
            size_GiB=28_600.0,
            free_GiB=27_911.4,
            rotational=False,
            remote=False,
            read_only=False,
        ),
        Disk(
            purpose="temporary",
            path="/tmp",
            mount="/",
            source="overlay",
            filesystem="overlay",
            size_GiB=439.1,
            free_GiB=390.0,
        ),
    ),
    services=(
        Service(name="nvidia-fabricmanager", state="not seen"),
        Service(name="nvidia-persistenced", state="not seen"),
    ),
    kernel_log=(),
    boot_options="iommu=pt pci=realloc=off",
)
H100_PCI = ("1b", "43", "52", "61", "9d", "c3", "d1", "df")
MI300X_PCI = ("05", "26", "46", "65", "85", "a6", "c6", "e5")


def square(names: tuple[str, ...], word: str) -> Grid:
    """A grid of one word, but for the diagonal."""
    rows = tuple(tuple("X" if a == b else word for b in names) for a in names)
    return Grid(names=names, rows=rows)


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(f"gpu{i}" for i in range(count))


def h100(index: int, **fields: Any) -> Card:
    """A healthy, idle H100 in an SXM machine."""
    switches = ("0000:07:00.0", "0000:08:00.0", "0000:09:00.0", "0000:0a:00.0")
    card = Card(
        device=f"gpu{index}",
        serial=f"16523230{index:05d}",
        board="692-2G520-0200-000",
        vbios="96.00.A5.00.01",
        pci_id="10de:2330",
        subsystem_id="10de:16c1",
        persistence=True,
        compute_mode="default",
        mig=False,
        mig_slices=(),
        memory_used_GiB=0.55,
        numa_node=index // 4,
        near_cpus="0-55,112-167" if index < 4 else "56-111,168-223",
        pcie=Pcie(
            generation=1, width=16, max_generation=5, max_width=16, card_max_generation=5, replays=0
        ),
        ecc=Ecc(
            enabled=True,
            pending=True,
            corrected=0,
            uncorrected=0,
            lifetime_corrected=0,
            lifetime_uncorrected=0,
        ),
        remapped=RemappedRows(
            corrected=0,
            uncorrected=0,
            pending=False,
            failed=False,
            banks_without_spares=0,
            banks=640,
        ),
        recovery_action="none",
        repair="none",
        links=tuple(
            Link(
                index=i,
                state="active",
                version="4.0",
                remote=f"switch {switches[i % 4]}",
                rate_GBps=26.562,
                errors=0,
            )
            for i in range(18)
        ),
        fabric=Fabric(state="completed", status="success"),
        clocks=Clocks(
            sm_MHz=345,
            sm_max_MHz=1980,
            memory_MHz=2619,
            memory_max_MHz=2619,
            slowed_by=("gpu idle",),
        ),
        temperature=Temperature(
            card_C=31.0 + index, memory_C=42.0 + index, slowdown_C=87.0, shutdown_C=92.0
        ),
        power=Power(draw_W=69.4 + index, limit_W=700.0, default_limit_W=700.0, max_limit_W=700.0),
        processes=(),
    )
    return replace(card, **fields)


def device(index: int, product: str, bus: str, **fields: Any) -> Device:
    """The identity that goes with a card."""
    values: dict[str, Any] = {
        "name": f"gpu{index}",
        "node": "node-a",
        "kind": "cuda",
        "product": product,
        "uuid": f"GPU-5d0c{index:04x}-77a1-4c0e-9d1f-0242ac110002",
        "pci": f"0000:{bus}:00.0",
        "memory_GiB": 79.647,
        "architecture": "sm_90",
        "driver": "580.65.06",
        "driver_cuda": "13.0",
    }
    return Device(**{**values, **fields})


def _ports(count: int) -> tuple[RdmaPort, ...]:
    return tuple(
        RdmaPort(
            device=f"mlx5_{i}",
            port=1,
            state="active",
            physical_state="link up",
            link_layer="infiniband",
            rate_Gbps=400.0,
            pci=f"0000:{0x1A + 16 * i:02x}:00.0",
            numa_node=2 * i // count,
            nearest=f"gpu{i}",
        )
        for i in range(count)
    )


def eight_h100() -> Inventory:
    """Eight H100 behind NVSwitches, all well and idle."""
    names = _numbered(8)
    files = ("/dev/nvidiactl", "/dev/nvidia-uvm", *(f"/dev/nvidia{i}" for i in range(8)))
    machine = Machine(
        node="node-a",
        driver=Driver(
            version="580.65.06",
            library="580.65.06",
            cuda="13.0",
            flavour="open",
            confidential="off",
            files=tuple(DeviceFile(path=path, is_open=True) for path in files),
        ),
        cards=tuple(h100(i) for i in range(8)),
        topology=square(names, "NV18"),
        peers=Grid(
            names=names, rows=tuple(tuple("X" if a == b else "OK" for b in names) for a in names)
        ),
        bus=tuple(
            BusCard(
                pci=f"0000:{bus}:00.0",
                vendor="NVIDIA",
                pci_id="10de:2330",
                driver="nvidia",
                numa_node=i // 4,
                is_accelerator=True,
            )
            for i, bus in enumerate(H100_PCI)
        ),
        host=replace(
            FACTS,
            rdma=_ports(8),
            interfaces=(
                NetworkInterface(
                    name="ens3f0",
                    state="up",
                    rate_Gbps=100.0,
                    mtu=9000,
                    driver="mlx5_core",
                    pci="0000:2a:00.0",
                    numa_node=0,
                ),
            ),
        ),
        environment={
            "NVIDIA_VISIBLE_DEVICES": "all",
            "NCCL_DEBUG": "WARN",
            "CUDA_HOME": "/usr/local/cuda",
        },
    )
    return Inventory(
        host=HOST,
        nodes=(Node(name="node-a"),),
        devices=tuple(device(i, "NVIDIA H100 80GB HBM3", bus) for i, bus in enumerate(H100_PCI)),
        looked_for=("NVML: driver 580.65.06, 8 device(s)", "PCI bus: 8 accelerators"),
        machine=machine,
    )


def mi300x(index: int) -> Card:
    """A healthy MI300X, linked to seven others."""
    return Card(
        device=f"gpu{index}",
        serial=f"69223100{index:04d}",
        board="102-G30211-0C",
        vbios="022.040.003.041.000001",
        pci_id="1002:74a1",
        partition="SPX",
        memory_partition="NPS1",
        memory_used_GiB=0.28,
        numa_node=index // 4,
        pcie=Pcie(generation=5, width=16, max_generation=5, max_width=16, replays=0),
        ecc=Ecc(corrected=0, uncorrected=0),
        ras=(
            RasBlock(block="umc", corrected=0, uncorrected=0),
            RasBlock(block="sdma", corrected=0, uncorrected=0),
        ),
        links=tuple(Link(index=i, remote=f"gpu{i}", rate_GBps=64.0, weight=15) for i in range(7)),
        hive="0x7a3d5c91",
        clocks=Clocks(sm_MHz=132, sm_max_MHz=2100, memory_MHz=900, memory_max_MHz=1300),
        temperature=Temperature(card_C=41.0 + index, memory_C=34.0, slowdown_C=100.0),
        power=Power(draw_W=138.0, limit_W=750.0),
    )


def eight_mi300x() -> Inventory:
    """Eight MI300X, each linked with each."""
    names = _numbered(8)
    machine = Machine(
        node="node-a",
        driver=Driver(
            version="6.12.12",
            rocm="6.4.1",
            files=(DeviceFile(path="/dev/kfd", is_open=True),),
        ),
        cards=tuple(mi300x(i) for i in range(8)),
        topology=square(names, "XGMI"),
        bus=(),
        host=replace(FACTS, peer_memory="dmabuf", services=Absence(reason="not asked")),
        environment={"HSA_FORCE_FINE_GRAIN_PCIE": "1"},
    )
    return Inventory(
        host=replace(HOST, cpu="AMD EPYC 9654 96-Core Processor", cores=192),
        nodes=(Node(name="node-a"),),
        devices=tuple(
            device(
                i,
                "AMD Instinct MI300X",
                bus,
                kind="hip",
                uuid=f"GPU-{0xA1B2C3D4E5F60000 + i:016x}",
                memory_GiB=191.98,
                architecture="gfx942",
                driver="6.12.12",
                driver_cuda=None,
            )
            for i, bus in enumerate(MI300X_PCI)
        ),
        looked_for=("KFD: 8 accelerators", "PCI bus: 8 accelerators"),
        machine=machine,
    )


def record_of(*inventories: Inventory, **fields: Any) -> Record:
    """A passing run on these machines, a node each."""
    first = inventories[0]
    return sample.record(
        sample.passing().checks,
        host=first.host,
        nodes=tuple(node for one in inventories for node in one.nodes),
        devices=tuple(device for one in inventories for device in one.devices),
        machines=tuple(one.machine for one in inventories if one.machine),
        **fields,
    )
