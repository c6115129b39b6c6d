"""Faults of the surroundings: other plugins, chatty probes, a vanishing interpreter, the clock."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from preflight.records import Check, Record, decode_record

ONLY_SYSTEM = ("--only", "system")


def _run(
    out: Path, *flags: str, code: str | None = None, **environment: str
) -> tuple[Record, subprocess.CompletedProcess[str]]:
    """The command (or ``code`` that runs it) in a rehearsal; its record."""
    start = ["-c", code] if code else ["-m", "preflight"]
    common = ("run", "--device", "cpu", "--level", "quick", "--deadline", "5m", "--out", str(out))
    done = subprocess.run(
        [sys.executable, *start, *common, *flags],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    (path,) = out.glob("*/*/record.json")
    return decode_record(path.read_bytes(), where=str(path)), done


def _check(record: Record, name: str) -> Check:
    return next(check for check in record.checks if check.id == name)


def test_an_installed_plugin_does_not_reach_the_checks(tmp_path: Path) -> None:
    """A pytest plugin that is installed, such as pytest-randomly, is not loaded."""
    folder = tmp_path / "site"
    (folder / "shuffler-1.0.dist-info").mkdir(parents=True)
    (folder / "shuffler-1.0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: shuffler\nVersion: 1.0\n"
    )
    (folder / "shuffler-1.0.dist-info" / "entry_points.txt").write_text(
        "[pytest11]\nshuffler = shuffler\n"
    )
    (folder / "shuffler.py").write_text("raise SystemExit('a plugin that ends every session')\n")
    record, done = _run(tmp_path / "out", *ONLY_SYSTEM, PYTHONPATH=str(folder))
    assert done.returncode == 0, done.stderr
    assert {check.status for check in record.checks} <= {"pass", "warn", "skip"}


CHATTY = """
import sys
for number in range(10_000):
    print(number, "Größe 大小 حجم \\u202e \\x1b[31m 🙂")
sys.stdout.flush()
sys.stdout.buffer.write(b"\\xff\\xfe not UTF-8\\n" * 1000)
raise ImportError("after ten thousand lines")
"""


def test_ten_thousand_lines_of_unicode_are_bounded_and_safe(tmp_path: Path) -> None:
    """What a probe prints is kept from its end, and no control character reaches the report."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "chatty.py").write_text(CHATTY, encoding="utf-8")
    (tmp_path / "plan.toml").write_text('[software]\nextensions = ["chatty"]\n')
    record, done = _run(
        tmp_path / "out",
        *("--only", "import", "--plan", str(tmp_path / "plan.toml")),
        PYTHONPATH=str(tmp_path / "site"),
    )
    assert done.returncode == 1, done.stderr
    check = _check(record, "import.extensions")
    assert "after ten thousand lines" in check.reason
    assert 1000 < len(check.evidence) < 100_000
    (report,) = (tmp_path / "out").glob("*/*/report.html")
    page = report.read_text(encoding="utf-8").partition('<script type="application/json"')[0]
    assert "\x1b" not in page and "\u202e" not in page
    assert "\x1b" not in done.stdout


def test_an_interpreter_that_vanishes_is_an_error(tmp_path: Path) -> None:
    """A probe interpreter that is gone after its first start stops us from looking, and no more."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nrm -f "$0"\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    record, done = _run(tmp_path / "out", "--only", "import", "--python", str(python))
    assert done.returncode == 3, done.stdout + done.stderr
    assert _check(record, "import.torch").status == "pass"
    numpy = _check(record, "import.numpy")
    assert (numpy.status, numpy.action != "") == ("error", True)
    assert "cannot be started" in numpy.reason


BACKWARDS = """
import sys
from datetime import timedelta
from preflight import clock
honest, turns = clock.now, []

def backwards():
    turns.append(1)
    return honest() - timedelta(days=len(turns))

clock.now = backwards
from preflight.cli import main
main()
"""


def test_a_clock_that_is_set_back_moves_no_duration(tmp_path: Path) -> None:
    """Wall-clock time is for stamps alone: it goes back a day at each look, and nothing shows."""
    record, done = _run(tmp_path / "out", *ONLY_SYSTEM, code=BACKWARDS)
    assert done.returncode == 0, done.stderr
    assert record.run.finished is not None and record.run.finished < record.run.started
    assert record.run.duration_s is not None and 0 < record.run.duration_s < 300
    assert all(check.duration_s is not None and check.duration_s >= 0 for check in record.checks)


@pytest.mark.parametrize(
    "closing", ["2>&-", "0<&- 1>&- 2>&-", ">/dev/full", "2>/dev/full", "| true"]
)
def test_streams_that_are_closed_change_no_exit_code(tmp_path: Path, closing: str) -> None:
    """The run has its exit code whoever reads what it prints, and its record is whole."""
    line = (
        f"{sys.executable} -m preflight run --device cpu --level quick --only system,import "
        f"--deadline 5m --out {tmp_path / 'out'} {closing}"
    )
    shell = ["bash", "-c", f"set -o pipefail; {line}"]
    done = subprocess.run(shell, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (path,) = (tmp_path / "out").glob("*/*/record.json")
    record = decode_record(path.read_bytes(), where=str(path))
    assert record.verdict.word == "REHEARSED"
    assert [device.name for device in record.devices] == ["cpu"]
