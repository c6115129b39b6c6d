"""A simulated host: what is written is what the readers find, healthy and with each fault."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from preflight.facts import Disk, HostFacts
from preflight.hardware.disks import Purpose
from preflight.hardware.files import STAND_INS, Files
from preflight.hardware.host import read_host, read_host_facts
from preflight.hardware.pci import read_bus
from preflight.hardware.simulated_host import (
    Accelerator,
    SimulatedCgroup,
    SimulatedHost,
    SimulatedInterface,
    SimulatedMount,
    SimulatedPort,
)

from .machines import reason
from .sysfs import write_pci

BUSES = (0x1B, 0x43, 0x52, 0x61, 0x9D, 0xC3, 0xD1, 0xDF)
CARDS: list[Accelerator] = [
    (f"0000:{bus:02x}:00.0", "10de:2330", index // 4) for index, bus in enumerate(BUSES)
]
PATHS: dict[Purpose, str] = {"checkpoint": "/checkpoints/run", "temporary": "/tmp"}


def facts_of(root: Path, host: SimulatedHost, cards: Sequence[Accelerator] = CARDS) -> HostFacts:
    """What the readers find of a host."""
    files = Files(host.write(root, cards))
    names = {f"gpu{index}": card[0] for index, card in enumerate(cards)}
    return read_host_facts(files, names, PATHS, {})


def test_the_default_is_a_healthy_machine(tmp_path: Path) -> None:
    """Every fact has a value, and none of them is trouble."""
    facts = facts_of(tmp_path, SimulatedHost())
    assert (facts.wsl, facts.virtual, facts.container) == (False, "none", "none")
    assert (facts.sockets, facts.cpus_online, facts.cpus_allowed) == (2, 224, 224)
    assert isinstance(facts.numa, tuple)
    assert [node.cpus for node in facts.numa] == ["0-111", "112-223"]
    assert facts.numa_balancing is False
    assert facts.cgroup.version == 2
    assert (facts.cgroup.memory_limit_GiB, facts.cgroup.cpus, facts.cgroup.processes) == (None,) * 3
    assert (facts.memlock_hard_KiB, facts.open_files_hard) == (-1, 1048576)
    assert (facts.shm_free_GiB, facts.swap_GiB) == (1024.0, 0.0)
    assert (facts.iommu, facts.acs) == ("passthrough", ())
    assert facts.boot_options == "intel_iommu=on iommu=pt"
    assert facts.peer_memory == "nvidia_peermem"
    assert facts.verbs_library == "/usr/lib/x86_64-linux-gnu/libibverbs.so.1"
    assert isinstance(facts.services, tuple)
    assert [service.state for service in facts.services] == ["running"] * 2 + ["not seen"] * 2
    assert facts.kernel_log == ()


def test_the_network_of_a_healthy_machine(tmp_path: Path) -> None:
    """One interface, and an active RDMA port of its own beside each card."""
    facts = facts_of(tmp_path, SimulatedHost())
    assert isinstance(facts.interfaces, tuple) and isinstance(facts.rdma, tuple)
    assert [(i.state, i.rate_Gbps, i.numa_node) for i in facts.interfaces] == [("up", 100.0, 0)]
    assert {(p.state, p.physical_state, p.rate_Gbps, p.is_open) for p in facts.rdma} == {
        ("active", "link up", 400.0, True)
    }
    assert [p.nearest for p in facts.rdma] == [f"gpu{index}" for index in range(8)]
    assert [p.numa_node for p in facts.rdma] == [0] * 4 + [1] * 4


def test_the_record_of_the_host(tmp_path: Path) -> None:
    """The few facts of the record come from the same files."""
    host = read_host(Files(SimulatedHost().write(tmp_path)))
    assert (host.name, host.kernel, host.machine) == ("node-a", "6.8.0-60-generic", "x86_64")
    assert host.distribution == "Ubuntu 24.04.3 LTS"
    assert host.cpu == "Intel(R) Xeon(R) Platinum 8480C"
    assert (host.cores, host.memory_GiB, host.shm_GiB) == (224, 2048.0, 1024.0)
    assert (host.memlock_KiB, host.open_files, host.container) == (-1, 1048576, None)


def test_cards_stand_on_the_bus(tmp_path: Path) -> None:
    """NVIDIA's are written whole, with their driver and node."""
    cards = read_bus(Files(SimulatedHost().write(tmp_path, CARDS)))
    assert isinstance(cards, tuple)
    assert [(c.pci, c.pci_id, c.numa_node) for c in cards] == CARDS
    assert {(c.driver, c.is_accelerator) for c in cards} == {("nvidia", True)}


