"""What an interpreter says of its folders."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

import pytest

from preflight.auditing.interpreter import ask_interpreter
from preflight.errors import UsageError


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment without pip, with a .pth file that would leave a trace."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    site = folder / "lib" / version / "site-packages"
    (site / "trace.pth").write_text(
        f"import pathlib; pathlib.Path({str(folder)!r}, 'ran').touch()\n"
    )
    return folder


def test_it_is_asked_without_running_anything_of_its_packages(environment: Path) -> None:
    """A .pth file of the environment, which site would run, is not run."""
    told = ask_interpreter(str(environment / "bin" / "python"))
    assert not (environment / "ran").exists()
    assert told.version == f"{sys.version_info[0]}.{sys.version_info[1]}"


def test_the_folders_are_those_of_a_real_start(environment: Path) -> None:
    """A virtual environment has its own site, and no user site."""
    python = str(environment / "bin" / "python")
    code = "import site, sys; print(site.getsitepackages(), site.ENABLE_USER_SITE, sys.prefix)"
    real = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    told = ask_interpreter(python)
    assert f"{list(told.sites)} False {told.prefix}\n" == real.stdout
    assert told.user is None


def test_an_environment_that_sees_the_systems_packages(tmp_path: Path) -> None:
    """With --system-site-packages the sites of its base come after its own, and the user site."""
    folder = tmp_path / "venv"
    venv.create(folder, with_pip=False, symlinks=True, system_site_packages=True)
    told = ask_interpreter(str(folder / "bin" / "python"))
    assert told.sites[0].startswith(str(folder))
    assert len(told.sites) > 1


def test_pythonpath_is_heeded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It decides what import finds, so it is part of the answer."""
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert str(tmp_path) in ask_interpreter(sys.executable).search


def test_the_user_site_can_be_switched_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """PYTHONNOUSERSITE holds here as it does for a real start."""
    folder = tmp_path / "venv"
    venv.create(folder, with_pip=False, symlinks=True, system_site_packages=True)
    monkeypatch.setenv("PYTHONNOUSERSITE", "1")
    assert ask_interpreter(str(folder / "bin" / "python")).user is None


@pytest.mark.parametrize("program", ["/bin/true", "/bin/false", "/nowhere/python", "/etc/passwd"])
def test_what_is_no_python_is_a_mistake_of_usage(program: str) -> None:
    """It names the flag and the program."""
    with pytest.raises(UsageError, match="--python") as caught:
        ask_interpreter(program)
    assert program in str(caught.value)
