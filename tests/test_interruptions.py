"""A run that does not come to its end: signals, kills, deadlines, disks and folders."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import msgspec
import pytest
from faults.runs import (
    GOOD,
    GRANDCHILD,
    LATE,
    MODULES,
    SLEEP,
    Command,
    check_text,
    command,
    is_alive,
    nothing_runs,
    one,
    options,
    preflight,
    record_of,
    run_engine,
    statuses,
    wait_until,
    write_checks,
)

from preflight import engine
from preflight.errors import RecordError
from preflight.reading import read_source


@pytest.mark.parametrize(
    ("number", "code", "reason"),
    [
        (signal.SIGINT, 130, "the run was interrupted before this check had run"),
        (signal.SIGTERM, 143, "the run was terminated before this check had run"),
        (signal.SIGHUP, 129, "the terminal went away before this check had run"),
    ],
)
def test_a_signal_leaves_record_and_report(
    tmp_path: Path, number: signal.Signals, code: int, reason: str
) -> None:
    """Every planned check has a status, the exit code is the signal's, and nothing runs."""
    sleeps = check_text("sleeps", GRANDCHILD + "time.sleep(600)", deadline="10m")
    checks = write_checks(tmp_path / "checks", GOOD, sleeps, LATE)
    with command(tmp_path / "out", checks) as running:
        running.wait_for('"started","id":"system.sleeps"')
        running.signal(number)
        assert running.end()[0] == code
        record = running.record()
        assert record.run.interrupted == number.name
        assert record.run.finished is not None
        assert statuses(record) == {
            "system.good": "pass",
            "system.sleeps": "error",
            "collective.late": "error",
        }
        assert one(record.checks, "collective.late").reason == reason
        assert record.verdict.word == "INCONCLUSIVE"
        assert (running.folder / "report.html").stat().st_size > 1000
        assert nothing_runs(running.folder)


@pytest.mark.long
def test_a_signal_in_the_phase_of_devices_ends_workers_and_probes(tmp_path: Path) -> None:
    """A probe that hangs in C on behalf of a worker is gone too."""
    body = "fresh()('extension.load', name='fault_hangs')"
    checks = write_checks(
        tmp_path / "checks",
        GOOD,
        check_text(
            "hangs",
            f"result.note('x')\n{body}",
            stage="import",
            arguments="fresh, result",
            deadline="10m",
        ),
        check_text("sleeps", "time.sleep(600)", stage="kernel", arguments="device", deadline="10m"),
    )
    environment = {"PYTHONPATH": f"{MODULES.parents[1]}:{MODULES}"}
    with command(
        tmp_path / "out", checks, environment=environment, selected=("system", "kernel")
    ) as running:
        running.wait_for('"started","id":"kernel.sleeps"')
        running.signal(signal.SIGTERM)
        assert running.end()[0] == 143
        assert nothing_runs(running.folder)
    with command(tmp_path / "out2", checks, environment=environment) as running:
        running.wait_for('"started","id":"import.hangs"')
        running.signal(signal.SIGTERM)
        assert running.end()[0] == 143
        assert nothing_runs(running.folder)


@pytest.mark.long
def test_more_signals_do_not_disturb_the_end(tmp_path: Path) -> None:
    """An impatient person presses Ctrl-C again and again; the record is whole."""
    checks = write_checks(tmp_path / "checks", GOOD, SLEEP)
    with command(tmp_path / "out", checks) as running:
        running.wait_for('"started","id":"system.sleeps"')
        running.signal(signal.SIGINT)
        for _ in range(50):
            if not is_alive(running.pid):
                break
            running.signal(signal.SIGINT)
            running.signal(signal.SIGTERM)
        code = running.end()[0]  # of two that are pending at once either may come first
        assert code in (130, 143)
        expected = "SIGINT" if code == 130 else "SIGTERM"
        assert running.record().run.interrupted == expected


@pytest.mark.long
def test_a_hang_up_is_ignored_under_nohup(tmp_path: Path) -> None:
    """Who starts it with SIGHUP ignored wants it to go on."""
    checks = write_checks(tmp_path / "checks", check_text("waits", "time.sleep(1)"))
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        running = Command(tmp_path / "out", checks)
    finally:
        signal.signal(signal.SIGHUP, before)
    running.wait_for('"started","id":"system.waits"')
    running.signal(signal.SIGHUP)
    assert running.end()[0] == 0
    assert statuses(running.record()) == {"system.waits": "pass"}


def test_signals_wait_while_the_outputs_are_written() -> None:
    """Also where another thread is there to take them, such as a reader of a child's output."""
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        with engine._signals():
            engine._ignore_signals()
            for number in engine.SIGNALS:
                os.kill(os.getpid(), number)
            assert sum(range(100_000)) > 0, "time for a handler to run"
    finally:
        stop.set()
        thread.join()


