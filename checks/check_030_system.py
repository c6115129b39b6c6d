"""Stage system: what of the host lets the later stages run."""

from __future__ import annotations

import pytest

from preflight.harness import CannotLook, Result, Situation, at_least

DOCKER_SHM_GiB = 0.0625
"""Docker's default for --shm-size is 64 MiB (docker run reference)."""
NCCL_SHM_PER_RANK_GiB = 0.0625
"""Room for the shared buffers of one rank. NCCL's documentation (troubleshooting, "Shared memory")
asks for --shm-size=1g with several ranks in a container, which is 64 MiB for each of 16."""
FILES_PER_RANK = 1024
"""The usual soft limit of a login; torch's data loaders and NCCL's sockets draw on it per rank."""


@pytest.mark.check(id="system.shm", stage="system", deadline="10s")
def check_shm(situation: Situation, result: Result) -> None:
    """/dev/shm has room for the ranks' shared buffers."""
    size_GiB = situation.inventory.host.shm_GiB
    if size_GiB is None:
        raise CannotLook("the size of /dev/shm cannot be read", action="mount a tmpfs there")
    cards = max(1, len(situation.inventory.devices))
    ranks = situation.options.ranks if situation.is_rehearsal else cards
    needed_GiB = max(DOCKER_SHM_GiB + 1e-3, ranks * NCCL_SHM_PER_RANK_GiB)
    result.measure("size of /dev/shm", size_GiB, "GiB")
    if size_GiB < needed_GiB:
        result.warn(
            f"/dev/shm has {size_GiB:.3g} GiB, {ranks} ranks want {needed_GiB:.2g} GiB",
            "start the container with --shm-size=1g or more, or with --ipc=host",
        )
    result.note(f"/dev/shm {size_GiB:.3g} GiB")


@pytest.mark.check(id="system.limits", stage="system", deadline="10s")
def check_limits(situation: Situation, result: Result) -> None:
    """The limit of open files lets data loaders and sockets work."""
    files = situation.inventory.host.open_files
    if files is None:
        raise CannotLook("the limit of open files cannot be read")
    if files == -1:
        result.note("open files without limit")
        return
    result.measure("open files", files, "1")
    if files < FILES_PER_RANK:
        result.warn(
            f"only {files} files may be open at once, {FILES_PER_RANK} are usual",
            "raise it: ulimit -n 65536, or nofile in the container's limits",
        )
    result.note(f"{files} open files")


@pytest.mark.check(id="system.memory", stage="system", deadline="10s")
def check_memory(situation: Situation, result: Result) -> None:
    """The host's memory and cores are known."""
    host = situation.inventory.host
    if host.memory_GiB is None or host.cores is None:
        raise CannotLook("memory or cores of the host cannot be read")
    result.measure("host memory", host.memory_GiB, "GiB")
    result.measure("cores", host.cores, "1", limit=at_least(1, "this process runs on one"))
    result.note(f"{host.memory_GiB:.0f} GiB, {host.cores} cores")
