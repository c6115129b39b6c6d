"""The judgement of NUMA, virtual machines and disks."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.facts import Absence, Disk

from .machines import DISKS, eight_h100, eight_mi300x, four_gb200, look, sole_alarm, spoiled

CHECKPOINT = "checkpoint path /data/checkpoints"
FAULTS: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "system.virtual",
        {"host.wsl": True},
        "warn",
        "this is WSL: Windows owns the cards, pinned memory is limited and NCCL's direct paths are "
        "missing (CUDA on WSL user guide, known limitations)",
    ),
    (
        "system.disk",
        {"host.disks.0.read_only": True},
        "fail",
        f"{CHECKPOINT}: its file system is read-only",
    ),
    (
        "system.disk",
        {"host.disks.0.free_GiB": 9.5},
        "warn",
        f"{CHECKPOINT}: only 9.5 GiB are free",
    ),
    (
        "system.disk",
        {"host.disks.1.free_GiB": 0.2},
        "warn",
        "temporary path /tmp: only 0.2 GiB are free",
    ),
    (
        "system.disk",
        {"host.disks.0.rotational": True},
        "warn",
        f"{CHECKPOINT}: a rotating disk: reading and writing are slow",
    ),
    (
        "system.disk",
        {"host.disks.0.filesystem": "fuse.s3fs", "host.disks.0.remote": True},
        "warn",
        f"{CHECKPOINT}: fuse.s3fs over an object store: a torn write can replace a good checkpoint",
    ),
]


@pytest.mark.parametrize(("identity", "facts", "status", "reason"), FAULTS)
def test_a_fault_is_told_once(
    identity: str, facts: dict[str, Any], status: str, reason: str
) -> None:
    """One check tells it, naming the path, with what to do."""
    check = sole_alarm(eight_h100(), facts, identity)
    assert (check.status, check.reason) == (status, reason)
    assert check.action


@pytest.mark.parametrize(
    ("filesystem", "remote", "free_GiB"), [("nfs4", True, 1e5), ("lustre", True, 1e5)]
)
def test_network_disks_are_fit_for_checkpoints(
    filesystem: str, remote: bool, free_GiB: float
) -> None:
    """Clusters write there."""
    disk = Disk(
        purpose="checkpoint",
        path="/mnt/lustre",
        filesystem=filesystem,
        remote=remote,
        free_GiB=free_GiB,
    )
    assert look("system.disk", spoiled(eight_h100(), {"host.disks": (disk,)})).status == "pass"


def test_data_may_be_read_only_and_full() -> None:
    """It is only read."""
    disk = Disk(purpose="data", path="/data", read_only=True, free_GiB=0.0, rotational=False)
    assert look("system.disk", spoiled(eight_h100(), {"host.disks": (disk,)})).status == "pass"


def test_case_093_compiled_kernels_on_a_network_disk() -> None:
    """Ranks race for them: a warning that names the variables."""
    facts = {"host.disks.1.filesystem": "nfs4", "host.disks.1.remote": True}
    check = sole_alarm(eight_h100(), facts, "system.disk")
    assert check.status == "warn" and "TRITON_CACHE_DIR" in check.action


MODEL = {
    "plan.model.parameters": 70_000_000_000,
    "plan.model.dtype": "bfloat16",
    "plan.model.optimizer": "adamw",
    "plan.checkpoint.keep": 3,
}
"""One checkpoint takes 420 GB, three and the one being written 1680 GB."""


@pytest.mark.parametrize(
    ("free_GiB", "status", "words"),
    [
        (2000.0, "pass", ""),
        (1500.0, "warn", "3 kept checkpoints and the one being written take 1680 GB or more"),
        (300.0, "fail", "322 GB are free, one checkpoint takes 420 GB or more"),
        (0.0, "fail", "0 GB are free"),
    ],
)
def test_case_083_room_for_the_checkpoints_of_the_plan(
    free_GiB: float, status: str, words: str
) -> None:
    """A disk that cannot hold one checkpoint fails before the campaign does."""
    machine = spoiled(eight_h100(), {**MODEL, "host.disks.0.free_GiB": free_GiB})
    check = look("system.disk", machine)
    assert check.status == status and words in check.reason


def test_nodes_share_a_checkpoint_on_local_disks() -> None:
    """Each node writes its shards; a network disk takes them all."""
    facts = {**MODEL, "host.disks.0.free_GiB": 1500.0, "order.nodes": 2}
    assert look("system.disk", spoiled(eight_h100(), facts)).status == "pass"
    remote = {**facts, "host.disks.0.remote": True}
    assert look("system.disk", spoiled(eight_h100(), remote)).status == "warn"


def test_free_space_that_nobody_could_read() -> None:
    """Is an error that names the path, while the other disk is still measured."""
    lost = Absence(what="/data/checkpoints", reason="deadline")
    check = look("system.disk", spoiled(eight_h100(), {"host.disks.0.free_GiB": lost}))
    assert check.status == "error" and CHECKPOINT in check.reason
    assert [m.name for m in check.measurements] == ["free for temporary"]
    assert len(DISKS) == 2


def test_no_path_is_a_skip() -> None:
    """Where no path was looked at, nothing is claimed."""
    assert look("system.disk", spoiled(eight_h100(), {"host.disks": ()})).status == "skip"


def test_numa_balancing_stops_amd_cards() -> None:
    """A warning on AMD, a note elsewhere."""
    check = sole_alarm(eight_mi300x(), {"host.numa_balancing": True}, "system.numa")
    assert check.status == "warn" and "kernel.numa_balancing=0" in check.action
    check = look("system.numa", spoiled(eight_h100(), {"host.numa_balancing": True}))
    assert (check.status, check.reason) == ("pass", "2 NUMA nodes; balancing is on")


def test_nodes_without_cpus_are_normal() -> None:
    """Memory of the cards on Grace."""
    check = look("system.numa", four_gb200())
    assert check.status == "pass" and "34 NUMA nodes" in check.reason


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ({"host.virtual": "kvm"}, "virtual machine (kvm), in a container (docker)"),
        ({"host.virtual": "none", "host.container": "none"}, "bare metal"),
        (
            {"devices.product": "AMD Instinct MI300X VF", "host.container": "none"},
            "bare metal, gpu0, gpu1, gpu2, gpu3, gpu4, gpu5, gpu6, gpu7: virtual functions of "
            "shared cards (SR-IOV)",
        ),
    ],
)
def test_what_kind_of_machine_it_is(facts: dict[str, Any], reason: str) -> None:
    """It is a note; many clouds rent virtual machines."""
    check = look("system.virtual", spoiled(eight_mi300x(), facts))
    assert (check.status, check.reason) == ("pass", reason)
