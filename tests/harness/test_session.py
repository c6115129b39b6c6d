"""Our pytest sessions are out of reach of the user's configuration; probes keep the user's own."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from faults.runs import Phases, check_text, options, write_checks

SHADOWS = ("json", "pytest", "queue", "random", "signal", "xdist", "execnet", "msgspec", "types")


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's project, with all that could reach a pytest session."""
    project = tmp_path / "project"
    project.mkdir()
    for name in SHADOWS:
        (project / f"{name}.py").write_text("raise RuntimeError('the project shadows')\n")
    (project / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    (project / "pyproject.toml").write_text("[tool.pytest.ini_options]\naddopts = '--nothing'\n")
    (project / "tox.ini").write_text("[pytest]\naddopts = --nothing\n")
    (project / "conftest.py").write_text("raise RuntimeError('the conftest was read')\n")
    monkeypatch.chdir(project)
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option-either")
    monkeypatch.setenv("PYTEST_PLUGINS", "no_such_plugin")
    return project


def test_the_configuration_of_the_user_does_not_reach_the_checks(
    hostile: Path, tmp_path: Path
) -> None:
    """Files of the working folder and PYTEST_ variables are ignored in every phase."""
    folder = write_checks(
        hostile / "checks",
        check_text("host"),
        check_text("card", stage="kernel", arguments="device"),
        check_text("late", stage="collective"),
    )
    (folder / "conftest.py").write_text("raise RuntimeError('the conftest was read')\n")
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --nothing\n")
    found = Phases(tmp_path / "run", options(folder), "gpu0", "gpu1")
    assert set(found.statuses().values()) == {"pass"}
    phases = re.findall(r"^== (\w+): exited with code 0$", found.log, re.MULTILINE)
    assert phases == ["host", "devices", "node"], "and no second try"


def test_probes_see_the_environment_of_the_user(
    hostile: Path, tmp_path: Path, fault_probes: Path
) -> None:
    """PYTEST_ADDOPTS is there for the probed code, in the host phase and in workers."""
    body = (
        "from preflight.harness import channel\n"
        f"channel.SERVE = Path({str(fault_probes / 'serve.py')!r})\n"
        "call = fresh()._probe.call\n"
        "answer = call('behaviour.environment', deadline_s=30, name='PYTEST_ADDOPTS')\n"
        "result.note(f\"{answer['value']} {answer['pytest']}\")"
    )
    folder = write_checks(
        tmp_path / "checks",
        check_text("host", body, arguments="fresh, result"),
        check_text("card", body, stage="kernel", arguments="device, fresh, result"),
    )
    found = Phases(tmp_path / "run", options(folder), "gpu0")
    assert len(found.record.checks) == 2
    mine = sorted(name for name in os.environ if name.startswith("PYTEST_"))
    for check in found.record.checks:
        assert check.reason == f"--no-such-option-either {mine}"


def test_checks_see_the_working_folder_of_the_user(tmp_path: Path, hostile: Path) -> None:
    """Relative paths of a check mean what they mean at the prompt."""
    here = f"assert os.getcwd() == {str(hostile)!r}"
    folder = write_checks(
        tmp_path / "checks",
        check_text("host", here),
        check_text("card", here, stage="kernel", arguments="device"),
    )
    found = Phases(tmp_path / "run", options(folder), "gpu0")
    assert set(found.statuses().values()) == {"pass"}


def test_nothing_is_written_beside_the_checks(tmp_path: Path) -> None:
    """No cache folder of pytest in the user's folders, nor in the run's."""
    folder = write_checks(tmp_path / "checks", check_text("host"))
    found = Phases(tmp_path / "run", options(folder), "gpu0")
    assert not list(tmp_path.rglob(".pytest_cache"))
    assert {path.name for path in found.folder.iterdir()} == {"journal.jsonl", "run.log"}


def test_a_warning_of_a_check_file_does_not_end_it(tmp_path: Path) -> None:
    """Deprecations of the user's libraries are no matter of ours."""
    body = "import warnings\nwarnings.warn('old', DeprecationWarning)"
    folder = write_checks(tmp_path / "checks", check_text("host", body))
    assert Phases(tmp_path / "run", options(folder)).statuses() == {"system.host": "pass"}
