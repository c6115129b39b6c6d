"""A whole run: its folder, record and exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from faults.runs import (
    GOOD,
    GRANDCHILD,
    LATE,
    check_text,
    command,
    nothing_runs,
    preflight,
    record_of,
    run_engine,
    statuses,
    write_checks,
)

from preflight import engine
from preflight.errors import CheckContractError, UsageError
from preflight.harness.journal import FILE_NAME, read_journal


def test_a_run_leaves_its_folder(tmp_path: Path) -> None:
    """Record, reports, journal and log; nothing temporary, no process, and the record as told."""
    checks = write_checks(
        tmp_path / "checks",
        GOOD,
        check_text("writes", "(scratch / 'x').touch()", arguments="scratch"),
    )
    outcome = run_engine(tmp_path / "out", checks)
    assert (outcome.record.verdict.word, outcome.exit_code) == ("REHEARSED", 0)
    assert outcome.trouble is None
    assert outcome.report == outcome.folder / "report.html"
    names = {path.name for path in outcome.folder.iterdir()}
    assert names >= {"record.json", "report.html", "junit.xml", "ctrf.json", "summary.md"}
    assert names >= {FILE_NAME, "run.log"}
    assert "scratch" not in names
    assert not [name for name in names if name.startswith(".")]
    assert record_of(outcome.folder) == outcome.record
    assert nothing_runs(outcome.folder)
    assert (tmp_path / "out") in outcome.folder.parents


def test_the_record_says_what_was_run(tmp_path: Path) -> None:
    """Mode, level, seed, times and the machine."""
    outcome = run_engine(tmp_path / "out", write_checks(tmp_path / "checks", GOOD))
    run = outcome.record.run
    assert (run.id, run.level, run.mode, run.seed) == (outcome.folder.name, "quick", "rehearse", 7)
    assert run.interrupted is None
    assert run.finished is not None and run.finished >= run.started
    assert run.duration_s is not None and run.duration_s > 0
    assert run.selected == ()
    assert [device.name for device in outcome.record.devices] == ["cpu"]
    assert outcome.record.host.name == outcome.record.nodes[0].name


def test_chosen_stages_are_in_the_record(tmp_path: Path) -> None:
    """Only part of the path was asked for."""
    checks = write_checks(tmp_path / "checks", GOOD, LATE)
    outcome = run_engine(tmp_path / "out", checks, selected=("system",))
    assert outcome.record.run.selected == ("system",)
    assert statuses(outcome.record) == {"system.good": "pass"}


@pytest.mark.parametrize(
    ("body", "word", "code"),
    [
        ("assert False, 'broken'", "NOT_READY", 1),
        ("raise KeyError('x')", "INCONCLUSIVE", 3),
        ("pytest.skip('not here')", "INCONCLUSIVE", 3),
    ],
)
def test_the_exit_code_is_that_of_the_verdict(
    tmp_path: Path, body: str, word: str, code: int
) -> None:
    """A failure, an error, and a run in which nothing ran."""
    outcome = run_engine(tmp_path / "out", write_checks(tmp_path / "checks", check_text("a", body)))
    assert (outcome.record.verdict.word, outcome.exit_code) == (word, code)


def test_watch_sees_the_events_of_the_journal(tmp_path: Path) -> None:
    """From the first line on, each once."""
    from faults.runs import request

    seen: list[object] = []
    asked = request(tmp_path / "out", write_checks(tmp_path / "checks", GOOD))
    outcome = engine.run(asked, seen.extend)
    assert seen == list(read_journal(outcome.folder))[:-1], "the last line is written at the end"


def test_grandchildren_are_gone_when_a_run_ends(tmp_path: Path) -> None:
    """Whatever a check leaves behind in a session of its own."""
    body = GRANDCHILD + "result.note('left one')"
    checks = write_checks(tmp_path / "checks", check_text("leaves", body, arguments="result"))
    outcome = run_engine(tmp_path / "out", checks)
    assert statuses(outcome.record) == {"system.leaves": "pass"}
    assert nothing_runs(outcome.folder)


@pytest.mark.long
def test_a_check_that_hangs_costs_itself_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its deadline passes, the rest of the path runs, and the verdict is INCONCLUSIVE."""
    monkeypatch.setattr("preflight.harness.phases.CHECK_GRACE_S", 0.5)
    hangs = check_text("hangs", "ctypes.PyDLL(None).sleep(600)", deadline="1s")
    checks = write_checks(tmp_path / "checks", GOOD, hangs, check_text("after"), LATE)
    outcome = run_engine(tmp_path / "out", checks)
    assert statuses(outcome.record) == {
        "system.good": "pass",
        "system.hangs": "error",
        "system.after": "pass",
        "collective.late": "pass",
    }
    assert (outcome.record.verdict.word, outcome.exit_code) == ("INCONCLUSIVE", 3)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('def check_x():\n    """X."""\n', "a check needs a marker"),
        (check_text("x") + check_text("y").replace("system.y", "system.x"), "is taken by"),
        (check_text("x", doc=""), "a check needs a docstring"),
        (check_text("x", stage="nowhere"), "is not on the path"),
        ('@pytest.mark.check("x")\ndef check_x():\n    """X."""\n', "takes keywords only"),
        ("# nothing\n", "no check was found in it"),
    ],
)
def test_a_breach_of_the_contract_leaves_no_run(tmp_path: Path, text: str, what: str) -> None:
    """Exit code 2, the file is named, and no folder of a run stays."""
    checks = write_checks(tmp_path / "checks", text)
    with pytest.raises(CheckContractError) as caught:
        run_engine(tmp_path / "out", checks)
    assert what in caught.value.what
    assert caught.value.exit_code == 2
    assert caught.value.where.startswith(f"{checks}/check_900_small.py")
    assert list((tmp_path / "out").glob("*/*")) == []


