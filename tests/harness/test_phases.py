"""The phases of a run: every check gets a status, whatever its code does to its process."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from faults.runs import (
    Phases,
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
from preflight.errors import CheckContractError
from preflight.events import Ended, Event, Started
from preflight.harness.journal import read_journal
from preflight.harness.phases import PhaseRunner

Run = Callable[..., Phases]
HANG = "ctypes.PyDLL(None).sleep(600)"
DIE = "os.kill(os.getpid(), signal.SIGKILL)"


@pytest.fixture
def phases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs checks on cards; a check past its deadline has one second of grace."""
    monkeypatch.setattr("preflight.harness.phases.CHECK_GRACE_S", 1.0)

    def run(*checks: str, devices: tuple[str, ...] = ("gpu0",), **changes: object) -> Phases:
        folder = write_checks(tmp_path / "checks", *checks)
        return Phases(tmp_path / "run", options(folder, **changes), *devices)

    return run


def card(name: str, body: str = "pass", stage: str = "kernel", **marker: object) -> str:
    """A check of each device."""
    return check_text(name, body, stage=stage, arguments="device, result", **marker)


# Every check has a status


def test_what_a_check_does_is_its_status(phases: Run) -> None:
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


def test_the_phases_follow_one_another(phases: Run) -> None:
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


def test_a_check_of_devices_runs_on_each(phases: Run) -> None:
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
def test_without_a_device_its_checks_are_skipped_with_a_reason(phases: Run) -> None:
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
def test_a_rehearsal_without_its_device_could_not_be_looked_at(phases: Run) -> None:
    """There is always a CPU: an inventory without it has failed, and is never a good word."""
    found = phases(check_text("card", stage="kernel", arguments="device, probe"), devices=())
    assert found.statuses() == {"kernel.card": "error"}
    assert found.record.verdict.word == "INCONCLUSIVE"


# Deadlines and deaths


@pytest.mark.parametrize(
    "stage",
    [
        "system",
        pytest.param("kernel", marks=pytest.mark.long),
        pytest.param("collective", marks=pytest.mark.long),
    ],
)
def test_a_check_that_hangs_ends_and_the_rest_runs(phases: Run, stage: str) -> None:
    """Its process is killed though it holds the GIL; the status is error, in each kind of phase."""
    arguments = "device" if stage == "kernel" else ""
    found = phases(
        check_text("before", stage=stage, arguments=arguments),
        check_text("hangs", HANG, stage=stage, arguments=arguments, deadline="1s", gates=False),
        check_text("after", stage=stage, arguments=arguments),
    )
    device = "gpu0" if arguments else None
    hung = found.check(f"{stage}.hangs", device)
    assert hung.status == "error"
    assert hung.reason == "nobody could look: the check did not return within its 1 s"
    assert found.check(f"{stage}.before", device).status == "pass"
    assert found.check(f"{stage}.after", device).status == "pass"
    pids = {event.pid for event in found.events if isinstance(event, Started)}
    assert not any(is_alive(pid) for pid in pids)


@pytest.mark.parametrize(
    ("fault", "how"),
    [
        (DIE, "was ended by SIGKILL"),
        ("ctypes.string_at(0)", "was ended by SIGSEGV"),
        ("os._exit(0)", "exited with code 0"),
        ("pytest.exit('enough')", "exited with code 2"),
        ("raise KeyboardInterrupt", "exited with code 2"),
    ],
)
def test_a_check_that_ends_its_process_is_an_error(phases: Run, fault: str, how: str) -> None:
    """In the host phase that process is the session's own; a second one runs the rest."""
    found = phases(check_text("before"), check_text("dies", fault), check_text("after"))
    assert found.statuses() == {
        "system.before": "pass",
        "system.dies": "error",
        "system.after": "pass",
    }
    assert found.check("system.dies").reason == f"nobody could look: its session {how}"
    assert found.log.count("== host: ") == 2
    began = [event.id for event in found.events if isinstance(event, Started)]
    assert began == ["system.before", "system.dies", "system.after"], "none runs twice"


