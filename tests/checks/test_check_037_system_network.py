"""The judgement of RDMA ports, locked memory and the nearness of cards, networks and CPUs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from preflight.facts import Absence

from .machines import NO_PERMISSION, RDMA, eight_h100, look, sole_alarm, spoiled

NO_LIBRARY = Absence(what="libibverbs.so.1", reason="not found")
DOWN = {"host.rdma.3.state": "down", "host.rdma.3.physical_state": "polling"}
FAULTS: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "system.rdma",
        DOWN,
        "warn",
        "mlx5_3 port 1: the port is down (polling), the one near gpu3",
    ),
    (
        "system.rdma",
        {**DOWN, "order.nodes": 2},
        "fail",
        "mlx5_3 port 1: the port is down (polling), the one near gpu3",
    ),
    (
        "system.rdma",
        {"host.rdma.3.rate_Gbps": 200.0},
        "warn",
        "mlx5_3 port 1: 200 Gb/s, and the others run at 400",
    ),
    (
        "system.rdma",
        {"host.rdma.3.is_open": NO_PERMISSION, "order.nodes": 2},
        "fail",
        "mlx5_3 port 1: its file in /dev/infiniband is not open to us: no permission",
    ),
    (
        "system.rdma",
        {"host.peer_memory": "none", "order.nodes": 2},
        "warn",
        "no kernel module for GPUDirect RDMA: traffic goes through the host",
    ),
    (
        "system.rdma",
        {"host.rdma": (), "order.nodes": 2},
        "warn",
        "2 nodes were bought, and there is no RDMA device",
    ),
    (
        "system.memlock",
        {"record.memlock_KiB": 8192},
        "warn",
        "8192 KiB may be locked, 8 ranks want 8 GiB for NCCL's buffers",
    ),
    (
        "system.affinity",
        {"host.rdma.3.numa_node": 1},
        "warn",
        "gpu3: its network card mlx5_3 is on NUMA node 1, the card on 0",
    ),
    (
        "system.affinity",
        {"host.allowed_cpus": "0-95"},
        "warn",
        "gpu4, gpu5, gpu6, gpu7: this process may run on CPUs 0-95 alone, near the card are 96-191",
    ),
]


@pytest.mark.parametrize(("identity", "facts", "status", "reason"), FAULTS)
def test_a_fault_is_told_once(
    identity: str, facts: dict[str, Any], status: str, reason: str
) -> None:
    """One check tells it, naming port or card, with what to do."""
    check = sole_alarm(eight_h100(), facts, identity)
    assert (check.status, check.reason) == (status, reason)
    assert check.action


@pytest.mark.parametrize(("nodes", "status"), [(1, "warn"), (2, "fail")])
def test_case_066_an_image_without_libibverbs(nodes: int, status: str) -> None:
    """NCCL falls back to TCP without a word; between nodes that is a failure."""
    facts = {"host.verbs_library": NO_LIBRARY, "order.nodes": nodes}
    check = sole_alarm(eight_h100(), facts, "system.rdma")
    assert check.status == status and "TCP" in check.reason
    assert "apt-get install libibverbs1" in check.action


def test_a_port_for_storage_may_be_down_or_slow() -> None:
    """It is near no card: two nodes do not fail for it, and rates are compared without it."""
    storage = msgspec.structs.replace(RDMA[0], device="mlx5_8", nearest="", rate_Gbps=100.0)
    slow = spoiled(eight_h100(), {"host.rdma": (*RDMA, storage), "order.nodes": 2})
    assert look("system.rdma", slow).status == "pass"
    unplugged = msgspec.structs.replace(storage, state="down", physical_state="disabled")
    down = spoiled(eight_h100(), {"host.rdma": (*RDMA, unplugged), "order.nodes": 2})
    check = look("system.rdma", down)
    assert (check.status, check.reason) == ("warn", "mlx5_8 port 1: the port is down (disabled)")


def test_a_port_without_a_subnet_manager() -> None:
    """Its cable is fine, and it waits: the action says for what."""
    check = look("system.rdma", spoiled(eight_h100(), {"host.rdma.3.state": "init"}))
    assert check.status == "warn" and "subnet manager" in check.action


def test_no_port_that_is_up_fails_two_nodes() -> None:
    """Even where nothing tells which card a port is near."""
    lonely = msgspec.structs.replace(RDMA[0], state="init", nearest="")
    machine = spoiled(eight_h100(), {"host.rdma": (lonely,), "order.nodes": 2})
    assert look("system.rdma", machine).status == "fail"


def test_one_node_needs_no_rdma() -> None:
    """Neither ports nor locked memory."""
    machine = spoiled(eight_h100(), {"host.rdma": (), "record.memlock_KiB": 64})
    assert look("system.rdma", machine).status == "skip"
    assert look("system.memlock", machine).status == "skip"


@pytest.mark.parametrize(
    ("limit_KiB", "status"),
    [(-1, "pass"), (8 * 1024**2, "pass"), (8 * 1024**2 - 1, "warn"), (None, "error")],
)
def test_the_limit_of_locked_memory(limit_KiB: int | None, status: str) -> None:
    """1 GiB a rank is enough; one that nobody could read is an error."""
    machine = spoiled(eight_h100(), {"record.memlock_KiB": limit_KiB})
    assert look("system.memlock", machine).status == status


@pytest.mark.parametrize(("hard", "words"), [(-1, "ulimit -l unlimited"), (8192, "--ulimit")])
def test_the_action_knows_the_hard_limit(hard: int, words: str) -> None:
    """What a user may raise alone, and what the container has to allow."""
    facts = {"record.memlock_KiB": 8192, "host.memlock_hard_KiB": hard}
    assert words in look("system.memlock", spoiled(eight_h100(), facts)).action


def test_firmware_that_names_no_node_is_a_note() -> None:
    """-1 is no place, and no distance from one."""
    check = look("system.affinity", spoiled(eight_h100(), {"cards.numa_node": -1}))
    assert check.status == "pass" and "names no NUMA node" in check.reason


def test_cpus_that_nobody_has_listed_are_not_judged() -> None:
    """Without a list there is no alarm, and no claim either."""
    facts = {"host.allowed_cpus": Absence(reason="not asked")}
    assert look("system.affinity", spoiled(eight_h100(), facts)).status == "pass"


@pytest.mark.parametrize(
    ("facts", "status"),
    [
        ({"host.rdma.3.is_open": NO_PERMISSION}, "warn"),
        ({"host.rdma.3.is_open": False}, "warn"),
        ({"host.rdma.3.is_open": Absence(reason="not asked")}, "pass"),
        ({"host.peer_memory": "none"}, "pass"),
    ],
)
def test_one_node_can_do_without(facts: dict[str, Any], status: str) -> None:
    """What only traffic between nodes needs fails no single node."""
    assert look("system.rdma", spoiled(eight_h100(), facts)).status == status


def test_nothing_may_be_locked() -> None:
    """A limit of 0 is the tightest, and no word for unlimited."""
    machine = spoiled(eight_h100(), {"record.memlock_KiB": 0})
    assert look("system.memlock", machine).status == "warn"
    assert look("system.memlock", eight_h100()).reason == "without limit"