def test_a_card_without_a_driver(tmp_path: Path) -> None:
    """It stays on the bus, and no module is loaded for it."""
    host = SimulatedHost(driver=None, peer_memory="none")
    cards = read_bus(Files(host.write(tmp_path, CARDS[:1])))
    assert isinstance(cards, tuple)
    assert reason(cards[0].driver) == "not found"
    assert facts_of(tmp_path, host, CARDS[:1]).peer_memory == "none"


@pytest.mark.parametrize("comes_first", [True, False])
def test_cards_of_another_writer_keep_their_files(tmp_path: Path, comes_first: bool) -> None:
    """AMD's cards are written by another part, before or after, and get their place on the bus."""
    address = "0000:05:00.0"
    words = {"vendor": "0x1002", "device": "0x74a1", "class": "0x120000"}
    if comes_first:
        write_pci(tmp_path, address, **words)
    facts = facts_of(tmp_path, SimulatedHost(), [(address, "1002:74a1", 1)])
    if not comes_first:
        write_pci(tmp_path, address, **words)
    cards = read_bus(Files(tmp_path))
    assert isinstance(cards, tuple) and isinstance(facts.rdma, tuple)
    assert [(c.pci, c.pci_id, c.numa_node) for c in cards] == [(address, "1002:74a1", 1)]
    assert (facts.acs, facts.iommu, facts.rdma[0].nearest) == ((), "passthrough", "gpu0")


def test_the_bus_of_a_small_virtual_machine(tmp_path: Path) -> None:
    """A card on the root bus has no bridge above it."""
    host = SimulatedHost(is_virtual=True, vendor="Amazon EC2", iommu="off", rdma=[])
    facts = facts_of(tmp_path, host, [("0000:00:1e.0", "10de:2237", 0)])
    assert (facts.virtual, facts.iommu, facts.acs, facts.rdma) == ("Amazon EC2", "off", (), ())


@pytest.mark.parametrize(
    "container", ["docker", "podman", "kubernetes", "lxc", "apptainer", "enroot"]
)
def test_containers(tmp_path: Path, container: Any) -> None:
    """Each is known by its own signs; those with namespaces hide what the host has."""
    host = SimulatedHost(container=container)
    facts = facts_of(tmp_path, host)
    assert facts.container == container
    disk = facts.disks[0]
    assert disk.filesystem == "overlay"
    if host.is_isolated:
        assert facts.interfaces == ()
        assert reason(facts.kernel_log) == "not found"
        assert isinstance(facts.services, tuple)
        assert {service.state for service in facts.services} == {"not seen"}
        assert facts.cgroup.path == "/"
    else:
        assert facts.kernel_log == ()
    assert isinstance(facts.rdma, tuple) and len(facts.rdma) == 8


def test_wsl(tmp_path: Path) -> None:
    """Windows keeps bus, firmware and log to itself."""
    facts = facts_of(tmp_path, SimulatedHost(wsl=True, cores_per_socket=8, sockets=1))
    assert (facts.wsl, facts.virtual, facts.iommu) == (True, "Hyper-V", "off")
    assert facts.rdma == ()
    assert reason(facts.kernel_log) == "not found"


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("container", [None, "docker"])
def test_limits_of_the_control_group(tmp_path: Path, version: Any, container: Any) -> None:
    """Memory, CPUs and processes, in both versions, inside a container and out."""
    group = SimulatedCgroup(version, memory_GiB=64, used_GiB=20, cpus=7.5, processes=4096)
    cgroup = facts_of(tmp_path, SimulatedHost(cgroup=group, container=container)).cgroup
    assert (cgroup.version, cgroup.memory_limit_GiB, cgroup.memory_used_GiB) == (
        version,
        64.0,
        20.0,
    )
    assert (cgroup.cpus, cgroup.processes) == (7.5, 4096)


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("container", [None, "docker"])
def test_a_control_group_without_limits(tmp_path: Path, version: Any, container: Any) -> None:
    """None of them is a limit, and none of them is unknown."""
    host = SimulatedHost(cgroup=SimulatedCgroup(version), container=container)
    cgroup = facts_of(tmp_path, host).cgroup
    assert (cgroup.memory_limit_GiB, cgroup.cpus, cgroup.processes) == (None, None, None)


