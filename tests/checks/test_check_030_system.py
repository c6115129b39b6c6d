"""The judgement of the host's memory, shared memory and limits."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.facts import Absence, KernelEvent
from preflight.harness import CannotLook
from preflight.harness.result import Result

from .machines import HEALTHY, eight_h100, look, sole_alarm, spoiled
from .situations import card, judged, load, rehearsal, situation

system = load("check_030_system.py")


def shm(size_GiB: float | None, cards: int = 2) -> Result:
    """The judgement of a /dev/shm of this size."""
    devices = tuple(card(i) for i in range(cards))
    return judged(system.check_shm, situation(devices=devices, host={"shm_GiB": size_GiB}))


@pytest.mark.parametrize(
    ("size_GiB", "cards", "status"),
    [
        (64.0, 8, "pass"),
        (0.5, 8, "pass"),
        (0.499, 8, "warn"),
        (0.0625, 8, "fail"),
        (0.0625, 1, "warn"),
        (0.07, 1, "pass"),
        (0.0625, 0, "warn"),
        (0.125, 2, "pass"),
        (0.0, 1, "warn"),
    ],
)
def test_shared_memory_is_wanted_by_every_rank(size_GiB: float, cards: int, status: str) -> None:
    """64 MiB a rank are wanted; Docker's 64 MiB are too little for one, and fail several."""
    result = shm(size_GiB, cards)
    assert result.status == status
    (size,) = result.measurements
    assert (size.value, size.unit) == (size_GiB, "GiB")


def test_small_shared_memory_says_how_to_enlarge_it() -> None:
    """The warning tells size, need, and the flag of the container."""
    result = shm(0.125, 8)
    assert result.reason == "/dev/shm has 0.125 GiB, 8 ranks want 0.5 GiB"
    assert "--shm-size" in result.action


def test_a_rehearsal_counts_its_ranks() -> None:
    """The ranks of a rehearsal want shared memory too."""
    machine = rehearsal(host={"shm_GiB": 0.2})
    assert judged(system.check_shm, machine).status == "pass"
    small = rehearsal(host={"shm_GiB": 0.1})
    assert judged(system.check_shm, small).status == "warn"


@pytest.mark.parametrize(
    ("check", "host"),
    [
        ("check_shm", {"shm_GiB": None}),
        ("check_limits", {"open_files": None}),
        ("check_memory", {"memory_GiB": None}),
        ("check_memory", {"cores": None}),
    ],
)
def test_what_cannot_be_read_is_an_error(check: str, host: dict[str, Any]) -> None:
    """A fact of the host that is unknown could not be looked at; it is no pass and no zero."""
    with pytest.raises(CannotLook, match="cannot be read"):
        judged(getattr(system, check), situation(host=host))


@pytest.mark.parametrize(
    ("files", "status", "words"),
    [
        (-1, "pass", "without limit"),
        (1048576, "pass", "1048576 open files"),
        (1024, "pass", "1024 open files"),
        (1023, "warn", "only 1023 files"),
        (0, "warn", "only 0 files"),
    ],
)
def test_the_limit_of_open_files(files: int, status: str, words: str) -> None:
    """Fewer than 1024 open files is a warning, no limit is a pass."""
    result = judged(system.check_limits, situation(host={"open_files": files}))
    assert result.status == status and words in result.reason


def test_few_open_files_say_how_to_raise_them() -> None:
    """The warning names the command."""
    result = judged(system.check_limits, situation(host={"open_files": 256}))
    assert "ulimit -n" in result.action


def test_memory_and_cores_are_measured() -> None:
    """Both stand in the record with their units."""
    result = judged(system.check_memory, situation())
    assert (result.status, result.reason) == ("pass", "1511 GiB, 192 cores")
    assert [(m.name, m.value, m.unit) for m in result.measurements] == [
        ("host memory", 1511.4, "GiB"),
        ("cores", 192, "1"),
    ]


def test_case_061_eight_cards_with_dockers_shared_memory() -> None:
    """NCCL cannot create its segments: a failure before torch starts, with the flag to mend it."""
    facts = {"record.shm_GiB": 0.0625, "host.shm_free_GiB": 0.0625}
    check = sole_alarm(eight_h100(), facts, "system.shm")
    assert check.status == "fail" and "--shm-size" in check.action


