"""Our own processes import our packages, whatever lies in the working folder."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import preflight
from preflight.harness.own_python import own_command

SHADOWS = ("json", "pytest", "msgspec", "signal", "typing", "queue", "random", "preflight")


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with modules named like those that we import."""
    for name in SHADOWS:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the user has one of that name')\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def where(module: str, *names: str) -> list[str]:
    """Files from which a process of ours takes ``names``."""
    command = own_command(module)
    environment = {**os.environ, "SHOW": ",".join(names)}
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, check=False, cwd=Path.cwd()
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_the_module_runs_with_our_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """``main`` of the module is called, and preflight is the one that runs here."""
    (found,) = where("faults.show_modules", "preflight")
    assert found == preflight.__file__


def test_the_working_folder_shadows_nothing(hostile: Path) -> None:
    """Modules of the standard library, of our dependencies and of ours are the real ones."""
    found = where("faults.show_modules", *SHADOWS)
    assert len(found) == len(SHADOWS)
    assert not [path for path in found if path.startswith(str(hostile))]


@pytest.mark.parametrize("entry", ["", ".", "HERE"])
def test_entries_for_the_working_folder_are_left_out(
    hostile: Path, monkeypatch: pytest.MonkeyPatch, entry: str
) -> None:
    """However the user's sys.path writes it."""
    monkeypatch.syspath_prepend(str(hostile) if entry == "HERE" else entry)
    found = where("faults.show_modules", "json", "preflight")
    assert not [path for path in found if path.startswith(str(hostile))]


def test_the_checkout_itself_may_be_the_working_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """A developer's editable install works from its own root."""
    monkeypatch.chdir(Path(preflight.__file__).parents[1])
    assert where("faults.show_modules", "preflight") == [preflight.__file__]


def test_the_interpreter_is_ours() -> None:
    """Never the one under test, never a ``python`` of the PATH."""
    assert own_command("preflight.harness.session")[0] == sys.executable