def test_a_killed_controller_leaves_no_process_and_can_be_rebuilt(tmp_path: Path) -> None:
    """kill -9: every planned check has a status, the verdict is INCONCLUSIVE, reports are made."""
    checks = write_checks(
        tmp_path / "checks",
        GOOD,
        check_text("sleeps", "time.sleep(600)", stage="kernel", arguments="device", deadline="10m"),
        LATE,
    )
    with command(tmp_path / "out", checks) as running:
        running.wait_for('"started","id":"kernel.sleeps"')
        folder = running.folder
        running.signal(signal.SIGKILL)
        running.end()
        wait_until(lambda: nothing_runs(folder), "the end of every process")
        assert not (folder / "record.json").exists()
        done = preflight("report", str(folder))
        assert done.returncode == 0, done.stderr
        assert "was killed" in done.stderr
        assert "INCONCLUSIVE" in done.stdout
        record = record_of(folder)
    assert record.run.interrupted == "killed"
    assert (record.run.finished, record.run.duration_s) == (None, None)
    assert statuses(record) == {
        "system.good": "pass",
        "kernel.sleeps": "error",
        "collective.late": "error",
    }
    assert record.verdict.word == "INCONCLUSIVE"
    assert (folder / "report.html").exists()


@pytest.mark.long
def test_a_run_that_goes_on_is_not_rebuilt(tmp_path: Path) -> None:
    """Its record is to come; by whatever path the folder is named."""
    checks = write_checks(tmp_path / "checks", SLEEP)
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with command(tmp_path / "link", checks) as running:
        running.wait_for('"started"')
        with pytest.raises(RecordError, match="still going on"):
            read_source(running.folder)
        running.signal(signal.SIGTERM)
        assert running.end()[0] == 143


@pytest.mark.long
def test_the_deadline_of_the_run_ends_it(tmp_path: Path) -> None:
    """What had no time is an error that says so; the exit code is the verdict's."""
    checks = write_checks(tmp_path / "checks", GOOD, SLEEP, LATE)
    outcome = run_engine(tmp_path / "out", checks, deadline_s=4.0)
    assert outcome.record.run.interrupted == "deadline"
    assert statuses(outcome.record) == {
        "system.good": "pass",
        "system.sleeps": "error",
        "collective.late": "error",
    }
    late = one(outcome.record.checks, "collective.late")
    assert late.reason == "the deadline of the whole run passed before this check had run"
    assert (outcome.record.verdict.word, outcome.exit_code) == ("INCONCLUSIVE", 3)
    assert nothing_runs(outcome.folder)


def test_a_folder_that_vanishes_while_it_runs_is_told(tmp_path: Path) -> None:
    """Exit code 4 and a sentence, no traceback; no process stays."""
    checks = write_checks(tmp_path / "checks", SLEEP)
    with command(tmp_path / "out", checks) as running:
        running.wait_for('"started"')
        folder = running.folder
        subprocess.run(["rm", "-rf", str(folder)], check=True)
        running.signal(signal.SIGTERM)
        code, output = running.end()
        assert nothing_runs(folder)
    assert code == 4, output
    assert "Traceback" not in output


def test_a_disk_that_fills_while_it_runs_is_told(tmp_path: Path) -> None:
    """Exit code 4 and a sentence that names the place, no traceback; what was judged stays."""
    body = "result.attach('x' * 50_000)"
    checks = write_checks(tmp_path / "checks", GOOD, check_text("a", body, arguments="result"))
    given = msgspec.json.encode(options(checks)).decode()
    arguments = [sys.executable, "-m", "faults.command", str(tmp_path / "out"), given]
    done = subprocess.run(
        ["bash", "-c", 'ulimit -f 16 && exec "$@"', "bash", *arguments],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 4, done.stderr
    assert "Traceback" not in done.stderr
    assert str(tmp_path / "out") in done.stderr
    (folder,) = (tmp_path / "out").glob("*/*")
    assert nothing_runs(folder)
    assert statuses(engine.rebuild(folder))["system.good"] == "pass"


def test_an_interrupt_reaches_a_job_in_the_background(tmp_path: Path) -> None:
    """A shell lets its background jobs ignore SIGINT; a run ends on it all the same."""
    checks = write_checks(tmp_path / "checks", GOOD, SLEEP)
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # children inherit it
    try:
        with command(tmp_path / "out", checks) as running:
            signal.signal(signal.SIGINT, before)
            running.wait_for('"started","id":"system.sleeps"')
            running.signal(signal.SIGINT)
            assert running.end()[0] == 130
    finally:
        signal.signal(signal.SIGINT, before)


def test_signals_have_their_handlers_back_after_a_run(tmp_path: Path) -> None:
    """The engine borrows them."""
    kinds = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(kind) for kind in kinds]
    run_engine(tmp_path / "out", write_checks(tmp_path / "checks", GOOD))
    assert [signal.getsignal(kind) for kind in kinds] == before
    assert signal.pthread_sigmask(signal.SIG_BLOCK, ()) == set()
