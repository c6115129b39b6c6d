"""Daemons, seen as processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from preflight.facts import Service
from preflight.hardware.files import THIS_MACHINE, Files
from preflight.hardware.services import NOT_SEEN, RUNNING, read_services

from .machines import machine, reason


def states(files: Files) -> dict[str, object]:
    """State by service."""
    found = read_services(files)
    assert isinstance(found, tuple)
    return {service.name: service.state for service in found}


def test_names_are_cut_by_the_kernel(tmp_path: Path) -> None:
    """The kernel keeps 15 characters of a name, and the service is known by them."""
    comms = {"/proc/1/comm": "systemd", "/proc/812/comm": "nv-fabricmanage"}
    found = states(machine(tmp_path, {**comms, "/proc/99/comm": "nvidia-persiste"}))
    assert found == {
        "nvidia-fabricmanager": RUNNING,
        "nvidia-persistenced": RUNNING,
        "nvidia-imex": NOT_SEEN,
        "dcgm": NOT_SEEN,
    }


def test_what_is_not_seen_is_not_called_stopped(tmp_path: Path) -> None:
    """In a container the host's daemons are out of sight."""
    found = read_services(machine(tmp_path, {"/proc/1/comm": "bash"}))
    assert isinstance(found, tuple)
    assert found[0] == Service(name="nvidia-fabricmanager", state="not seen")


@pytest.mark.parametrize("name", ["nvidia-imex-ctl", "my-nv-hostengine", "nv-fabric"])
def test_similar_names_are_others(tmp_path: Path, name: str) -> None:
    """A tool of the same family is no daemon."""
    assert set(states(machine(tmp_path, {"/proc/7/comm": name})).values()) == {NOT_SEEN}


def test_only_numbers_are_processes(tmp_path: Path) -> None:
    """``self`` and a process that ended meanwhile are passed over."""
    files = machine(
        tmp_path,
        {"/proc/self/comm": "nvidia-imex", "/proc/7/stat": "", "/proc/\u0663/comm": "nvidia-imex"},
    )
    assert states(files)["nvidia-imex"] == NOT_SEEN


def test_no_process_at_all(tmp_path: Path) -> None:
    """A folder without processes was not looked at."""
    assert reason(read_services(Files(tmp_path))) == "not found"
    assert reason(read_services(machine(tmp_path, {"/proc/uptime": "1 1"}))) == "not readable"


def test_a_real_process_is_seen() -> None:
    """A process that takes the name of a daemon is taken for it."""
    code = (
        "open('/proc/self/comm', 'w').write('nv-hostengine')\nprint('named', flush=True)\ninput()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "named\n"
        assert states(THIS_MACHINE)["dcgm"] == RUNNING
