from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from preflight.facts import (
    Absence,
    Cgroup,
    DeviceFile,
    Driver,
    HostFacts,
    KernelEvent,
    Machine,
    NumaNode,
    Service,
)
from preflight.records import Host
from preflight.rendering.machine_host import driver_in_short, driver_part, host_part
from preflight.rendering.machine_parts import Entry

from . import machines

GONE = Absence(what="/proc/meminfo", reason="not readable")


def said(term: str, *, host: Host | None = None, **facts: Any) -> str | None:
    """What is told of the host under a term; None where nothing is."""
    machine = Machine(node="node-a", host=HostFacts(**facts))
    entry = dict(host_part(machine, host).pairs).get(term)
    return None if entry is None else entry.text


def of_driver(term: str, driver: Driver | None = None, **facts: Any) -> Entry | None:
    """What is told of the driver under a term."""
    machine = Machine(node="node-a", driver=driver or Driver(), host=HostFacts(**facts))
    return dict(driver_part(machine, ()).pairs).get(term)


@pytest.mark.parametrize(
    ("group", "words"),
    [
        (Cgroup(version=2, memory_limit_GiB=None, cpus=None, processes=None), "v2: no limit"),
        (
            Cgroup(
                version=2, memory_limit_GiB=64.0, memory_used_GiB=12.31, cpus=7.5, processes=None
            ),
            "v2: 64 GiB of memory (12.3 used), 7.5 CPUs, no limit of processes",
        ),
        (
            Cgroup(version=1, memory_limit_GiB=None, cpus=GONE, processes=4096),
            "v1: no limit of memory, 4096 processes",
        ),
        (Cgroup(version=2, memory_limit_GiB=GONE, cpus=GONE, processes=GONE), "v2"),
        (Cgroup(version=GONE), None),
    ],
)
def test_limits_of_the_control_group(group: Cgroup, words: str | None) -> None:
    """A limit that is not known is left out and never called none."""
    assert said("cgroup", cgroup=group) == words


@pytest.mark.parametrize(
    ("soft", "hard", "words"),
    [
        (-1, -1, "unlimited"),
        (64, -1, "64 KiB, can be raised to unlimited"),
        (8192, 8192, "8192 KiB"),
        (8192, GONE, "8192 KiB"),
        (None, 65536, "at most 65536 KiB"),
        (None, GONE, None),
    ],
)
def test_the_hard_limit_is_told_where_it_is_another(
    soft: int | None, hard: int | Absence, words: str | None
) -> None:
    """Soft and hard limit of locked memory."""
    host = Host(name="node-a", memlock_KiB=soft)
    assert said("locked memory", host=host, memlock_hard_KiB=hard) == words


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"container": "none", "virtual": "none"}, "no container, bare metal"),
        ({"container": "docker", "virtual": "kvm"}, "docker, virtual machine (kvm)"),
        ({"container": GONE, "virtual": GONE}, None),
        ({"container": "none", "wsl": True}, "no container, WSL"),
    ],
)
def test_what_the_process_runs_in(facts: dict[str, Any], words: str | None) -> None:
    """Container and hypervisor, none of them made up."""
    assert said("runs in", **facts) == words


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"cpus_allowed": 32, "cpus_online": 224, "sockets": 2}, "2 × EPYC, 32 of 224 CPUs"),
        ({"cpus_allowed": 4, "cpus_online": 4, "sockets": 1}, "EPYC, 4 CPUs"),
        ({}, "EPYC, 16 CPUs"),
    ],
)
def test_the_cpus_of_this_process(facts: dict[str, Any], words: str) -> None:
    """Sockets, allowed and online; what the record says stands in for what is not known."""
    host = Host(name="node-a", cpu="EPYC", cores=16)
    assert said("processor", host=host, **facts) == f"{words} for this process"


