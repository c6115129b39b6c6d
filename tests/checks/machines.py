"""Healthy machines as facts, one fact of which a test can spoil, and what every check says of one.

The figures are those that drivers tell of such machines at rest.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
import pytest

from preflight.facts import (
    Absence,
    Card,
    Cgroup,
    Clocks,
    Disk,
    Ecc,
    HostFacts,
    Link,
    NumaNode,
    Pcie,
    Power,
    RasBlock,
    RdmaPort,
    RemappedRows,
    RetiredPages,
    Temperature,
)
from preflight.folders import checks_folder
from preflight.harness import CannotLook, Situation
from preflight.harness.conclusion import conclude
from preflight.harness.contract import read_spec
from preflight.harness.result import Result
from preflight.records import Check, Device

from .situations import card, load, rehearsal, situation

GIB = 1024**3
NOT_SUPPORTED = Absence(what="nvmlDeviceGetIt", reason="not supported")
NO_PERMISSION = Absence(what="/dev/kmsg", reason="no permission")
NO_FILE = Absence(what="/sys/it", reason="not found")

RDMA = tuple(
    RdmaPort(
        device=f"mlx5_{index}",
        port=1,
        state="active",
        physical_state="link up",
        link_layer="infiniband",
        rate_Gbps=400.0,
        is_open=True,
        numa_node=index // 4,
        nearest=f"gpu{index}",
    )
    for index in range(8)
)
DISKS = (
    Disk(
        purpose="checkpoint",
        path="/data/checkpoints",
        filesystem="ext4",
        size_GiB=7000.0,
        free_GiB=6500.0,
        rotational=False,
        remote=False,
        read_only=False,
    ),
    Disk(purpose="temporary", path="/tmp", filesystem="overlay", free_GiB=400.0, remote=False),
)
HOST_FACTS = HostFacts(
    wsl=False,
    virtual="none",
    container="docker",
    cpus_online=192,
    cpus_allowed=192,
    allowed_cpus="0-191",
    memory_available_GiB=1490.0,
    numa=(NumaNode(index=0, cpus="0-95"), NumaNode(index=1, cpus="96-191")),
    numa_balancing=False,
    cgroup=Cgroup(version=2, path="/", memory_limit_GiB=None, cpus=None, processes=None),
    memlock_hard_KiB=-1,
    open_files_hard=1048576,
    shm_free_GiB=64.0,
    iommu="passthrough",
    acs=(),
    rdma=RDMA,
    verbs_library="/usr/lib/x86_64-linux-gnu/libibverbs.so.1",
    peer_memory="nvidia_peermem",
    disks=DISKS,
    kernel_log=(),
)


def nvlinks(count: int, rate_GBps: float, version: str) -> tuple[Link, ...]:
    """Active links through switches."""
    return tuple(
        Link(
            index=index,
            state="active",
            version=version,
            remote=f"switch 0000:{5 + index % 4:02x}:00.0",
            rate_GBps=rate_GBps,
            errors=0,
        )
        for index in range(count)
    )


H100 = Card(
    device="gpu0",
    pci_id="10de:2330",
    persistence=True,
    memory_used_GiB=0.54,
    numa_node=0,
    near_cpus="0-95",
    pcie=Pcie(
        generation=1, width=16, max_generation=5, max_width=16, card_max_generation=5, replays=0
    ),
    ecc=Ecc(
        enabled=True,
        pending=True,
        corrected=0,
        uncorrected=0,
        lifetime_corrected=4,
        lifetime_uncorrected=0,
    ),
    remapped=RemappedRows(
        corrected=0, uncorrected=0, pending=False, failed=False, banks_without_spares=0, banks=3072
    ),
    retired=RetiredPages(single_bit=NOT_SUPPORTED, double_bit=NOT_SUPPORTED, pending=NOT_SUPPORTED),
    recovery_action="none",
    repair="none",
    links=nvlinks(18, 26.562, "4.0"),
    clocks=Clocks(sm_MHz=345, sm_max_MHz=1980, slowed_by=("gpu idle",)),
    temperature=Temperature(card_C=30.0, memory_C=38.0, slowdown_C=90.0, shutdown_C=95.0),
    power=Power(draw_W=70.0, limit_W=700.0, default_limit_W=700.0, max_limit_W=700.0),
    processes=(),
)


def _cards(model: Card, count: int) -> tuple[Card, ...]:
    """Like cards, half of them on either node, with heat and use as uneven as in life."""
    return tuple(
        msgspec.structs.replace(
            model,
            device=f"gpu{i}",
            numa_node=i // 4,
            near_cpus=("0-95", "96-191")[i // 4],
            memory_used_GiB=(model.memory_used_GiB or 0) + 0.01 * (i % 3),  # type: ignore[operator]
            temperature=msgspec.structs.replace(model.temperature, card_C=28.0 + i % 4 * 2),
        )
        for i in range(count)
    )


def _machine(
    devices: tuple[Device, ...], cards: tuple[Card, ...], host: HostFacts = HOST_FACTS
) -> Situation:
    names = {device.name for device in devices}
    rdma = tuple(port for port in host.rdma if port.nearest in names)  # type: ignore[union-attr]
    facts = msgspec.structs.replace(host, rdma=rdma)
    return situation(
        devices=devices,
        host={"memlock_KiB": -1},
        machine={"cards": cards, "host": facts},
    )


def eight_h100() -> Situation:
    """HGX H100, eight cards and eight InfiniBand ports."""
    return _machine(tuple(card(i) for i in range(8)), _cards(H100, 8))


def two_b200() -> Situation:
    """Two cards of an HGX B200."""
    model = msgspec.structs.replace(
        H100,
        pci_id="10de:2901",
        memory_used_GiB=0.65,
        links=nvlinks(18, 53.125, "5.0"),
        power=Power(draw_W=140.0, limit_W=1000.0, default_limit_W=1000.0),
    )
    devices = tuple(
        card(i, product="NVIDIA B200", memory_GiB=179.06, architecture="sm_100") for i in range(2)
    )
    return _machine(devices, _cards(model, 2))


def eight_mi300x() -> Situation:
    """Eight MI300X in a mesh; the driver makes no files of what NVIDIA alone has."""
    blocks = ("umc", "sdma", "gfx", "mmhub", "xgmi_wafl")
    model = Card(
        device="gpu0",
        pci_id="1002:74a1",
        partition="SPX",
        memory_used_GiB=0.28,
        pcie=Pcie(generation=5, width=16, max_generation=5, max_width=16, replays=0),
        ecc=Ecc(enabled=True, corrected=0, uncorrected=0),
        ras=tuple(RasBlock(block=b, corrected=0, uncorrected=0, deferred=0) for b in blocks),
        hive="0x9321f0",
        temperature=Temperature(card_C=40.0, memory_C=34.0, slowdown_C=100.0, shutdown_C=110.0),
        power=Power(draw_W=140.0, limit_W=750.0, default_limit_W=750.0),
        processes=(),
    )
    cards = tuple(
        msgspec.structs.replace(
            one,
            links=tuple(
                Link(index=j, state="active", remote=f"gpu{j}", rate_GBps=64.0, weight=15)
                for j in range(8)
                if j != i
            ),
        )
        for i, one in enumerate(_cards(model, 8))
    )
    devices = tuple(
        card(
            i,
            kind="hip",
            product="AMD Instinct MI300X",
            memory_GiB=191.98,
            architecture="gfx942",
            driver_cuda=None,
        )
        for i in range(8)
    )
    return _machine(devices, cards)


def one_rtx5090() -> Situation:
    """A desktop card in a container: no ECC errors to count, no links, no rows."""
    model = msgspec.structs.replace(
        H100,
        pci_id="10de:2b85",
        ecc=Ecc(
            **dict.fromkeys(("enabled", "pending", "corrected", "uncorrected"), NOT_SUPPORTED),
        ),
        remapped=RemappedRows(
            **dict.fromkeys(("failed", "pending", "uncorrected", "corrected"), NOT_SUPPORTED)
        ),
        links=NOT_SUPPORTED,
        recovery_action=NOT_SUPPORTED,
        repair=NOT_SUPPORTED,
        persistence=False,
        power=Power(draw_W=20.0, limit_W=575.0, default_limit_W=575.0),
    )
    host = msgspec.structs.replace(
        HOST_FACTS, kernel_log=NO_PERMISSION, acs=NO_PERMISSION, iommu="translating"
    )
    device = card(0, product="NVIDIA GeForce RTX 5090", memory_GiB=31.84, architecture="sm_120")
    return _machine((device,), _cards(model, 1), msgspec.structs.replace(host, rdma=()))


def four_gb200() -> Situation:
    """A tray of GB200: Grace, memory of the cards as NUMA nodes without CPUs, IOMMU translating."""
    model = msgspec.structs.replace(
        H100,
        pci_id="10de:2941",
        memory_used_GiB=1.1,
        links=nvlinks(18, 53.125, "5.0"),
        power=Power(draw_W=180.0, limit_W=1200.0, default_limit_W=1200.0),
    )
    nodes = (
        NumaNode(index=0, cpus="0-71"),
        NumaNode(index=1, cpus="72-143"),
        *(NumaNode(index=index, cpus="") for index in range(2, 34)),
    )
    host = msgspec.structs.replace(
        HOST_FACTS, numa=nodes, iommu="translating", acs=("0000:00:00.0",), allowed_cpus="0-143"
    )
    devices = tuple(
        card(i, product="NVIDIA GB200", memory_GiB=185.03, architecture="sm_100") for i in range(4)
    )
    return _machine(devices, _cards(model, 4), host)


HEALTHY: dict[str, Callable[[], Situation]] = {
    "8xH100": eight_h100,
    "2xB200": two_b200,
    "8xMI300X": eight_mi300x,
    "1xRTX5090": one_rtx5090,
    "4xGB200": four_gb200,
    "rehearsal": lambda: rehearsal(
        host={"memlock_KiB": 8192}, machine={"cards": (), "host": HOST_FACTS}
    ),
}


def spoiled(machine: Situation, facts: dict[str, Any]) -> Situation:
    """The machine with some facts replaced, each by its path.

    ``gpu3.ecc.uncorrected`` is of one card, ``cards.links`` of all, ``host.iommu`` of the host's
    facts, ``record.shm_GiB`` of the host as the record has it, ``order.nodes`` and
    ``plan.model.parameters`` of what was bought and planned, ``machine.environment`` of the rest.
    """
    for path, value in facts.items():
        head, _, rest = path.partition(".")
        found = machine.machine
        if head == "host":
            _put(machine, msgspec.structs.replace(found, host=_with(found.host, rest, value)))
        elif head == "machine":
            _put(machine, _with(found, rest, value))
        elif head == "record":
            host = _with(machine.inventory.host, rest, value)
            machine.inventory = msgspec.structs.replace(machine.inventory, host=host)
        elif head == "devices":
            devices = tuple(_with(one, rest, value) for one in machine.inventory.devices)
            machine.inventory = msgspec.structs.replace(machine.inventory, devices=devices)
        elif head in ("order", "plan", "options"):
            setattr(machine, head, _with(getattr(machine, head), rest, value))
        else:
            assert head == "cards" or head in {one.device for one in found.cards}, path
            cards = tuple(
                _with(one, rest, value) if head in ("cards", one.device) else one
                for one in found.cards
            )
            _put(machine, msgspec.structs.replace(found, cards=cards))
    return machine


def _put(machine: Situation, facts: Any) -> None:
    machine.inventory = msgspec.structs.replace(machine.inventory, machine=facts)


def _with(struct: Any, path: str, value: Any) -> Any:
    head, _, rest = path.partition(".")
    if isinstance(struct, tuple):  # links.7.state
        at = int(head)
        return (*struct[:at], _with(struct[at], rest, value) if rest else value, *struct[at + 1 :])
    new = _with(getattr(struct, head), rest, value) if rest else value
    return msgspec.structs.replace(struct, **{head: new})


@cache
def checks() -> dict[str, Callable[..., None]]:
    """Every check of the stage ``system`` by its id."""
    found = {}
    for path in sorted(checks_folder().glob("check_03*_system*.py")):
        for name, function in vars(load(path.name)).items():
            if name.startswith("check_") and inspect.isfunction(function):
                (mark,) = (m for m in function.pytestmark if m.name == "check")  # type: ignore[attr-defined]
                found[mark.kwargs["id"]] = function
    return found


def look(identity: str, machine: Situation) -> Check:
    """What the record says of one check, its skip or error as the engine concludes them."""
    check = checks()[identity]
    (mark,) = (m for m in check.pytestmark if m.name == "check")  # type: ignore[attr-defined]
    result, troubles = Result(), []
    try:
        check(machine, result=result)
    except (pytest.skip.Exception, CannotLook) as trouble:
        troubles.append(trouble)
    return conclude(
        read_spec(check, mark, identity),
        result,
        troubles,
        node="node-a",
        device=None,
        required=True,
        blocked_by=None,
        started="2026-12-01T09:04:12Z",
        duration_s=0.0,
    )


def verdicts(machine: Situation) -> dict[str, Check]:
    """What every check says."""
    return {identity: look(identity, machine) for identity in checks()}


def sole_alarm(machine: Situation, facts: dict[str, Any], identity: str) -> Check:
    """What the check says of the spoiled machine, of which no other one complains."""
    spoiled(machine, facts)
    told = alarms(machine)
    assert set(told) == {identity}, told
    return look(identity, machine)


def alarms(machine: Situation) -> dict[str, str]:
    """Status by check, of those that neither passed nor were skipped."""
    told = {identity: result.status for identity, result in verdicts(machine).items()}
    return {key: status for key, status in told.items() if status not in ("pass", "skip")}