def test_shared_memory_that_is_full() -> None:
    """What ended programs have left there takes the ranks' room."""
    check = sole_alarm(eight_h100(), {"host.shm_free_GiB": 0.1}, "system.shm")
    assert check.status == "warn"
    assert check.reason.startswith("/dev/shm is nearly full: 0.1 of 64 GiB are free")


def test_gloo_needs_no_shared_memory() -> None:
    """A rehearsal with Docker's default is warned, not failed."""
    machine = spoiled(HEALTHY["rehearsal"](), {"record.shm_GiB": 0.0625})
    assert look("system.shm", machine).status == "warn"


def test_a_hard_limit_of_open_files_is_the_containers() -> None:
    """What the user cannot raise alone is said."""
    facts = {"record.open_files": 512, "host.open_files_hard": 512}
    check = sole_alarm(eight_h100(), facts, "system.limits")
    assert "--ulimit nofile" in check.action


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (
            {"host.cgroup.memory_limit_GiB": 512.0},
            "512 GiB of memory are allowed, and the cards hold 637 GiB",
        ),
        (
            {"host.cgroup.processes": 1024},
            "only 1024 processes and threads are allowed, 8 ranks may need 2048",
        ),
        (
            {"host.cgroup.cpus": 4.0},
            "the time of 4 CPUs is less than one for each of 8 ranks",
        ),
    ],
)
def test_a_control_group_that_is_too_tight(facts: dict[str, Any], reason: str) -> None:
    """It is a warning that names limit and need."""
    check = sole_alarm(eight_h100(), facts, "system.cgroup")
    assert check.status == "warn" and check.reason.startswith(reason)
    assert "start the container" in check.action


def test_a_control_group_with_room() -> None:
    """Its limits stand in the note and in the record."""
    facts = {
        "host.cgroup.memory_limit_GiB": 1024.0,
        "host.cgroup.processes": 2048,
        "host.cgroup.cpus": 64.0,
    }
    check = look("system.cgroup", spoiled(eight_h100(), facts))
    assert (check.status, check.reason) == ("pass", "1024 GiB, 64 CPUs")
    assert {m.name for m in check.measurements} == {
        "limit of memory",
        "limit of processes",
        "CPU time",
    }


@pytest.mark.parametrize(("reason", "status"), [("not found", "skip"), ("failed", "error")])
def test_a_control_group_that_is_not_to_be_seen(reason: str, status: str) -> None:
    """No control group is a skip; one that cannot be read is an error."""
    absence = Absence(what="/proc/self/cgroup", reason=reason)
    facts = {f"host.cgroup.{n}": absence for n in ("version", "memory_limit_GiB", "cpus")}
    assert look("system.cgroup", spoiled(eight_h100(), facts)).status == status


def test_what_the_kernel_has_killed_for_memory_is_a_note() -> None:
    """It may have been another tenant's program."""
    event = KernelEvent(kind="memory", text="Out of memory: Killed process", count=2, age_s=60.0)
    check = look("system.memory", spoiled(eight_h100(), {"host.kernel_log": (event,)}))
    assert check.status == "pass"
    assert "the kernel has killed for memory 2 times, last 1 min 0 s ago" in check.reason


def test_fewer_cores_than_the_machine_has() -> None:
    """The note says how many others there are."""
    check = look("system.memory", spoiled(eight_h100(), {"record.cores": 16}))
    assert check.reason == "1511 GiB, 16 cores of 192 that are online"


@pytest.mark.parametrize(
    "facts",
    [
        {"host.cgroup.cpus": 8.0},
        {"host.cgroup.memory_limit_GiB": 8 * 79.65},
        {"host.shm_free_GiB": 0.5},
        {"record.shm_GiB": 0.5, "host.shm_free_GiB": 0.5},
    ],
)
def test_just_enough_is_enough(facts: dict[str, Any]) -> None:
    """A limit that is exactly what the ranks want is no alarm."""
    told = spoiled(eight_h100(), facts)
    assert look("system.cgroup", told).status == look("system.shm", told).status == "pass"


def test_small_shared_memory_is_told_once() -> None:
    """One that is too small is not told to be full as well."""
    facts = {"record.shm_GiB": 0.25, "host.shm_free_GiB": 0.2}
    check = look("system.shm", spoiled(eight_h100(), facts))
    assert check.reason == "/dev/shm has 0.25 GiB, 8 ranks want 0.5 GiB"
