"""Stage system: shared memory, memory, limits and control group of the host."""

from __future__ import annotations

import pytest

from preflight.facts import Absence, KernelEvent, known
from preflight.harness import CannotLook, Result, Situation, Survey, at_least
from preflight.quantities import format_duration

DOCKER_SHM_GiB = 0.0625
"""Docker's default for --shm-size is 64 MiB (docker run reference)."""
NCCL_SHM_PER_RANK_GiB = 0.0625
"""Room for the shared buffers of one rank. NCCL's documentation (troubleshooting, "Shared memory")
asks for --shm-size=1g with several ranks in a container, which is 64 MiB for each of 16."""
FILES_PER_RANK = 1024
"""The usual soft limit of a login; torch's data loaders and NCCL's sockets draw on it per rank."""
PROCESSES_PER_RANK = 256
"""Threads count too: those of torch (one a core it may use), of NCCL, and of the data loaders; the
least default of a container runtime, Podman's 2048, is that for 8 ranks."""
SHM_ACTION = "start the container with --shm-size=1g or more, or with --ipc=host"


@pytest.mark.check(id="system.shm", stage="system", deadline="10s")
def check_shm(situation: Situation, result: Result) -> None:
    """/dev/shm has room for the ranks' shared buffers."""
    size_GiB = situation.inventory.host.shm_GiB
    if size_GiB is None:
        raise CannotLook("the size of /dev/shm cannot be read", action="mount a tmpfs there")
    ranks = _ranks(situation)
    needed_GiB = max(DOCKER_SHM_GiB + 1e-3, ranks * NCCL_SHM_PER_RANK_GiB)
    result.measure("size of /dev/shm", size_GiB, "GiB")
    if size_GiB < needed_GiB:
        reason = f"/dev/shm has {size_GiB:.3g} GiB, {ranks} ranks want {needed_GiB:.2g} GiB"
        # NCCL fails outright with Docker's default and several cards; Gloo has no use for it.
        hopeless = size_GiB <= DOCKER_SHM_GiB and ranks > 1 and situation.has_cards
        tell = result.fail if hopeless else result.warn
        tell(reason, SHM_ACTION)
    machine = situation.inventory.machine
    free_GiB = known(machine.host.shm_free_GiB) if machine else None
    if free_GiB is not None:
        result.measure("free in /dev/shm", free_GiB, "GiB")
        if free_GiB < needed_GiB <= size_GiB:
            result.warn(
                f"/dev/shm is nearly full: {free_GiB:.3g} of {size_GiB:.3g} GiB are free, "
                f"{ranks} ranks want {needed_GiB:.2g} GiB",
                "remove what ended programs have left there (ls -l /dev/shm)",
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
    machine = situation.inventory.machine
    hard = known(machine.host.open_files_hard) if machine else None
    if files < FILES_PER_RANK:
        mend = "raise it: ulimit -n 65536, or nofile in the container's limits"
        if hard is not None and 0 <= hard < FILES_PER_RANK:
            mend = f"the hard limit is {hard}: start the container with --ulimit nofile=65536"
        result.warn(f"only {files} files may be open at once, {FILES_PER_RANK} are usual", mend)
    result.note(f"{files} open files")


@pytest.mark.check(id="system.memory", stage="system", deadline="10s")
def check_memory(situation: Situation, result: Result) -> None:
    """The host's memory and cores are known."""
    host = situation.inventory.host
    if host.memory_GiB is None or host.cores is None:
        raise CannotLook("memory or cores of the host cannot be read")
    result.measure("host memory", host.memory_GiB, "GiB")
    result.measure("cores", host.cores, "1", limit=at_least(1, "this process runs on one"))
    words = [f"{host.memory_GiB:.0f} GiB, {host.cores} cores"]
    if machine := situation.inventory.machine:
        free_GiB = known(machine.host.memory_available_GiB)
        if free_GiB is not None:
            result.measure("available memory", free_GiB, "GiB")
        online = known(machine.host.cpus_online)
        if online is not None and online > host.cores:
            words[0] += f" of {online} that are online"
        log = machine.host.kernel_log
        words += [_killed(e) for e in known(log) or () if e.kind == "memory"]
    result.note("; ".join(words))


@pytest.mark.check(id="system.cgroup", stage="system", deadline="10s")
def check_cgroup(situation: Situation, result: Result) -> None:
    """The control group of this process leaves room for the ranks."""
    survey = Survey.of_host(situation, result)
    cgroup = situation.surroundings.host.cgroup
    survey.ask_host("control group", cgroup.version)
    ranks = _ranks(situation)
    words = [_judged_memory(survey, situation, cgroup.memory_limit_GiB)]
    processes = survey.read("limit of processes", cgroup.processes)
    if processes is not None:
        survey.measure("limit of processes", processes, "1")
        if processes < ranks * PROCESSES_PER_RANK:
            survey.warn(
                "",
                f"only {processes} processes and threads are allowed, {ranks} ranks may need "
                f"{ranks * PROCESSES_PER_RANK}",
                "start the container with --pids-limit=-1",
            )
    cpus = survey.read("limit of CPU time", cgroup.cpus)
    if cpus is not None:
        words.append(f"{cpus:g} CPUs")
        survey.measure("CPU time", cpus, "1")
        if cpus < ranks:
            survey.warn(
                "",
                f"the time of {cpus:g} CPUs is less than one for each of {ranks} ranks",
                "start the container with more --cpus, or without that limit",
            )
    survey.settle(", ".join(filter(None, words)) or "no limit")


def _judged_memory(survey: Survey, situation: Situation, fact: float | Absence | None) -> str:
    """The limit of memory in words; warns where it is less than the cards hold together."""
    limit_GiB = survey.read("limit of memory", fact)
    if limit_GiB is None:
        return ""
    survey.measure("limit of memory", limit_GiB, "GiB")
    cards = situation.inventory.devices if situation.has_cards else ()
    total_GiB = sum(device.memory_GiB or 0.0 for device in cards)
    if limit_GiB < total_GiB:
        survey.warn(
            "",
            f"{limit_GiB:.0f} GiB of memory are allowed, and the cards hold {total_GiB:.0f} GiB: "
            "a state that is gathered or offloaded in host memory does not fit",
            "start the container with more --memory, or keep checkpoints sharded",
        )
    return f"{limit_GiB:.0f} GiB"


def _ranks(situation: Situation) -> int:
    """Ranks of this node: one a card, or those of the rehearsal."""
    if not situation.has_cards:
        return situation.options.ranks
    return max(1, len(situation.inventory.devices))


def _killed(event: KernelEvent) -> str:
    ago = "" if event.age_s is None else f", last {format_duration(event.age_s)} ago"
    return f"the kernel has killed for memory {event.count} times{ago}"
