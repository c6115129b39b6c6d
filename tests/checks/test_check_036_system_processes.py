"""The judgement of who else uses the cards."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.facts import Absence, Process

from .machines import eight_h100, eight_mi300x, look, one_rtx5090, sole_alarm, spoiled

HIDDEN = Absence(what="usedGpuMemory", reason="not supported")
FAULTS: list[tuple[dict[str, Any], str, str]] = [
    (
        {"gpu3.processes": (Process(pid=4711, name="/usr/bin/python3", memory_GiB=12.3),)},
        "fail",
        "gpu3: process 4711 (/usr/bin/python3) holds 12.3 GiB",
    ),
    (
        {"gpu3.processes": (Process(pid=4711, name=HIDDEN, memory_GiB=HIDDEN),)},
        "fail",
        "gpu3: process 4711 uses it",
    ),
    (
        {"gpu3.memory_used_GiB": 40.0},
        "fail",
        "gpu3: 40.0 GiB are in use and no process is to be seen",
    ),
    (
        {"gpu3.memory_used_GiB": 1.58},
        "warn",
        "gpu3: 1.6 GiB are in use, a neighbour holds 0.5",
    ),
]


@pytest.mark.parametrize(("facts", "status", "reason"), FAULTS)
def test_a_card_in_use(facts: dict[str, Any], status: str, reason: str) -> None:
    """Card, process and memory are named, with what to do."""
    check = sole_alarm(eight_h100(), facts, "system.processes")
    assert (check.status, check.reason) == (status, reason)
    assert check.action


def test_memory_of_a_visible_process_is_told_once() -> None:
    """Its memory is not that of somebody unseen as well."""
    process = Process(pid=4711, name="python3", memory_GiB=12.3)
    facts = {"gpu3.processes": (process,), "gpu3.memory_used_GiB": 13.0}
    check = look("system.processes", spoiled(eight_h100(), facts))
    assert check.reason == "gpu3: process 4711 (python3) holds 12.3 GiB"


def test_displays_and_monitors_do_no_work() -> None:
    """They stand in the note."""
    display = Process(pid=900, name="/usr/lib/xorg/Xorg", memory_GiB=0.2)
    facts = {"gpu0.processes": (display,), "gpu0.memory_used_GiB": 1.4}
    check = look("system.processes", spoiled(one_rtx5090(), facts))
    assert check.status == "pass" and "Xorg" in check.reason


def test_a_desktop_without_visible_process_is_a_warning() -> None:
    """A monitor draws on it, and its processes are out of sight of a container."""
    check = look("system.processes", spoiled(one_rtx5090(), {"gpu0.memory_used_GiB": 2.0}))
    assert check.status == "warn"


def test_case_014_memory_in_use_under_wsl() -> None:
    """Windows holds 40 GiB of the card: a warning, for its processes are never to be seen."""
    facts = {"host.wsl": True, "cards.memory_used_GiB": 41.0}
    assert look("system.processes", spoiled(eight_h100(), facts)).status == "warn"


@pytest.mark.parametrize(("used_GiB", "status"), [(1.59, "pass"), (1.6, "fail")])
def test_drivers_hold_a_little_themselves(used_GiB: float, status: str) -> None:
    """Up to 2% of a card, on all of them alike."""
    facts = {"cards.memory_used_GiB": used_GiB, "devices.memory_GiB": 79.65}
    assert look("system.processes", spoiled(eight_h100(), facts)).status == status


def test_shared_memory_is_the_hosts() -> None:
    """What is in use of it says nothing of the card."""
    names = {"devices.product": "NVIDIA GB10", "devices.architecture": "sm_121"}
    names["cards.pci_id"] = "10de:2e12"
    facts = {**names, "devices.memory_GiB": 119.6, "cards.memory_used_GiB": 30.0}
    assert look("system.processes", spoiled(one_rtx5090(), facts)).status == "pass"


def test_case_072_another_job_on_the_node() -> None:
    """A second job on cards of this run is a failure that names it."""
    job = Process(pid=88, name="rccl-tests", memory_GiB=30.0)
    facts = {f"gpu{i}.processes": (job,) for i in range(4)}
    check = look("system.processes", spoiled(eight_mi300x(), facts))
    assert check.status == "fail"
    assert check.reason == "gpu0, gpu1, gpu2, gpu3: process 88 (rccl-tests) holds 30.0 GiB"