def test_memory_available_of_all() -> None:
    """With the swap; without a reading no number is made up."""
    host = Host(name="node-a", memory_GiB=2015.5, shm_GiB=64.0)
    told = said("memory", host=host, memory_available_GiB=1938.2, swap_GiB=0.0)
    assert told == "1938 of 2016 GiB available, no swap"
    assert said("memory", host=host) == "2016 GiB"
    assert said("memory") is None
    assert said("/dev/shm", host=host, shm_free_GiB=12.5) == "12.5 of 64.0 GiB free"


def test_bridges_that_redirect_peers_stand_out() -> None:
    """Their addresses are told; none is no line."""
    machine = Machine(node="node-a", host=HostFacts(acs=("0000:15:01.0",)))
    entry = dict(host_part(machine, None).pairs)["PCIe ACS"]
    assert entry.tone == "caution" and entry.text.endswith("to the root: 0000:15:01.0")
    assert said("PCIe ACS", acs=()) is None


def test_numa_nodes_are_a_table_where_there_are_several() -> None:
    """With the cards and ports that are near to each; a single node needs none."""
    made = machines.eight_h100().machine
    assert made is not None
    rows = [[entry.text for entry in row] for row in host_part(made, None).tables[0].rows]
    assert rows[1][:3] == ["1", "1008", "gpu4 to gpu7"]
    one = replace(made, host=replace(made.host, numa=(NumaNode(index=0, cpus="0-3"),)))
    assert host_part(one, None).tables == ()


def test_a_host_without_facts_still_has_its_name() -> None:
    """The name of the node stands where nothing else is known."""
    assert host_part(Machine(node="node-a"), None).pairs == (("name", Entry("node-a")),)


def test_the_driver_in_a_line() -> None:
    """Version, flavour and CUDA or ROCm; the devices' own words stand in where it is silent."""
    driver = Driver(version="580.65.06", flavour="open", cuda="13.0")
    assert driver_in_short(Machine(node="n", driver=driver), ()) == (
        "580.65.06, open kernel module, CUDA 13.0"
    )
    devices = machines.eight_h100().devices
    assert driver_in_short(Machine(node="n"), devices) == "580.65.06, CUDA 13.0"
    assert driver_in_short(Machine(node="n"), ()) == ""


def test_a_library_of_another_version_stands_out() -> None:
    """The same version twice is said once."""
    equal = Driver(version="580.65.06", library="580.65.06")
    assert of_driver("library", equal) is None
    other = Driver(version="580.65.06", library="570.86.15")
    assert of_driver("library", other) == Entry("570.86.15", "caution")


def test_device_files_that_cannot_be_opened_are_named() -> None:
    """With the reason; all open is a count, and one that nobody tried is no trouble."""
    open_file = DeviceFile(path="/dev/nvidiactl", is_open=True)
    closed = DeviceFile(
        path="/dev/nvidia2", is_open=Absence(what="/dev/nvidia2", reason="no permission")
    )
    untried = DeviceFile(path="/dev/nvidia3")
    assert of_driver("device files", Driver(files=(open_file, closed))) == Entry(
        "/dev/nvidia2 (no permission)", "caution"
    )
    assert of_driver("device files", Driver(files=(open_file,))) == Entry("1, all can be opened")
    told = of_driver("device files", Driver(files=(open_file, untried)))
    assert told == Entry("1 of 2 can be opened, the others were not tried")


def test_services_and_a_quiet_kernel_log_are_told() -> None:
    """A log that was read and says nothing of accelerators is a fact; one not read is none."""
    services = (Service(name="nvidia-fabricmanager", state="running"), Service(name="x"))
    assert of_driver("services", services=services) == Entry("nvidia-fabricmanager running")
    assert of_driver("kernel log", kernel_log=()) == Entry("no line about an accelerator")
    event = KernelEvent(kind="xid", code=79, text="fell off the bus")
    assert of_driver("kernel log", kernel_log=(event,)) is None
    assert of_driver("kernel log", kernel_log=GONE) is None
