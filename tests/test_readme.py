"""What README.md promises is what the program does."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from preflight.harness.listing import list_checks
from preflight.stages import STAGE_NAMES

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _block(language: str, containing: str) -> str:
    blocks = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    return next(block for block in blocks if containing in block)


def test_the_two_commands_stand_first() -> None:
    """The first code block is make run and make test."""
    first = re.search(r"```console\n(.*?)```", README, re.DOTALL)
    assert first is not None
    assert [line.split("#")[0].strip() for line in first[1].splitlines()] == [
        "make run",
        "make test",
    ]


def test_the_check_of_the_readme_keeps_the_contract(tmp_path: Path) -> None:
    """The example of a user's own check is accepted, with its title and deadline."""
    (tmp_path / "check_dataset.py").write_text(_block("python", "pytest.mark.check"))
    (spec,) = list_checks([tmp_path])
    assert (spec.id, spec.title, spec.deadline_s) == (
        "system.dataset_disk",
        "The dataset's disk has 500 GB free",
        10.0,
    )


def test_a_mistake_in_a_plan_is_answered_as_shown(tmp_path: Path) -> None:
    """The program prints the very lines that README.md shows for a key misspelt, and ends in 2."""
    command, _, answer = _block("console", "order.gpsu").partition("\n")
    (tmp_path / "plan.toml").write_text('[order]\ngpu = "B200"\ngpsu = 2\n')
    words = shlex.split(command.removeprefix("$ preflight "))
    done = subprocess.run(
        [sys.executable, "-m", "preflight", *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.stdout, done.returncode) == (answer, "", 2)


@pytest.mark.parametrize("name", ["inspect", "audit", "explain"])
def test_the_help_of_a_command_is_as_shown(name: str) -> None:
    """The help in README.md is what the program prints on 100 columns."""
    command, _, answer = _block("console", f"preflight {name} --help").partition("\n")
    words = shlex.split(command.removeprefix("$ preflight "))
    done = subprocess.run(
        [sys.executable, "-m", "preflight", *words],
        env={**os.environ, "COLUMNS": "100"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.stdout, done.returncode) == ("", answer, 0)


def test_every_stage_is_in_the_table() -> None:
    """The table of the path names each stage that runs, in order."""
    table = README.partition("## The path")[2].partition("## The plan")[0]
    named = re.findall(r"^\| (\w+) \|", table, re.MULTILINE)
    assert [name for name in named if name != "stage"] == [s for s in STAGE_NAMES if s != "soak"]


@pytest.mark.parametrize("path", ["examples/plan-2xb200.toml", "CONTRIBUTING.md"])
def test_the_files_it_names_exist(path: str) -> None:
    """A file that README.md sends a reader to is there."""
    assert path in README
    assert (ROOT / path).is_file()
