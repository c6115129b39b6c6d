"""The script for a machine with a real accelerator, where there is none."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from preflight.cli import program

SCRIPT = Path(__file__).with_name("run.sh")
NO_TIME_S = 15
"""Enough to collect, too little for a run."""

pytestmark = [
    pytest.mark.skipif(shutil.which("bash") is None, reason="the script is one of bash"),
    pytest.mark.skipif(
        any(map(os.path.exists, ("/dev/nvidiactl", "/dev/kfd")))
        or bool(shutil.which("nvidia-smi")),
        reason="there is an accelerator here",
    ),
]


def run(folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """The script with this interpreter, its output below ``folder``."""
    own = {n: v for n, v in os.environ.items() if not n.startswith(("PREFLIGHT_", "PYTEST_"))}
    return subprocess.run(
        ["bash", str(SCRIPT)],
        env={**own, "OUT": str(folder / "out"), "PYTHON": sys.executable, **variables},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )


def ends(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Step to how it ended, by the summary."""
    found = re.findall(r"^(\S+\.(?:txt|xml|json)) +(.+), \d+ s$", done.stdout, re.MULTILINE)
    return dict(found)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    """An interpreter that has nothing, not even pip: with it little is done in little time."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    return str(folder / "bin" / "python")


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """A folder that stands first on the PATH."""
    folder = tmp_path / "programs"
    folder.mkdir()
    return folder


def write_program(folder: Path, name: str, lines: str) -> None:
    """A program of the shell."""
    path = folder / name
    path.write_text(f"#!/bin/sh\n{lines}\n")
    path.chmod(0o755)


@pytest.mark.long
def test_without_an_accelerator_it_ends_well_and_says_so(tmp_path: Path) -> None:
    """Two runs that find the machine unfit are steps that ran; the records are below OUT."""
    done = run(tmp_path, LIMIT_S="200", STAGES="order,driver")
    assert (
        "no accelerator: there is no nvidia-smi, no /dev/nvidiactl and no /dev/kfd" in done.stdout
    )
    found = ends(done)
    assert found["run-quick.txt"] == found["run-standard.txt"] == "ran, exit code 1"
    assert len(list((tmp_path / "out").glob("runs/*/*/record.json"))) == 2
    assert (tmp_path / "out" / "summary.txt").read_text() == done.stdout
    knows_inspect = "inspect" in program.commands
    assert done.returncode == (0 if knows_inspect else 1), done.stdout + done.stderr


def test_nothing_but_its_folder_is_written(tmp_path: Path, bare: str) -> None:
    """No file stays in the folder that it is started from, nor in the one for temporary files."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    run(tmp_path, PYTHON=bare, LIMIT_S=str(NO_TIME_S), TMPDIR=str(temporary))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "temporary"]
    assert list(temporary.iterdir()) == []


def test_what_the_tools_say_is_kept_raw(tmp_path: Path, programs: Path, bare: str) -> None:
    """Each answer has its file; a tool that refuses has run, and its words are kept too."""
    write_program(
        programs,
        "nvidia-smi",
        'case "$*" in\n"-q") echo "Product Name : NVIDIA H200";;\n'
        '"-q -x") echo "<gpu/>";;\n*) echo refused >&2; exit 9;;\nesac',
    )
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    done = run(tmp_path, PYTHON=bare, LIMIT_S=str(NO_TIME_S), PATH=path)
    out, found = tmp_path / "out", ends(done)
    assert (out / "nvidia-smi-q.txt").read_text() == "Product Name : NVIDIA H200\n"
    assert (out / "nvidia-smi-q.xml").read_text() == "<gpu/>\n"
    assert found["nvidia-smi-topo.txt"] == "ran, exit code 9"
    assert (out / "nvidia-smi-topo.txt.err").read_text() == "refused\n"
    assert found["nvml.json"] == "could not be run, exit code 1"
    assert "no accelerator" not in done.stdout
    assert done.returncode == 1


def test_a_tool_that_hangs_costs_its_time_alone(tmp_path: Path, programs: Path, bare: str) -> None:
    """What is left of the time bounds each step, what has none left is named, and the script ends
    with 1."""
    write_program(programs, "nvidia-smi", "exec sleep 600")
    path = f"{programs}{os.pathsep}{os.environ['PATH']}"
    done = run(tmp_path, PYTHON=bare, LIMIT_S="6", PATH=path)
    assert re.search(r"nvidia-smi-q\.txt +did not end within \d+ s, exit code 124", done.stdout)
    assert re.search(r"inspect\.txt +not run: no time is left", done.stdout)
    assert "run-quick: not run, no time is left" in done.stdout
    assert done.returncode == 1


def test_what_is_missing_is_named(tmp_path: Path, bare: str) -> None:
    """An interpreter without anything, and no wheels: the names of the distributions are told."""
    done = run(tmp_path, PYTHON=bare, LIMIT_S="1", PYTHONPATH="")
    assert re.search(r"missing in \S+: .*\bmsgspec\b.*\btorch\b", done.stdout)
    assert "preflight runs from the tree" in done.stdout
    assert done.returncode == 1


def test_without_an_interpreter_nothing_is_started(tmp_path: Path) -> None:
    """Exit code 2, and what to do."""
    done = run(tmp_path, PYTHON="no-such-python")
    assert done.returncode == 2
    assert "name an interpreter with PYTHON" in done.stderr