def test_a_killed_worker_costs_one_check_of_one_device(phases: Run) -> None:
    """The replacement is bound to the same device and runs what is left; the others go on."""
    found = phases(
        check_text("first", stage="kernel", arguments="device"),
        check_text(
            "dies",
            f"if device.name == 'gpu1': {DIE}\ntime.sleep(1.5)",
            stage="kernel",
            arguments="device",
            gates=False,
        ),
        check_text(
            "after",
            "result.note(device.name + os.environ['PREFLIGHT_DEVICE'])",
            stage="kernel",
            arguments="device, result",
        ),
        devices=("gpu0", "gpu1", "gpu2"),
    )
    statuses = found.statuses()
    assert statuses.pop("kernel.dies gpu1") == "error"
    assert set(statuses.values()) == {"pass"}
    assert len(statuses) == 8
    lost = found.check("kernel.dies", "gpu1")
    assert lost.reason == "nobody could look: its worker process died"
    for name in ("gpu0", "gpu1", "gpu2"):
        assert found.check("kernel.after", name).reason == name * 2
    assert found.log.count("== devices: ") == 1, "one session is enough"


@pytest.mark.long
def test_a_worker_that_dies_again_and_again(phases: Run) -> None:
    """Each death costs one check; the last check of a device may be one of them."""
    die = f"if device.name == 'gpu0': {DIE}\ntime.sleep(0.7)"
    names = ("one", "two", "three", "four")
    found = phases(
        *[check_text(n, die, stage="kernel", arguments="device", gates=False) for n in names],
        devices=("gpu0", "gpu1"),
    )
    for name in names:
        assert found.check(f"kernel.{name}", "gpu0").status == "error"
        assert found.check(f"kernel.{name}", "gpu1").status == "pass"
    assert found.log.count("== devices: ") == 1


@pytest.mark.long
def test_a_stopped_worker_ends_at_the_deadline_of_its_check(phases: Run) -> None:
    """SIGSTOP is a hang like any other."""
    found = phases(
        check_text(
            "stops",
            "os.kill(os.getpid(), signal.SIGSTOP)",
            stage="kernel",
            arguments="device",
            deadline="1s",
            gates=False,
        ),
        check_text("after", stage="kernel", arguments="device"),
    )
    assert found.check("kernel.stops", "gpu0").status == "error"
    assert found.check("kernel.after", "gpu0").status == "pass"


def test_a_session_that_does_not_end_is_killed(phases: Run) -> None:
    """A thread that a check left behind keeps nobody waiting once every result is there."""
    body = "import threading\nthreading.Thread(target=time.sleep, args=(600,)).start()"
    found = phases(check_text("leaves", body), check_text("later", stage="collective"))
    assert found.statuses() == {"system.leaves": "pass", "collective.later": "pass"}
    assert "== host: was ended by SIGKILL" in found.log


