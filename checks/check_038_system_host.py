"""Stage system: NUMA, virtual machines and the disks below the plan's paths."""

from __future__ import annotations

import pytest

from preflight.compat.checkpoint_size import least_checkpoint_GB
from preflight.facts import Disk, known
from preflight.harness import Result, Situation, Survey

GB_PER_GiB = 1024**3 / 1e9
LITTLE_GiB = 10.0
"""Room for compiled kernels, logs and core files; torch's own installation takes as much."""
OBJECT_STORES = ("s3fs", "gcsfuse", "goofys", "rclone", "mountpoint-s3", "blobfuse", "ossfs")
"""File systems over an object store: renaming is a copy there, so a torn write can replace a good
file (their own documentation, "limitations")."""
ON_A_NETWORK = ("nfs", "lustre", "cifs", "smb", "ceph", "gpfs", "beegfs", "9p", "fuse")
NUMA_ACTION = "switch it off: sysctl kernel.numa_balancing=0 (on the host, as root)"
NO_CPU_IS_NORMAL = "nodes without CPUs hold memory alone (Grace)"


@pytest.mark.check(id="system.numa", stage="system", deadline="10s")
def check_numa(situation: Situation, result: Result) -> None:
    """The kernel does not move memory between NUMA nodes under AMD cards."""
    survey = Survey.of_host(situation, result)
    host = situation.surroundings.host
    balancing = survey.ask_host("NUMA balancing", host.numa_balancing)
    amd = situation.has_cards and any(d.kind == "hip" for d in situation.inventory.devices)
    if balancing and amd:
        survey.warn(
            "",
            "NUMA balancing is on: it stops the cards while pages move (AMD Instinct system "
            "optimization; RCCL warns of it too)",
            NUMA_ACTION,
        )
    nodes = survey.ask_host("NUMA nodes", host.numa) or ()
    words = [f"{len(nodes)} NUMA nodes"] if nodes else []
    if any(not node.cpus for node in nodes):
        words.append(NO_CPU_IS_NORMAL)
    if balancing is not None:
        words.append(f"balancing is {'on' if balancing else 'off'}")
    survey.settle("; ".join(words))


@pytest.mark.check(id="system.virtual", stage="system", deadline="10s")
def check_virtual(situation: Situation, result: Result) -> None:
    """The machine is real, or it is known which virtual one it is."""
    survey = Survey.of_host(situation, result)
    host = situation.surroundings.host
    wsl = survey.ask_host("WSL", host.wsl)
    virtual = survey.ask_host("virtual machine", host.virtual)
    if wsl:
        survey.warn(
            "",
            "this is WSL: Windows owns the cards, pinned memory is limited and NCCL's direct paths "
            "are missing (CUDA on WSL user guide, known limitations)",
            "run the campaign on Linux; here only rehearse it",
        )
    words = [f"virtual machine ({virtual})" if virtual not in (None, "none") else "bare metal"]
    container = known(host.container)
    if container not in (None, "none"):
        words.append(f"in a container ({container})")
    functions = [d.name for d in situation.inventory.devices if d.product.endswith(" VF")]
    if functions and situation.has_cards:
        words.append(f"{', '.join(functions)}: virtual functions of shared cards (SR-IOV)")
    survey.settle(", ".join(words if virtual else words[1:]))


@pytest.mark.check(id="system.disk", stage="system", deadline="10s")
def check_disk(situation: Situation, result: Result) -> None:
    """The disks below the plan's paths can be written and have room."""
    survey = Survey.of_host(situation, result)
    disks = situation.surroundings.host.disks
    if not disks:
        result.skip("no path of the plan was looked at")
    words = []
    for disk in disks:
        where = f"{disk.purpose} path {disk.path}"
        if known(disk.read_only) and disk.purpose != "data":
            survey.fail(where, "its file system is read-only", "name another path in the plan")
        free_GiB = survey.ask_host(f"free space of {where}", disk.free_GiB)
        if free_GiB is not None:
            survey.measure(f"free for {disk.purpose}", free_GiB, "GiB")
            words.append(f"{disk.purpose} {free_GiB:.0f} GiB free")
            if disk.purpose != "data":
                _judge_room(survey, situation, disk, free_GiB)
        _judge_kind(survey, disk, where)
    survey.settle(", ".join(words))


def _judge_room(survey: Survey, situation: Situation, disk: Disk, free_GiB: float) -> None:
    """Compare the room with one checkpoint of the plan, with all it keeps, and with a little."""
    where = f"{disk.purpose} path {disk.path}"
    size_GB = _share_of_checkpoint_GB(situation, disk)
    if disk.purpose == "checkpoint" and size_GB is not None:
        free_GB, kept = free_GiB * GB_PER_GiB, (situation.plan.checkpoint.keep or 1) + 1
        survey.measure("least size of a checkpoint here", size_GB, "GB")
        if free_GB < size_GB:
            what = f"{free_GB:.0f} GB are free, one checkpoint takes {size_GB:.0f} GB or more"
            survey.fail(where, what, "name a path with more room in [checkpoint] of the plan")
            return
        if free_GB < kept * size_GB:
            what = (
                f"{free_GB:.0f} GB are free; {kept - 1} kept checkpoints and the one being written "
                f"take {kept * size_GB:.0f} GB or more"
            )
            survey.warn(where, what, "keep fewer, or name a path with more room in the plan")
            return
    if free_GiB < LITTLE_GiB:
        what = f"only {free_GiB:.1f} GiB are free"
        survey.warn(where, what, "free space there, or name another path (TMPDIR, --out, the plan)")


def _share_of_checkpoint_GB(situation: Situation, disk: Disk) -> float | None:
    """What one checkpoint puts on this disk: on a local one only this node's shards."""
    model = situation.plan.model
    size_GB = least_checkpoint_GB(model.parameters, dtype=model.dtype, optimizer=model.optimizer)
    if size_GB is None or known(disk.remote) is not False:
        return size_GB
    return size_GB / (situation.order.nodes or 1)


def _judge_kind(survey: Survey, disk: Disk, where: str) -> None:
    """Warn of file systems that do not do what a checkpoint or a cache of kernels needs."""
    kind = known(disk.filesystem) or ""
    if disk.purpose == "checkpoint" and any(store in kind for store in OBJECT_STORES):
        what = f"{kind} over an object store: a torn write can replace a good checkpoint"
        survey.warn(where, what, "write to a local or network disk, and copy to the store after")
    remote = known(disk.remote) or kind.startswith(ON_A_NETWORK)
    if disk.purpose == "temporary" and remote:
        survey.warn(
            where,
            f"{kind or 'a network disk'}: ranks race for compiled kernels over the network",
            "set TMPDIR, TRITON_CACHE_DIR and TORCHINDUCTOR_CACHE_DIR to a local disk",
        )
    if disk.purpose in ("checkpoint", "data") and known(disk.rotational):
        what = "a rotating disk: reading and writing are slow"
        survey.warn(where, what, "name a path on NVMe or a parallel file system in the plan")
