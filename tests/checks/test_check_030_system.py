"""The judgement of the host's memory, shared memory and limits."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.harness import CannotLook
from preflight.harness.result import Result

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
        (0.0625, 1, "warn"),
        (0.07, 1, "pass"),
        (0.0625, 0, "warn"),
        (0.125, 2, "pass"),
        (0.0, 1, "warn"),
    ],
)
def test_shared_memory_is_wanted_by_every_rank(size_GiB: float, cards: int, status: str) -> None:
    """64 MiB a rank are wanted, and Docker's default of 64 MiB is too small for any."""
    result = shm(size_GiB, cards)
    assert result.status == status
    (size,) = result.measurements
    assert (size.value, size.unit) == (size_GiB, "GiB")


def test_small_shared_memory_says_how_to_enlarge_it() -> None:
    """The warning tells size, need, and the flag of the container."""
    result = shm(0.0625, 8)
    assert result.reason == "/dev/shm has 0.0625 GiB, 8 ranks want 0.5 GiB"
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
