"""Machines that are ill, tell little, or are hostile."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from preflight.events import Inventory
from preflight.facts import (
    Absence,
    BusCard,
    Card,
    Cgroup,
    DeviceFile,
    Driver,
    Ecc,
    Fabric,
    Grid,
    HostFacts,
    KernelEvent,
    Link,
    Machine,
    NumaNode,
    Pcie,
    Power,
    Process,
    RdmaPort,
    RemappedRows,
    Service,
    Temperature,
)
from preflight.records import Device, Host, Node

from .machines import FACTS, HOST, device, eight_h100, eight_mi300x, h100

NOT_TOLD = Absence(what="nvmlDeviceGetFieldValues", reason="not supported")


def ill_b200() -> Inventory:
    """Two of three B200 answer; gpu1 is worn, slowed, in use, and on half a link."""
    healthy = replace(
        h100(0),
        board="692-2G525-0200-000",
        vbios="97.00.88.00.0F",
        pci_id="10de:2901",
        links=tuple(
            Link(index=i, state="active", version="5.0", rate_GBps=53.125, errors=0)
            for i in range(18)
        ),
        power=Power(draw_W=141.0, limit_W=1000.0),
        clocks=replace(h100(0).clocks, sm_max_MHz=1965, memory_MHz=3996, memory_max_MHz=3996),
    )
    machine = Machine(
        node="node-a",
        driver=Driver(
            version="580.65.06",
            cuda="13.0",
            flavour="open",
            files=(
                DeviceFile(path="/dev/nvidia0", is_open=True),
                DeviceFile(path="/dev/nvidia1", is_open=True),
                DeviceFile(
                    path="/dev/nvidia2",
                    is_open=Absence(what="/dev/nvidia2", reason="no permission", detail="EPERM"),
                ),
            ),
        ),
        cards=(healthy, _worn(healthy)),
        topology=Grid(
            names=("gpu0", "gpu1", "mlx5_0"),
            rows=(("X", "NV17", "PIX"), ("NV17", "X", "SYS"), ("PIX", "SYS", "X")),
        ),
        peers=Grid(names=("gpu0", "gpu1"), rows=(("X", "chipset not supported"), ("OK", "X"))),
        bus=(
            BusCard(pci="0000:1b:00.0", vendor="NVIDIA", pci_id="10de:2901", driver="nvidia"),
            BusCard(pci="0000:43:00.0", vendor="NVIDIA", pci_id="10de:2901", driver="nvidia"),
            BusCard(
                pci="0000:52:00.0",
                vendor="NVIDIA",
                pci_id="10de:2901",
                driver=Absence(what="driver", reason="not found"),
                is_accelerator=True,
            ),
            BusCard(pci="0000:03:00.0", vendor="AMD", pci_id="1002:164e", is_accelerator=False),
        ),
        host=_troubled_host(),
        environment={
            "NCCL_P2P_DISABLE": "1",
            "LD_LIBRARY_PATH": ":".join(["/opt/lib/very/long"] * 12),
        },
    )
    return Inventory(
        host=replace(HOST, memlock_KiB=64, open_files=1024, container="docker"),
        nodes=(Node(name="node-a"),),
        devices=tuple(
            device(i, "NVIDIA B200", bus, memory_GiB=178.35, architecture="sm_100")
            for i, bus in enumerate(("1b", "43"))
        ),
        looked_for=("NVML: driver 580.65.06, 2 device(s)", "PCI bus: 3 accelerators"),
        absences=(
            Absence(
                what="gpu2", reason="device lost", detail="nvmlDeviceGetHandleByIndex: GPU is lost"
            ),
        ),
        machine=machine,
    )


def _worn(card: Card) -> Card:
    broken = {5: ("inactive", None), 7: ("active", 12)}
    return replace(
        card,
        device="gpu1",
        serial="1652323000009",
        vbios="97.00.88.00.0B",
        mig=True,
        mig_slices=("1g.23gb", "1g.23gb", "3g.90gb"),
        memory_used_GiB=31.25,
        numa_node=-1,
        pcie=Pcie(generation=3, width=8, max_generation=4, max_width=16, card_max_generation=5),
        ecc=Ecc(
            enabled=True,
            pending=True,
            corrected=4,
            uncorrected=2,
            lifetime_corrected=31,
            lifetime_uncorrected=14,
        ),
        remapped=RemappedRows(corrected=1, uncorrected=2, pending=True, failed=False),
        recovery_action="gpu reset",
        links=tuple(
            Link(
                index=i,
                state=broken.get(i, ("active", 0))[0],
                version="5.0",
                remote=f"switch 0000:0{i % 4}:00.0",
                rate_GBps=53.125 if broken.get(i, ("active", 0))[0] == "active" else NOT_TOLD,
                errors=broken.get(i, ("active", 0))[1] or 0,
            )
            for i in range(18)
        ),
        fabric=Fabric(state="in progress", health="degraded bandwidth"),
        clocks=replace(card.clocks, sm_MHz=1110, slowed_by=("hw thermal slowdown", "sw power cap")),
        temperature=Temperature(card_C=91.0, memory_C=98.0, slowdown_C=87.0),
        processes=(
            Process(pid=4211, name="python3 train.py", memory_GiB=30.5),
            Process(pid=4212, memory_GiB=Absence(what="memory", reason="not supported")),
        ),
    )


def _troubled_host() -> HostFacts:
    return replace(
        FACTS,
        virtual="kvm",
        cpus_allowed=32,
        swap_GiB=8.0,
        numa_balancing=True,
        cgroup=Cgroup(
            version=2, memory_limit_GiB=64.0, memory_used_GiB=12.3, cpus=32.0, processes=None
        ),
        memlock_hard_KiB=64,
        open_files_hard=4096,
        iommu="translating",
        acs=("0000:15:01.0", "0000:41:01.0"),
        rdma=(
            RdmaPort(
                device="mlx5_0",
                port=1,
                state="down",
                physical_state="polling",
                link_layer="ethernet",
                rate_Gbps=40.0,
                pci="0000:2a:00.0",
                numa_node=0,
                nearest="gpu0",
            ),
        ),
        services=(
            Service(name="nvidia-fabricmanager", state="running"),
            Service(name="nvidia-persistenced", state="not seen"),
        ),
        kernel_log=(
            KernelEvent(
                kind="xid",
                code=94,
                pci="0000:43:00.0",
                text="NVRM: Xid (PCI:0000:43:00): 94, pid=4211, name=python3, Contained ECC error",
                count=3,
                age_s=9_000.0,
            ),
            KernelEvent(kind="memory", text="Out of memory: Killed process 977 (python3)"),
        ),
        verbs_library=Absence(what="libibverbs.so.1", reason="not found"),
    )


def no_card() -> Inventory:
    """A laptop-like host: the CPU alone, no driver, one NUMA node."""
    return Inventory(
        host=Host(
            name="build-7",
            kernel="6.8.0-64-generic",
            distribution="Debian GNU/Linux 12 (bookworm)",
            machine="x86_64",
            cpu="Intel(R) Xeon(R) CPU @ 2.60GHz",
            cores=4,
            memory_GiB=15.6,
            shm_GiB=7.8,
            memlock_KiB=8192,
            open_files=1048576,
        ),
        nodes=(Node(name="build-7"),),
        looked_for=(
            "NVML: libnvidia-ml.so.1 is not installed",
            "KFD: /dev/kfd is missing",
            "PCI bus: no accelerator",
        ),
        absences=(
            Absence(what="libnvidia-ml.so.1", reason="not found", detail="no such library"),
            Absence(what="/dev/kfd", reason="not found"),
        ),
        machine=Machine(
            node="build-7",
            bus=(),
            host=HostFacts(
                virtual="kvm",
                container="none",
                sockets=1,
                cpus_online=4,
                cpus_allowed=4,
                memory_available_GiB=11.9,
                swap_GiB=0.0,
                numa=(NumaNode(index=0, cpus="0-3", memory_GiB=15.6),),
                cgroup=Cgroup(version=2, memory_limit_GiB=None, cpus=None, processes=None),
                memlock_hard_KiB=8192,
                open_files_hard=1048576,
                iommu="off",
                acs=(),
                rdma=(),
                interfaces=(),
            ),
        ),
    )


def silent_cards() -> Inventory:
    """Four cards whose driver answers next to nothing, each call with its reason."""
    made = eight_h100()
    assert made.machine is not None
    cards = []
    for index in range(4):
        lost = index == 3
        cards.append(_silent(h100(index), "device lost" if lost else "not supported"))
    machine = replace(
        made.machine,
        driver=_silent(made.machine.driver, "library and kernel module differ"),
        cards=tuple(cards),
        topology=None,
        peers=None,
        bus=Absence(what="/sys/bus/pci/devices", reason="not readable", detail="EACCES"),
        host=_silent(FACTS, "not readable"),
        environment={},
    )
    devices = tuple(
        Device(name=f"gpu{i}", node="node-a", kind="cuda", product="NVIDIA Graphics Device")
        for i in range(4)
    )
    return replace(made, host=Host(name="node-a"), devices=devices, machine=machine)


def _silent(struct: Any, reason: str) -> Any:
    """The struct with an absence in the place of each fact, named like a call of NVML."""
    fields = {}
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        if isinstance(value, msgspec.Struct) and not isinstance(value, Absence):
            fields[name] = _silent(value, reason)
        elif name not in ("device", "disks"):
            call = "nvmlDeviceGet" + "".join(word.capitalize() for word in name.split("_"))
            fields[name] = Absence(what=call, reason=reason)
    return replace(struct, **{**fields, **({"disks": ()} if hasattr(struct, "disks") else {})})


def hostile(text: str) -> Inventory:
    """A machine whose every free string, at any depth, is ``text``."""
    made = ill_b200()
    assert made.machine is not None
    wild = _wild(made.machine, text)
    machine = msgspec.convert(wild, Machine)
    devices = tuple(
        replace(one, product=text, uuid=text, name=card.device, node=machine.node)
        for one, card in zip(made.devices, machine.cards, strict=True)
    )
    absence = Absence(what=text, reason="failed", detail=text)
    host = replace(HOST, name=text, cpu=text, distribution=text, kernel=text)
    return replace(
        made,
        host=host,
        devices=devices,
        machine=machine,
        hidden=(text,),
        looked_for=(text,),
        absences=(absence,),
    )


_FIXED = {"reason", "kind", "purpose"}


def _wild(value: Any, text: str) -> Any:
    """Builtins of a struct with each string replaced, those apart that are words of a few."""
    if isinstance(value, msgspec.Struct):
        names = value.__struct_fields__
        return {
            n: getattr(value, n)
            if n in _FIXED and isinstance(getattr(value, n), str)
            else _wild(getattr(value, n), text)
            for n in names
        }
    if isinstance(value, tuple):
        return tuple(_wild(one, text) for one in value)
    if isinstance(value, dict):
        return {f"{name}{text}": text for name in value}
    return text if isinstance(value, str) else value


EVERY = (eight_h100, eight_mi300x, ill_b200, no_card, silent_cards)
