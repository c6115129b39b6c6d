"""The phases of a run: every check gets a status, on every device, and every event is seen."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import pytest
from faults.runs import (
    Phases,
    RunPhases,
    check_text,
    device,
    inventory,
    is_alive,
    nothing_runs,
    one,
    open_run,
    options,
    write_checks,
)

from preflight import engine
from preflight.events import Event, Started
from preflight.harness.phases import PhaseRunner


def test_what_a_check_does_is_its_status(phases: RunPhases) -> None:
    """Pass, assertion, failed measurement, warning, skip and exception, side by side."""
    found = phases(
        check_text("good", "result.note('well')", arguments="result"),
        check_text("asserts", "assert 2 + 2 == 5, 'two and two'"),
        check_text(
            "measures", "result.measure('x', 3, 's', limit=at_most(2, 'me'))", arguments="result"
        ),
        check_text("warns", "result.warn('hot', 'cool it')", arguments="result"),
        check_text("skips", "pytest.skip('no such thing here')"),
        check_text("raises", "raise KeyError('x')"),
        check_text("leaves", "sys.exit(0)"),
        check_text("cannot", "raise CannotLook('nobody there', action='open the door')"),
        check_text("probe_fails", "raise ProbeFailed('wrong sum', rank=3)"),
    )
    assert found.statuses() == {
        "system.good": "pass",
        "system.asserts": "fail",
        "system.measures": "fail",
        "system.warns": "warn",
        "system.skips": "skip",
        "system.raises": "error",
        "system.leaves": "error",
        "system.cannot": "error",
        "system.probe_fails": "fail",
    }
    assert found.check("system.asserts").reason.startswith("two and two")
    assert found.check("system.measures").reason.endswith("3 s, must be <= 2")
    assert found.check("system.skips").reason == "no such thing here"
    assert "KeyError" in found.check("system.raises").reason
    assert found.check("system.cannot").action == "open the door"
    assert found.check("system.probe_fails").rank == 3
    for check in found.record.checks:
        assert check.action or check.status in ("pass", "skip")


def test_the_phases_follow_one_another(phases: RunPhases) -> None:
    """Host, devices, compare and node; a later phase sees the results of those before."""
    see = "result.note(' '.join(sorted(c.id for c in situation.results)))"
    found = phases(
        check_text("late", see, stage="collective", arguments="situation, result"),
        check_text("peers", see, stage="forward", arguments="situation, result", phase="compare"),
        check_text("card", see, stage="kernel", arguments="device, situation, result"),
        check_text("early", see, arguments="situation, result"),
    )
    notes = {check.id: check.reason for check in found.record.checks}
    assert notes == {
        "system.early": "",
        "kernel.card": "system.early",
        "forward.peers": "kernel.card system.early",
        "collective.late": "forward.peers kernel.card system.early",
    }


def test_a_check_of_devices_runs_on_each(phases: RunPhases) -> None:
    """Once per device, each in a process of its own; results carry the device."""
    found = phases(
        check_text(
            "card", "result.note(str(os.getpid()))", stage="kernel", arguments="device, result"
        ),
        check_text("host", "pass"),
        devices=("gpu0", "gpu1", "gpu2"),
    )
    cards = [check for check in found.record.checks if check.id == "kernel.card"]
    assert [check.device for check in cards] == ["gpu0", "gpu1", "gpu2"]
    assert len({check.reason for check in cards}) == 3
    assert found.check("system.host").device is None


@pytest.mark.long
def test_without_a_device_its_checks_are_skipped_with_a_reason(phases: RunPhases) -> None:
    """They have a result all the same, once; what needs no device runs."""
    found = phases(
        check_text("card", stage="kernel", arguments="device, probe"),
        check_text("together", stage="collective", arguments="ranks"),
        check_text("host"),
        devices=(),
        mode="certify",
    )
    assert found.statuses() == {
        "system.host": "pass",
        "kernel.card": "skip",
        "collective.together": "skip",
    }
    assert found.check("kernel.card").reason == "no device was found"
    assert found.check("collective.together").reason == "no device was found"


@pytest.mark.long
def test_a_rehearsal_without_its_device_could_not_be_looked_at(phases: RunPhases) -> None:
    """There is always a CPU: an inventory without it has failed, and is never a good word."""
    found = phases(check_text("card", stage="kernel", arguments="device, probe"), devices=())
    assert found.statuses() == {"kernel.card": "error"}
    assert found.record.verdict.word == "INCONCLUSIVE"


@pytest.mark.long
def test_each_device_keeps_its_probe_from_check_to_check(
    phases: RunPhases, fault_probes: Path
) -> None:
    """One process per device serves check after check; a fresh one is another; all are gone."""
    use = (
        "from preflight.harness import channel\n"
        f"channel.SERVE = Path({str(fault_probes / 'serve.py')!r})\n"
        "one, other = probe('behaviour.echo'), fresh()('behaviour.echo')\n"
        "assert one['params']['device'] == 'cpu' and one['params']['seed'] == 7\n"
        "result.note(f\"{one['pid']} {other['pid']}\")"
    )
    arguments = "device, probe, fresh, result"
    found = phases(
        check_text("one", use, stage="kernel", arguments=arguments),
        check_text("two", use, stage="kernel", arguments=arguments),
        devices=("gpu0", "gpu1"),
    )
    pids = {
        (check.id, check.device): [int(pid) for pid in check.reason.split()]
        for check in found.record.checks
    }
    for name in ("gpu0", "gpu1"):
        assert pids["kernel.one", name][0] == pids["kernel.two", name][0]
    everyone = {pid for both in pids.values() for pid in both}
    assert len(everyone) == 6
    assert not any(is_alive(pid) for pid in everyone)


@pytest.mark.long
def test_a_device_that_torch_does_not_see_fails_its_probes(tmp_path: Path) -> None:
    """The driver has it and torch has not: a fact, with the variables to look at."""
    folder = write_checks(
        tmp_path / "checks", check_text("one", stage="kernel", arguments="device, probe")
    )
    run = tmp_path / "run"
    journal = open_run(run, options(folder), "gpu0")
    unseen = device("gpu0", torch_device=None, uuid="GPU-aa")
    journal.append(msgspec.structs.replace(inventory("gpu0"), devices=(unseen,)))
    PhaseRunner(run, lambda new: None).run()
    check = one(engine.rebuild(run).checks, "kernel.one", "gpu0")
    assert (check.status, check.reason) == ("fail", "torch does not see gpu0 (Fake 9000, GPU-aa)")
    assert "CUDA_VISIBLE_DEVICES" in check.action


def test_scratch_folders_are_of_the_run_and_empty(phases: RunPhases) -> None:
    """Each check has its own, inside the folder of the run."""
    body = (
        "assert not list(scratch.iterdir())\n"
        "(scratch / 'x').write_text('x')\n"
        "result.note(str(scratch))"
    )
    found = phases(
        check_text("a", body, arguments="scratch, result"),
        check_text("b", body, arguments="scratch, result"),
    )
    places = [Path(check.reason) for check in found.record.checks]
    assert {place.parent for place in places} == {found.folder / "scratch"}
    assert places[0] != places[1]


def test_a_check_of_ten_lines(tmp_path: Path, phases: RunPhases) -> None:
    """The user's own check: an assertion fails, a skip skips, another exception is an error."""
    ten_lines = (
        "import shutil\n"
        "import pytest\n\n\n"
        '@pytest.mark.check(id="system.data", stage="system", deadline="10s")\n'
        "def check_data(result):\n"
        '    """There is room for the data set."""\n'
        "    free_GB = shutil.disk_usage('/').free / 1e9\n"
        '    result.measure("free", free_GB, "GB")\n'
        "    assert free_GB > 1e12, f'only {free_GB:.0f} GB are free'\n"
    )
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "check_data.py").write_text(ten_lines)
    found = Phases(tmp_path / "run2", options(tmp_path / "mine"), "gpu0")
    check = found.check("system.data")
    assert check.status == "fail"
    assert re.match(r"only \d+ GB are free", check.reason)
    assert check.title == "There is room for the data set"
    assert [m.name for m in check.measurements] == ["free"]


def test_every_event_is_watched_once_and_in_order(phases: RunPhases) -> None:
    """What ``watch`` saw is the journal."""
    found = phases(check_text("a"), check_text("b", stage="collective"))
    assert found.seen == list(found.events)


def test_what_watch_raises_ends_the_run_and_its_processes(tmp_path: Path) -> None:
    """The session is gone when the exception arrives."""

    class EnoughError(Exception):
        pass

    def watch(events: list[Event]) -> None:
        if any(isinstance(event, Started) for event in events):
            raise EnoughError

    folder = write_checks(tmp_path / "checks", check_text("a", "time.sleep(600)"))
    open_run(tmp_path / "run", options(folder), "gpu0")
    with pytest.raises(EnoughError):
        PhaseRunner(tmp_path / "run", watch).run()
    assert nothing_runs(tmp_path / "run")