def test_small_limits(tmp_path: Path) -> None:
    """Docker's /dev/shm, a login's locked memory, few files and few CPUs."""
    host = SimulatedHost(
        shm_GiB=0.0625, memlock_KiB=64, open_files=1024, cpus_allowed="0-7", swap_GiB=8
    )
    facts = facts_of(tmp_path, host)
    record = read_host(Files(tmp_path))
    assert (record.shm_GiB, record.memlock_KiB, record.open_files) == (0.062, 64, 1024)
    assert (facts.memlock_hard_KiB, facts.open_files_hard) == (64, 1024)
    assert (facts.cpus_allowed, facts.swap_GiB) == (8, 8.0)


def test_events_of_the_kernels_log(tmp_path: Path) -> None:
    """Lines are written with their age into the logger's copy."""
    lines = [
        (120.0, "NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus."),
        (30.0, "Out of memory: Killed process 4242 (python3)"),
    ]
    facts = facts_of(tmp_path, SimulatedHost(kernel_log=lines))
    assert isinstance(facts.kernel_log, tuple)
    assert [(e.kind, e.code, e.pci, e.age_s) for e in facts.kernel_log] == [
        ("xid", 79, "0000:1b:00.0", 120.0),
        ("memory", None, None, 30.0),
    ]


def test_a_log_that_is_not_there(tmp_path: Path) -> None:
    """No log is an absence."""
    assert reason(facts_of(tmp_path, SimulatedHost(kernel_log=None)).kernel_log) == "not found"


def test_mounts(tmp_path: Path) -> None:
    """A checkpoint on NFS, a hard disk that is mounted for reading."""
    mounts = [
        SimulatedMount(),
        SimulatedMount("/checkpoints", "10.0.0.5:/export", "nfs4", 10000, 20),
        SimulatedMount("/tmp", "/dev/sdb1", "xfs", 900, 800, is_rotational=True, is_read_only=True),
    ]
    checkpoint, temporary = facts_of(tmp_path, SimulatedHost(mounts=mounts)).disks
    assert reason(checkpoint.rotational) == "not supported"
    assert (checkpoint.source, checkpoint.remote) == ("10.0.0.5:/export", True)
    assert (checkpoint.size_GiB, checkpoint.free_GiB) == (10000.0, 20.0)
    assert temporary == Disk(
        purpose="temporary",
        path="/tmp",
        mount="/tmp",
        source="/dev/sdb1",
        filesystem="xfs",
        size_GiB=900.0,
        free_GiB=800.0,
        rotational=True,
        remote=False,
        read_only=True,
    )


def test_troubles_of_rdma(tmp_path: Path) -> None:
    """A port that is down, no device files, no library, and no way to the cards' memory."""
    host = SimulatedHost(
        rdma=[SimulatedPort("mlx5_0", is_up=False), SimulatedPort("mlx5_1", link_layer="Ethernet")],
        has_rdma_files=False,
        verbs_library=None,
        peer_memory="none",
    )
    facts = facts_of(tmp_path, host)
    assert isinstance(facts.rdma, tuple)
    assert [p.state for p in facts.rdma] == ["down", "active"]
    assert [p.physical_state for p in facts.rdma] == ["polling", "link up"]
    assert facts.rdma[1].link_layer == "ethernet"
    assert {reason(p.is_open) for p in facts.rdma} == {"not found"}
    assert reason(facts.verbs_library) == "not found"
    assert facts.peer_memory == "none"


@pytest.mark.parametrize("word", ["nvidia_peermem", "dmabuf", "amdkfd"])
def test_ways_to_the_memory_of_a_card(tmp_path: Path, word: Any) -> None:
    """Each of them is found as what it is."""
    assert facts_of(tmp_path, SimulatedHost(peer_memory=word)).peer_memory == word


