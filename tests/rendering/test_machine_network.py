from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from preflight.facts import (
    Absence,
    Disk,
    HostFacts,
    KernelEvent,
    Machine,
    NetworkInterface,
    RdmaPort,
)
from preflight.rendering.machine_network import (
    ago,
    disks_part,
    environment_part,
    kernel_part,
    network_part,
)
from preflight.rendering.machine_parts import Entry, Part

from . import machines

GONE = Absence(what="/sys", reason="not readable")


def machine(**facts: Any) -> Machine:
    """A machine whose host has these facts."""
    return Machine(node="node-a", host=HostFacts(**facts))


def row(part: Part, place: int = 0) -> dict[str, Entry]:
    """A row of the first table by title."""
    table = part.tables[0]
    return {one.title: one.entries[place] for one in table.columns}


@pytest.mark.parametrize(
    ("age_s", "words"),
    [
        (0.2, "0 s ago"),
        (119.0, "119 s ago"),
        (150.0, "2 min ago"),
        (9_000.0, "2 h ago"),
        (864_000.0, "10 d ago"),
        (None, None),
    ],
)
def test_a_time_past_has_one_unit(age_s: float | None, words: str | None) -> None:
    """Seconds to days, the largest that fits twice."""
    assert ago(age_s) == words


def test_ports_and_interfaces_are_tables() -> None:
    """What the port's state is, how fast it is, and the card it is near to."""
    port = RdmaPort(
        device="mlx5_0",
        port=1,
        state="down",
        physical_state="polling",
        rate_Gbps=400.0,
        numa_node=-1,
        nearest="gpu0",
    )
    link = NetworkInterface(name="eth0", state="up", rate_Gbps=2.5, mtu=1500)
    part = network_part(machine(rdma=(port,), interfaces=(link,)))
    assert {title: entry.text for title, entry in row(part).items()} == {
        "RDMA": "mlx5_0 port 1",
        "state": "down, polling",
        "Gb/s": "400",
        "NUMA": "none",
        "nearest": "gpu0",
    }
    assert [entry.text for entry in part.tables[1].rows[0]] == ["eth0", "up", "2.5", "1500"]


def test_a_host_without_a_network_has_no_such_part() -> None:
    """Nothing found and nothing known alike leave nothing to show here."""
    assert network_part(machine(rdma=(), interfaces=())).is_empty
    assert network_part(machine(rdma=GONE, interfaces=GONE)).is_empty


@pytest.mark.parametrize(
    ("fields", "title", "entry"),
    [
        ({"free_GiB": 390.0, "size_GiB": 439.1}, "free GiB", Entry("390.0/439.1")),
        ({"free_GiB": GONE, "size_GiB": 439.1}, "free GiB", Entry("–/439.1")),
        ({"remote": True}, "kind", Entry("remote")),
        ({"rotational": True, "read_only": True}, "kind", Entry("rotating, read-only", "caution")),
        ({"source": "/dev/md0", "mount": "/data"}, "mounted from", Entry("/dev/md0 at /data")),
        ({"source": "10.0.0.5:/export"}, "mounted from", Entry("10.0.0.5:/export")),
    ],
)
def test_a_disk_in_words(fields: dict[str, Any], title: str, entry: Entry) -> None:
    """Room, kind and source; one that cannot be written stands out."""
    disk = Disk(purpose="checkpoint", path="/data", **fields)
    assert row(disks_part(machine(disks=(disk,))))[title] == entry


def test_an_event_names_its_card() -> None:
    """By the PCI address, whatever its case; an address that no card has stays as it is."""
    events = (
        KernelEvent(kind="xid", code=79, pci="0000:DF:00.0", text="fell off the bus", count=2),
        KernelEvent(kind="pcie", pci="0000:aa:00.0", text="AER"),
        KernelEvent(kind="ras", text="umc"),
    )
    devices = {d.pci: d for d in machines.eight_h100().devices if d.pci}
    part = kernel_part(machine(kernel_log=events), devices)
    found = [[row(part, i)[title].text for title in ("event", "where", "times")] for i in range(3)]
    assert found == [["XID 79", "gpu7", "2"], ["pcie", "0000:aa:00.0", "1"], ["RAS", "–", "1"]]
    assert row(part)["event"].tone == "caution"


def test_variables_stand_by_name() -> None:
    """Sorted, and one that is set to nothing says so."""
    made = replace(machine(), environment={"NCCL_DEBUG": "", "CUDA_HOME": "/usr/local/cuda"})
    assert environment_part(made).pairs == (
        ("CUDA_HOME", Entry("/usr/local/cuda")),
        ("NCCL_DEBUG", Entry("(empty)")),
    )