@pytest.mark.long
def test_a_session_that_is_stuck_before_its_checks_is_killed(
    phases: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that hangs while it is imported in a later phase costs the checks of that phase."""
    monkeypatch.setattr("preflight.harness.phases.IDLE_S", 4.0)
    stuck = "if os.environ['PREFLIGHT_PHASE'] == 'node': time.sleep(600)\n\n"
    found = phases(stuck, check_text("host"), check_text("late", stage="collective"))
    assert found.statuses() == {"system.host": "pass", "collective.late": "error"}
    assert "its session was ended by SIGKILL" in found.check("collective.late").reason


def test_grandchildren_of_a_check_belong_to_the_run(phases: Run) -> None:
    """A process that left the session of its check is found by the sweep at the end."""
    body = (
        "import subprocess\n"
        "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'],\n"
        "    start_new_session=True)\nresult.note(str(p.pid))"
    )
    found = phases(check_text("leaves", body, arguments="result"))
    pid = int(found.check("system.leaves").reason)
    assert found.left == (pid,)
    assert nothing_runs(found.folder)


def test_a_flood_of_output_is_bounded(phases: Run) -> None:
    """What a check prints on the descriptors of its session does not fill memory or disk."""
    body = "for _ in range(2048): os.write(1, b'x' * 1023 + b'\\n')"
    found = phases(check_text("floods", body), check_text("after"))
    assert set(found.statuses().values()) == {"pass"}
    assert len(found.log) < 100_000
    assert "bytes before this are left out" in found.log


# The contract, and files that cannot be read


def test_a_file_that_does_not_parse_is_an_error_and_the_others_run(
    phases: Run, tmp_path: Path
) -> None:
    """It is a result of its own in stage checks, once, and with the line in its evidence."""
    write_checks(tmp_path / "checks", "def check_x(:\n", name="check_800_broken.py")
    found = phases(
        check_text("good"),
        check_text("card", stage="kernel", arguments="device"),
        check_text("late", stage="collective"),
        devices=("gpu0", "gpu1"),
    )
    assert found.statuses() == {
        "system.good": "pass",
        "kernel.card gpu0": "pass",
        "kernel.card gpu1": "pass",
        "collective.late": "pass",
        "checks.check_800_broken": "error",
    }
    broken = found.check("checks.check_800_broken")
    assert broken.stage == "checks"
    assert "SyntaxError" in broken.evidence
    assert "check_800_broken.py" in broken.reason
    assert (found.record.verdict.word, found.record.verdict.exit_code) == ("INCONCLUSIVE", 3)


@pytest.mark.parametrize("text", ["1 / 0\n", "import no_such_module\n", "sys.exit(3)\n"])
def test_a_file_that_raises_is_an_error_and_the_others_run(
    phases: Run, tmp_path: Path, text: str
) -> None:
    """Whatever it raises while it is imported."""
    write_checks(tmp_path / "checks", text, name="check_800_raises.py")
    found = phases(check_text("good"))
    assert found.statuses() == {"system.good": "pass", "checks.check_800_raises": "error"}


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        ('def check_x():\n    """X."""\n', "a check needs a marker", 6),
        (check_text("x", doc=""), "a check needs a docstring", 6),
        (check_text("x", stage="systems"), "stage 'systems' is not on the path", 6),
        (
            '@pytest.mark.check("system.x")\ndef check_x():\n    """X."""\n',
            "takes keywords only",
            6,
        ),
        (check_text("x", stage="kernel"), "a check of stage kernel runs once per device", 6),
        (check_text("x", deadline="soon"), "deadline 'soon'", 6),
        (check_text("x", needs="system.y"), "needs is 'system.y'", 6),
    ],
)
def test_a_breach_of_the_contract_ends_the_run_before_any_check(
    phases: Run, tmp_path: Path, text: str, what: str, line: int
) -> None:
    """The file and the line are named, and no check has begun."""
    with pytest.raises(CheckContractError) as caught:
        phases(text)
    assert what in caught.value.what
    assert caught.value.where == f"{tmp_path}/checks/check_900_small.py:{line}"
    events = read_journal(tmp_path / "run")
    assert not [event for event in events if isinstance(event, (Started, Ended))]


def test_a_duplicate_id_is_refused_with_both_places(phases: Run, tmp_path: Path) -> None:
    """Also over two files."""
    other = write_checks(tmp_path / "checks", check_text("x"), name="check_100_other.py")
    with pytest.raises(CheckContractError, match=r"the id 'system\.x' is taken by") as caught:
        phases(check_text("x"))
    assert f"{other}/check_" in caught.value.what
    assert f"{other}/check_" in caught.value.where


@pytest.mark.parametrize(
    ("text", "words"),
    [("# nothing\n", "no check was found in it"), ("1 / 0\n", "no check could be collected")],
)
def test_nothing_collected_is_an_error(phases: Run, text: str, words: str) -> None:
    """A run without a check is never a pass."""
    with pytest.raises(CheckContractError, match=words):
        phases(text)


def test_a_marked_function_that_is_no_check_is_refused(phases: Run) -> None:
    """A slip of the finger in the name of a check does not make it vanish."""
    text = check_text("good") + check_text("disk").replace("def check_", "def chek_")
    with pytest.raises(CheckContractError, match="is no name of a check"):
        phases(text)


def test_a_check_that_returns_a_value_is_an_error(phases: Run) -> None:
    """``return False`` is no assertion, and nobody reads it."""
    found = phases(check_text("good") + check_text("answers", "return False"))
    assert found.check("system.good").status == "pass"
    assert found.check("system.answers").status == "error"
    assert "returned False" in found.check("system.answers").reason


def test_an_id_that_is_required_and_unknown_is_refused(phases: Run, tmp_path: Path) -> None:
    """A typo in [required] would otherwise require nothing."""
    plan = tmp_path / "plan.toml"
    plan.write_text('[required]\nchecks = ["system.god"]\n')
    with pytest.raises(CheckContractError, match=r"no check has the id 'system\.god'") as caught:
        phases(check_text("good"), plan_file=str(plan))
    assert "did you mean system.good?" in caught.value.mend


def test_two_files_of_one_name_in_two_folders(tmp_path: Path) -> None:
    """Neither hides the other."""
    folders = [write_checks(tmp_path / n, check_text(n, f"assert '{n}' in __file__")) for n in "ab"]
    found = Phases(tmp_path / "run", options(*folders), "gpu0")
    assert found.statuses() == {"system.a": "pass", "system.b": "pass"}


# Gates, needs, required


FAIL_ON_1 = "if device.name == 'gpu1': result.fail('wrong sum')"


def test_a_failure_blocks_its_device_and_what_spans_devices(phases: Run) -> None:
    """kernel.first fails on gpu1: forward and backward wait there alone, collective everywhere."""
    found = phases(
        card("first", FAIL_ON_1),
        card("block_f", stage="forward"),
        card("block_b", stage="backward"),
        check_text("together", stage="collective"),
        check_text("plan", stage="strategy"),
        check_text("write", stage="checkpoint"),
        devices=("gpu0", "gpu1"),
    )
    assert found.check("forward.block_f", "gpu0").status == "pass"
    assert found.check("backward.block_b", "gpu0").status == "pass"
    for name, place in (
        ("forward.block_f", "gpu1"),
        ("backward.block_b", "gpu1"),
        ("collective.together", None),
        ("strategy.plan", None),
        ("checkpoint.write", None),
    ):
        check = found.check(name, place)
        assert (check.status, check.blocked_by) == ("skip", "kernel.first on gpu1")
        assert check.reason == "blocked by kernel.first on gpu1"
    assert found.record.verdict.word == "NOT_READY"


@pytest.mark.long
def test_an_error_blocks_like_a_failure(phases: Run) -> None:
    """A lost worker has proved nothing, so what builds on it does not run."""
    found = phases(
        card("first", f"if device.name == 'gpu1': {DIE}"),
        card("block_f", stage="forward"),
        devices=("gpu0", "gpu1"),
    )
    assert found.check("forward.block_f", "gpu0").status == "pass"
    assert found.check("forward.block_f", "gpu1").blocked_by == "kernel.first on gpu1"
    assert found.record.verdict.word == "INCONCLUSIVE"


@pytest.mark.long
def test_a_warning_blocks_nothing(phases: Run) -> None:
    """Nor does a check that does not gate, or that is not required."""
    found = phases(
        card("warns", "result.warn('hot')"),
        card("soft", "result.fail('x')", gates=False),
        card("optional", "result.fail('x')", required=False),
        card("block_f", stage="forward"),
    )
    assert found.check("forward.block_f", "gpu0").status == "pass"


@pytest.mark.long
def test_a_gate_through_a_stage_that_was_not_chosen_is_open(phases: Run) -> None:
    """Without forward in between, backward is reached from kernel by no gate."""
    found = phases(
        card("first", "result.fail('wrong sum')"),
        card("block_f", stage="forward"),
        card("block_b", stage="backward"),
        selected=("kernel", "backward"),
    )
    assert found.statuses() == {"kernel.first gpu0": "fail", "backward.block_b gpu0": "pass"}


def test_needs_hold_within_a_stage(phases: Run) -> None:
    """What needs a failed check is blocked by it; what needs that one is blocked by the first."""
    found = phases(
        check_text("a", "assert False, 'broken'"),
        check_text("b", needs=("system.a",)),
        check_text("c", needs=("system.b",)),
        check_text("d"),
    )
    assert found.statuses() == {
        "system.a": "fail",
        "system.b": "skip",
        "system.c": "skip",
        "system.d": "pass",
    }
    assert found.check("system.b").blocked_by == found.check("system.c").blocked_by == "system.a"


@pytest.mark.long
def test_a_skip_does_not_block(phases: Run) -> None:
    """What is not applicable leaves the gate open."""
    found = phases(card("first", "pytest.skip('not here')"), card("block_f", stage="forward"))
    assert found.check("forward.block_f", "gpu0").status == "pass"


@pytest.mark.parametrize(
    ("table", "required"),
    [
        ("", {"system.a": True, "system.b": False, "order.c": True}),
        (
            '[required]\nstages = ["order"]\n',
            {"system.a": True, "system.b": False, "order.c": True},
        ),
        (
            '[required]\nchecks = ["system.b"]\n',
            {"system.a": True, "system.b": True, "order.c": True},
        ),
    ],
)
def test_the_plan_says_what_is_required(
    phases: Run, tmp_path: Path, table: str, required: dict[str, bool]
) -> None:
    """It adds to what the checks require of themselves, and takes nothing away."""
    plan = tmp_path / "plan.toml"
    plan.write_text(table)
    found = phases(
        check_text("a"),
        check_text("b", required=False),
        check_text("c", stage="order"),
        plan_file=str(plan),
    )
    assert {check.id: check.required for check in found.record.checks} == required


# What a check may ask for


@pytest.mark.long
def test_each_device_keeps_its_probe_from_check_to_check(phases: Run, fault_probes: Path) -> None:
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


def test_scratch_folders_are_of_the_run_and_empty(phases: Run) -> None:
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


def test_a_check_of_ten_lines(tmp_path: Path, phases: Run) -> None:
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


# Following a run


def test_every_event_is_watched_once_and_in_order(phases: Run) -> None:
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