def test_an_adapter_on_the_other_socket(tmp_path: Path) -> None:
    """Its nearest card is one of that socket's, if any."""
    host = SimulatedHost(rdma=[SimulatedPort("mlx5_0", numa_node=1)])
    facts = facts_of(tmp_path, host, CARDS[:4])
    assert isinstance(facts.rdma, tuple)
    assert (facts.rdma[0].numa_node, facts.rdma[0].nearest) == (1, "")


def test_an_interface_that_is_down(tmp_path: Path) -> None:
    """Its rate is not known."""
    facts = facts_of(tmp_path, SimulatedHost(interfaces=[SimulatedInterface(is_up=False)]))
    assert isinstance(facts.interfaces, tuple)
    assert facts.interfaces[0].state == "down"
    assert reason(facts.interfaces[0].rate_Gbps) == "not supported"


@pytest.mark.parametrize("mode", ["off", "passthrough", "translating"])
def test_modes_of_the_iommu(tmp_path: Path, mode: Any) -> None:
    """Groups and options of the kernel fit each other."""
    assert facts_of(tmp_path, SimulatedHost(iommu=mode)).iommu == mode


def test_bridges_that_redirect(tmp_path: Path) -> None:
    """The port above each card is named; without rights nothing is known."""
    facts = facts_of(tmp_path / "a", SimulatedHost(acs_redirects=True), CARDS[:2])
    assert facts.acs == ("0000:00:10.0", "0000:00:10.1")
    facts = facts_of(tmp_path / "b", SimulatedHost(acs_redirects=True, is_root=False))
    assert reason(facts.acs) == "no permission"


def test_a_grace_machine(tmp_path: Path) -> None:
    """The memory of its cards is nodes without CPUs, and the CPU has no name."""
    host = SimulatedHost(
        architecture="aarch64",
        vendor="NVIDIA",
        cores_per_socket=72,
        threads_per_core=1,
        memory_GiB=960,
        card_nodes_GiB=(185, 185),
    )
    facts = facts_of(
        tmp_path, host, [("0008:01:00.0", "10de:2941", 0), ("0018:01:00.0", "10de:2941", 1)]
    )
    assert isinstance(facts.numa, tuple)
    assert [(n.index, n.cpus, n.memory_GiB) for n in facts.numa] == [
        (0, "0-71", 480.0),
        (1, "72-143", 480.0),
        (2, "", 185.0),
        (3, "", 185.0),
    ]
    assert (facts.virtual, read_host(Files(tmp_path)).cpu) == ("none", None)


def test_a_machine_without_numa(tmp_path: Path) -> None:
    """The kernel lists no node, and cards name none."""
    cards = [(address, pci_id, -1) for address, pci_id, _ in CARDS]
    facts = facts_of(tmp_path, SimulatedHost(numa_nodes=0), cards)
    assert reason(facts.numa) == "not found"


def test_stand_ins_of_other_writers_stay(tmp_path: Path) -> None:
    """Several parts write into one file, in any order."""
    opening = {"opening": {"/dev/nvidia0": 13}, "space": {"/mine": [1, 1]}}
    (tmp_path / STAND_INS).write_text(json.dumps(opening))
    SimulatedHost().write(tmp_path, CARDS)
    found = json.loads((tmp_path / STAND_INS).read_text())
    assert found["opening"] == {"/dev/nvidia0": 13}
    assert set(found["space"]) == {"/mine", "/", "/dev/shm"}


def test_a_machine_can_be_moved(tmp_path: Path) -> None:
    """Links are relative, so that a copy elsewhere is the same machine."""
    before = facts_of(tmp_path / "here", SimulatedHost())
    shutil.copytree(tmp_path / "here", tmp_path / "there", symlinks=True)
    shutil.rmtree(tmp_path / "here")
    names = {f"gpu{index}": card[0] for index, card in enumerate(CARDS)}
    assert read_host_facts(Files(tmp_path / "there"), names, PATHS, {}) == before


def test_two_hosts_share_no_list(tmp_path: Path) -> None:
    """Breaking one leaves the next one healthy."""
    SimulatedHost().rdma.clear()
    SimulatedHost().mounts[0].free_GiB = 0
    facts = facts_of(tmp_path, SimulatedHost())
    assert isinstance(facts.rdma, tuple) and len(facts.rdma) == 8
    assert facts.disks[0].free_GiB == 3072.0
