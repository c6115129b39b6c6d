"""What a check does to its process ends that check, at its deadline at the latest."""

from __future__ import annotations

import pytest
from faults.runs import (
    RunPhases,
    check_text,
    is_alive,
    nothing_runs,
)

from preflight.events import Started

HANG = "ctypes.PyDLL(None).sleep(600)"
DIE = "os.kill(os.getpid(), signal.SIGKILL)"


@pytest.mark.parametrize(
    "stage",
    [
        "system",
        pytest.param("kernel", marks=pytest.mark.long),
        pytest.param("collective", marks=pytest.mark.long),
    ],
)
def test_a_check_that_hangs_ends_and_the_rest_runs(phases: RunPhases, stage: str) -> None:
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
def test_a_check_that_ends_its_process_is_an_error(phases: RunPhases, fault: str, how: str) -> None:
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


def test_a_killed_worker_costs_one_check_of_one_device(phases: RunPhases) -> None:
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
def test_a_worker_that_dies_again_and_again(phases: RunPhases) -> None:
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
def test_a_stopped_worker_ends_at_the_deadline_of_its_check(phases: RunPhases) -> None:
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


def test_a_session_that_does_not_end_is_killed(phases: RunPhases) -> None:
    """A thread that a check left behind keeps nobody waiting once every result is there."""
    body = "import threading\nthreading.Thread(target=time.sleep, args=(600,)).start()"
    found = phases(check_text("leaves", body), check_text("later", stage="collective"))
    assert found.statuses() == {"system.leaves": "pass", "collective.later": "pass"}
    assert "== host: was ended by SIGKILL" in found.log


@pytest.mark.long
def test_a_session_that_is_stuck_before_its_checks_is_killed(
    phases: RunPhases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that hangs while it is imported in a later phase costs the checks of that phase."""
    monkeypatch.setattr("preflight.harness.phases.IDLE_S", 4.0)
    stuck = "if os.environ['PREFLIGHT_PHASE'] == 'node': time.sleep(600)\n\n"
    found = phases(stuck, check_text("host"), check_text("late", stage="collective"))
    assert found.statuses() == {"system.host": "pass", "collective.late": "error"}
    assert "its session was ended by SIGKILL" in found.check("collective.late").reason


def test_grandchildren_of_a_check_belong_to_the_run(phases: RunPhases) -> None:
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


def test_a_flood_of_output_is_bounded(phases: RunPhases) -> None:
    """What a check prints on the descriptors of its session does not fill memory or disk."""
    body = "for _ in range(2048): os.write(1, b'x' * 1023 + b'\\n')"
    found = phases(check_text("floods", body), check_text("after"))
    assert set(found.statuses().values()) == {"pass"}
    assert len(found.log) < 100_000
    assert "bytes before this are left out" in found.log
