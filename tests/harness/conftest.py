"""Fixtures of the tests of the harness."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults.runs import FAULTS, Phases, RunPhases, options, write_checks

import preflight.probes
from preflight.harness.sweep import RUN_VARIABLE, sweep

PROBES = Path(preflight.probes.__file__).parent


def pytest_configure(config: pytest.Config) -> None:
    """The marker of checks, which tests of the contract write too."""
    config.addinivalue_line("markers", "check(id, stage, deadline, ...): what a check is")


@pytest.fixture
def fault_probes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Our own serve.py with probes beside it that misbehave; no torch."""
    folder = tmp_path / "probes"
    folder.mkdir()
    for path in (*PROBES.glob("*.py"), *(FAULTS / "probes").glob("*.py")):  # ours, then the faults
        shutil.copy(path, folder)
    monkeypatch.setattr("preflight.harness.channel.SERVE", folder / "serve.py")
    return folder


@pytest.fixture
def marked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of a run to which every child of the test belongs; they are swept afterwards."""
    monkeypatch.setenv(RUN_VARIABLE, str(tmp_path))
    yield tmp_path
    monkeypatch.delenv(RUN_VARIABLE)
    assert str(tmp_path) != os.environ.get(RUN_VARIABLE)
    sweep(tmp_path)


@pytest.fixture
def phases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunPhases:
    """Runs checks on cards; a check past its deadline has one second of grace."""
    monkeypatch.setattr("preflight.harness.phases.CHECK_GRACE_S", 1.0)

    def run(*checks: str, devices: tuple[str, ...] = ("gpu0",), **changes: object) -> Phases:
        folder = write_checks(tmp_path / "checks", *checks)
        return Phases(tmp_path / "run", options(folder, **changes), *devices)

    return run
