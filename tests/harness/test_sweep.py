"""What is left of a run is found by its environment, and ended."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults.runs import is_alive, wait_until

from preflight.harness.sweep import RUN_VARIABLE, survivors, sweep

SLEEP = "import time; time.sleep(600)"


@pytest.fixture
def started() -> Iterator[list[int]]:
    """Ids of processes of the test."""
    pids: list[int] = []
    yield pids
    for pid in pids:
        os.kill(pid, 9)
        os.waitpid(pid, 0)


def sleeper(folder: Path | str) -> subprocess.Popen[bytes]:
    """A process of the run in ``folder``, in a session of its own."""
    environment = {**os.environ, RUN_VARIABLE: str(folder)}
    process = subprocess.Popen(
        [sys.executable, "-c", SLEEP], env=environment, start_new_session=True
    )
    wait_until(lambda: process.pid in survivors(Path(folder)), "the environment of the process")
    return process


def test_processes_of_the_run_are_found_and_killed(tmp_path: Path) -> None:
    """Each one that carries the folder, whatever its session; afterwards none is left."""
    first, second = sleeper(tmp_path), sleeper(tmp_path)
    pids = tuple(sorted((first.pid, second.pid)))
    assert survivors(tmp_path) == pids
    assert sweep(tmp_path) == pids
    assert [first.wait(), second.wait()] == [-9, -9]
    assert survivors(tmp_path) == ()
    assert sweep(tmp_path) == ()


def test_another_run_is_left_alone(tmp_path: Path) -> None:
    """A folder whose name begins with ours is another run."""
    mine, other = sleeper(tmp_path / "run"), sleeper(tmp_path / "run-2")
    try:
        assert survivors(tmp_path / "run") == (mine.pid,)
        sweep(tmp_path / "run")
        mine.wait()
        assert is_alive(other.pid)
    finally:
        other.kill()
        other.wait()


def test_this_process_is_never_found(tmp_path: Path) -> None:
    """The one that sweeps does not end itself, though it carries the folder too."""
    environment = {**os.environ, RUN_VARIABLE: str(tmp_path)}
    code = (
        "from pathlib import Path; from preflight.harness.sweep import sweep; "
        f"print(sweep(Path({str(tmp_path)!r})))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True
    )
    assert done.stdout == b"()\n"


def test_a_stopped_process_is_ended(tmp_path: Path) -> None:
    """SIGSTOP does not save it."""
    process = sleeper(tmp_path)
    process.send_signal(19)
    sweep(tmp_path)
    assert process.wait() == -9


def test_a_run_is_found_through_a_link_to_its_folder(tmp_path: Path) -> None:
    """The folder may be named by another path than the one it was made by."""
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    process = sleeper(tmp_path / "link")
    try:
        assert survivors(tmp_path / "real") == (process.pid,)
    finally:
        process.kill()
        process.wait()


def test_without_a_proc_nothing_is_found(tmp_path: Path) -> None:
    """Elsewhere than on Linux the answer is empty, never an error."""
    assert survivors(tmp_path, proc=tmp_path / "proc") == ()


def test_processes_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    """Those of other users, and those that end while they are listed."""
    mine = tmp_path / "12"
    mine.mkdir()
    (mine / "environ").write_bytes(b"A=1\0" + f"{RUN_VARIABLE}={tmp_path}".encode() + b"\0B=2")
    (tmp_path / "13").mkdir()
    (tmp_path / "self").mkdir()
    assert survivors(tmp_path, proc=tmp_path) == (12,)
