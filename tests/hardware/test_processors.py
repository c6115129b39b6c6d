"""CPUs, from captured files and from this machine."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from preflight.hardware.files import THIS_MACHINE, Files
from preflight.hardware.processors import (
    architecture,
    count_cpus,
    cpu_name,
    cpus_allowed,
    cpus_online,
    sockets,
)

from .machines import MALFORMED, machine, reason

CPU = "/sys/devices/system/cpu"


def test_the_first_name_counts(tmp_path: Path) -> None:
    """Every CPU has a line; the first one is told without blanks at its ends."""
    text = "processor\t: 0\nmodel name\t: AMD EPYC 9654 \nmodel name\t: another\n"
    assert cpu_name(machine(tmp_path, {"/proc/cpuinfo": text})) == "AMD EPYC 9654"


def test_an_arm_machine_names_no_model(tmp_path: Path) -> None:
    """cpuinfo without a model name, or with an empty one, gives None."""
    text = "processor\t: 0\nBogoMIPS\t: 2000.00\nmodel name\t:\n"
    assert cpu_name(machine(tmp_path, {"/proc/cpuinfo": text})) is None


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("0", 1),
        ("0-3", 4),
        ("0-47,96-143", 96),
        ("0-1,4,6-7\n", 5),
        ("", 0),
        ("3-1", 0),
        ("0-", None),
        ("a-b", None),
        ("0;1", None),
        ("0-99999999999999", None),
    ],
)
def test_a_list_of_cpus(text: str, count: int | None) -> None:
    """Ranges and numbers add up; what is no list is not guessed at."""
    assert count_cpus(text) == count


def test_counts_of_a_machine(tmp_path: Path) -> None:
    """Online, allowed and the packages come from three files."""
    files = machine(
        tmp_path,
        {
            f"{CPU}/online": "0-7",
            "/proc/self/status": "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-1,4",
            **{f"{CPU}/cpu{n}/topology/physical_package_id": n // 4 for n in range(8)},
            f"{CPU}/cpufreq/x": "1",
        },
    )
    assert (cpus_online(files), cpus_allowed(files), sockets(files)) == (8, 3, 2)


def test_cpus_are_counted_in_cpuinfo_where_sysfs_is_hidden(tmp_path: Path) -> None:
    """A sandbox may show /proc alone."""
    text = "processor\t: 0\n\nprocessor\t: 1\n"
    assert cpus_online(machine(tmp_path, {"/proc/cpuinfo": text})) == 2


def test_a_machine_that_numbers_no_package(tmp_path: Path) -> None:
    """Virtual machines of Arm tell -1, which is no socket."""
    files = machine(tmp_path, {f"{CPU}/cpu0/topology/physical_package_id": -1})
    assert reason(sockets(files)) == "not supported"


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_files_are_absences(tmp_path: Path, text: str) -> None:
    """No count is made up, and nothing is raised."""
    files = machine(
        tmp_path,
        {
            f"{CPU}/online": f"x{text}",
            f"{CPU}/cpu0/topology/physical_package_id": f"x{text}",
            "/proc/self/status": f"Cpus_allowed_list: x{text}",
            "/proc/cpuinfo": text,
        },
    )
    for count in (cpus_online(files), cpus_allowed(files), sockets(files)):
        assert reason(count) in ("not readable", "not supported")
    assert cpu_name(files) is None


def test_another_machine_borrows_nothing_of_this_one(tmp_path: Path) -> None:
    """Without files a machine has no counts, no name and no architecture."""
    files = Files(tmp_path)
    assert [reason(f(files)) for f in (cpus_online, cpus_allowed, sockets)] == ["not found"] * 3
    assert (cpu_name(files), architecture(files)) == (None, None)


def test_this_machine() -> None:
    """The numbers are those that the interpreter knows by other means."""
    assert cpus_allowed(THIS_MACHINE) == len(os.sched_getaffinity(0))
    assert cpus_online(THIS_MACHINE) == os.sysconf("SC_NPROCESSORS_ONLN")
    assert architecture(THIS_MACHINE) == platform.machine()


def test_an_affinity_is_followed() -> None:
    """A process that may run on one CPU alone says so."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, [min(before)])
    try:
        assert cpus_allowed(THIS_MACHINE) == 1
    finally:
        os.sched_setaffinity(0, before)


def test_the_architecture_is_that_of_the_kernel(tmp_path: Path) -> None:
    """Another machine's kernel names its own."""
    files = machine(tmp_path, {"/proc/sys/kernel/arch": "aarch64"})
    assert architecture(files) == "aarch64"