def test_a_file_that_does_not_parse_is_inconclusive(tmp_path: Path) -> None:
    """It is an error result in stage checks; the others run, and the report is written."""
    checks = write_checks(tmp_path / "checks", GOOD)
    write_checks(checks, "def check_x(:\n", name="check_100_broken.py")
    outcome = run_engine(tmp_path / "out", checks)
    assert statuses(outcome.record) == {"system.good": "pass", "checks.check_100_broken": "error"}
    assert (outcome.record.verdict.word, outcome.exit_code) == ("INCONCLUSIVE", 3)
    assert outcome.report is not None


@pytest.mark.parametrize("kind", ["a file", "below a file", "not a folder to write in"])
def test_an_output_folder_that_cannot_be_written_is_refused(tmp_path: Path, kind: str) -> None:
    """Exit code 2 with the flag, before any process starts."""
    file = tmp_path / "file"
    file.write_text("x")
    out = {"a file": file, "below a file": file / "out"}.get(kind, Path("/proc/preflight"))
    with pytest.raises(UsageError, match="nothing can be written") as caught:
        run_engine(out, write_checks(tmp_path / "checks", GOOD))
    assert (caught.value.exit_code, caught.value.where) == (2, "--out")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_output_folder_is_refused(tmp_path: Path) -> None:
    """As above, by its permissions."""
    out = tmp_path / "out"
    out.mkdir(mode=0o500)
    with pytest.raises(UsageError, match="nothing can be written"):
        run_engine(out, write_checks(tmp_path / "checks", GOOD))


def test_a_missing_output_folder_is_made(tmp_path: Path) -> None:
    """With all that leads to it."""
    out = tmp_path / "a" / "b" / "c"
    outcome = run_engine(out, write_checks(tmp_path / "checks", GOOD))
    assert out in outcome.folder.parents


def test_two_runs_at_once_have_a_folder_each(tmp_path: Path) -> None:
    """In one order's folder, neither in the other's way."""
    checks = write_checks(tmp_path / "checks", GOOD)
    out = tmp_path / "out"
    with command(out, checks) as first, command(out, checks) as second:
        ends = [first.end(), second.end()]
    assert [code for code, _ in ends] == [0, 0], ends
    folders = {Path(text.strip()) for _, text in ends}
    assert len(folders) == 2
    assert len({folder.parent for folder in folders}) == 1
    for folder in folders:
        assert statuses(record_of(folder)) == {"system.good": "pass"}


def test_a_user_s_checks_run_beside_ours(tmp_path: Path) -> None:
    """``--checks``: pass, fail and skip of the user's own stand in the record of the command."""
    mine = write_checks(
        tmp_path / "mine",
        check_text("mine", "assert 1 + 1 == 3, 'one and one'"),
        check_text("absent", "pytest.skip('no such disk')"),
    )
    out = tmp_path / "out"
    done = preflight(
        "run", "--device", "cpu", "--only", "system", "--checks", str(mine), "--out", str(out)
    )
    assert done.returncode == 1, done.stderr
    (path,) = out.glob("*/*/record.json")
    found = statuses(record_of(path.parent))
    assert found["system.mine"] == "fail"
    assert found["system.absent"] == "skip"
    assert found["system.memory"] == "pass"
    assert "one and one" in done.stdout + done.stderr


def test_a_breach_of_the_contract_through_the_command(tmp_path: Path) -> None:
    """Exit code 2, one message with file and line, no traceback."""
    mine = write_checks(tmp_path / "mine", 'def check_x():\n    """X."""\n')
    out = tmp_path / "out"
    done = preflight("run", "--device", "cpu", "--checks", str(mine), "--out", str(out))
    assert done.returncode == 2
    assert f"{mine}/check_900_small.py:6: a check needs a marker" in done.stderr
    assert "Traceback" not in done.stderr
    assert list(out.glob("*/*")) == []


def test_the_controller_imports_no_torch(tmp_path: Path) -> None:
    """Nor does a phase of it, in a whole run."""
    body = "assert 'torch' not in sys.modules"
    checks = write_checks(
        tmp_path / "checks",
        check_text("host", body),
        check_text("card", body, stage="kernel", arguments="device"),
    )
    code = (
        "import sys; from pathlib import Path; from faults.runs import run_engine\n"
        f"outcome = run_engine(Path({str(tmp_path / 'out')!r}), Path({str(checks)!r}))\n"
        "print(outcome.record.verdict.word, 'torch' in sys.modules)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["REHEARSED", "False"]
