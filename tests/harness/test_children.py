"""The launcher: own session, deadline, bounded output, and how a child ended."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from faults.runs import PATIENCE_S, count_descriptors, is_alive, wait_until

from preflight.harness.children import (
    OUTPUT_BYTES,
    SET_ASIDE,
    Child,
    Exit,
    run_child,
    signal_name,
    user_environment,
)


def python(code: str, *, deadline_s: float = PATIENCE_S, **fields: Any) -> Exit:
    """Run a line of Python to its end or its deadline."""
    return run_child([sys.executable, "-c", code], deadline_s=deadline_s, **fields)


def test_the_exit_code_and_both_streams_are_kept() -> None:
    """A child that ends by itself gives its code and what it wrote on either stream."""
    end = python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)")
    assert (end.code, end.signal_name, end.timed_out, end.died) == (3, None, False, True)
    assert set(end.output.split()) == {"out", "err"}
    assert end.sentence() == "exited with code 3"


def test_a_segmentation_fault_is_named() -> None:
    """A child that a signal ended has no code; the signal is named."""
    end = python("import ctypes; ctypes.string_at(0)")
    assert (end.code, end.signal_name, end.timed_out) == (None, "SIGSEGV", False)
    assert end.sentence() == "was ended by SIGSEGV"


@pytest.mark.parametrize(
    "code",
    ["import time; time.sleep(600)", "import ctypes; ctypes.PyDLL(None).sleep(600)"],
    ids=["in Python", "in C with the GIL held"],
)
def test_a_hang_ends_at_the_deadline(code: str) -> None:
    """Whatever the child does, its parent ends it."""
    end = python(code, deadline_s=0.5)
    assert (end.timed_out, end.died) == (True, True)
    assert 0.5 <= end.duration_s < PATIENCE_S
    assert end.sentence() == f"did not end within {end.duration_s:.0f} s"


def test_a_child_that_ignores_sigterm_is_killed() -> None:
    """The deadline does not ask."""
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
    assert python(code, deadline_s=0.5).died


def test_a_stopped_child_is_killed() -> None:
    """SIGKILL reaches a process in state T, and its state is told before."""
    child = Child([sys.executable, "-c", "import os; os.kill(os.getpid(), 19)"])
    wait_until(lambda: child.state() == "T", "the stop")
    assert child.is_running()
    assert child.kill()
    assert child.exit().signal_name == "SIGKILL"


def test_the_state_of_a_gone_process_is_empty() -> None:
    """Nothing can be said of a process that is no more."""
    child = Child([sys.executable, "-c", "pass"])
    assert child.wait(PATIENCE_S)
    assert child.kill()
    assert child.state() == ""


def test_a_megabyte_of_output_is_kept_from_its_end() -> None:
    """Output never blocks the child, and of a flood the last 64 KiB stay."""
    code = "import sys\nfor i in range(1024): sys.stdout.write('x' * 1023 + '\\n')\nprint('end')"
    end = python(code)
    assert end.code == 0
    first, _, rest = end.output.partition("\n")
    assert first == f"[{(1 << 20) + 4 - OUTPUT_BYTES} bytes before this are left out]"
    assert len(rest) == OUTPUT_BYTES
    assert rest.endswith("x\nend\n")


def test_output_that_is_no_text_is_kept_readable() -> None:
    """Bytes that are no UTF-8 become replacement characters."""
    assert python("import os; os.write(1, b'\\xff\\xfeok')").output == "��ok"


def test_a_grandchild_in_the_group_dies_with_the_child() -> None:
    """``run_child`` leaves nothing of the group, even after a good end."""
    code = (
        "import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', "
        "'import time; time.sleep(600)']).pid)"
    )
    end = python(code)
    pid = int(end.output)
    assert end.code == 0
    wait_until(lambda: not is_alive(pid), "the grandchild's end")


def test_a_grandchild_that_holds_the_output_does_not_delay_the_result(marked: Path) -> None:
    """A process that left the group keeps the pipe open; its output is not waited for."""
    code = (
        "import subprocess, sys; print(subprocess.Popen([sys.executable, '-c', "
        "'import time; time.sleep(600)'], start_new_session=True).pid)"
    )
    began_s = time.monotonic()
    end = python(code)
    assert time.monotonic() - began_s < PATIENCE_S
    assert is_alive(int(end.output)), "only the sweep of the run finds it"


def test_a_child_has_a_session_of_its_own() -> None:
    """Ctrl-C at the terminal reaches the controller alone."""
    end = python("import os; print(os.getsid(0) == os.getpid() == os.getpgid(0))")
    assert end.output == "True\n"


def test_only_given_descriptors_are_inherited() -> None:
    """A child sees the pipe it was given and no other."""
    reading, writing = os.pipe()
    other_reading, other_writing = os.pipe()
    os.set_inheritable(other_writing, False)
    try:
        code = (
            f"import os; os.write({writing}, b'mine')\n"
            f"try: os.fstat({other_writing})\nexcept OSError: print('closed')"
        )
        assert python(code, give=(writing,)).output == "closed\n"
        assert os.read(reading, 10) == b"mine"
    finally:
        for descriptor in (reading, writing, other_reading, other_writing):
            os.close(descriptor)


def test_standard_input_is_empty_without_commands() -> None:
    """A child that reads gets the end of file, never the terminal."""
    assert python("import sys; print(repr(sys.stdin.read()))").output == "''\n"


def test_commands_reach_the_child_and_closing_ends_them() -> None:
    """Lines are written as they are; the end of the input is seen by the child."""
    child = Child([sys.executable, "-c", "import sys; print(sys.stdin.read())"], commands=True)
    child.write(b"one\n")
    child.write(b"two\n")
    child.close_input()
    assert child.wait(PATIENCE_S)
    child.kill()
    assert child.exit().output == "one\ntwo\n\n"


def test_a_command_to_a_child_that_is_gone_is_told() -> None:
    """Writing to a dead child raises BrokenPipeError and never a signal."""
    child = Child([sys.executable, "-c", "pass"], commands=True)
    assert child.wait(PATIENCE_S)
    with pytest.raises(BrokenPipeError):
        child.write(b"hello\n")
    child.kill()


def test_signals_reach_the_child_alone() -> None:
    """``send_signal`` does not touch the child's own children."""
    code = (
        "import subprocess, sys; p = subprocess.Popen([sys.executable, '-c', "
        "'import time; time.sleep(600)']); print(p.pid, flush=True); p.wait()"
    )
    child = Child([sys.executable, "-c", code])
    wait_until(lambda: child.output.text(settle_s=0.05).strip().isdigit(), "the grandchild")
    grandchild = int(child.output.text(settle_s=0.05))
    child.send_signal(signal.SIGTERM)
    assert child.wait(PATIENCE_S)
    assert is_alive(grandchild)
    child.kill()
    wait_until(lambda: not is_alive(grandchild), "the grandchild's end")
    assert child.exit().signal_name == "SIGTERM"


def test_a_program_that_is_not_there_leaks_nothing() -> None:
    """OSError is raised, and both ends of the output pipe are closed."""
    before = count_descriptors()
    with pytest.raises(FileNotFoundError):
        Child(["/nowhere/python"])
    assert count_descriptors() == before


def test_the_working_folder_can_be_chosen(tmp_path: Path) -> None:
    """A child starts where it is told to."""
    assert python("import os; print(os.getcwd())", folder=tmp_path).output == f"{tmp_path}\n"


def test_a_process_that_could_not_be_killed_says_so() -> None:
    """State D is an outcome of its own."""
    end = Exit(code=None, signal_name=None, timed_out=True, died=False, output="", duration_s=1.0)
    assert end.sentence() == "could not be killed: it is stuck inside the kernel"


@pytest.mark.parametrize(("number", "name"), [(11, "SIGSEGV"), (9, "SIGKILL"), (99, "signal 99")])
def test_signals_have_names(number: int, name: str) -> None:
    """A number without a name is still told."""
    assert signal_name(number) == name


def test_probes_get_the_environment_of_the_user_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """What our pytest set aside returns, what it set itself does not, and ours is added."""
    monkeypatch.setenv(SET_ASIDE, json.dumps({"PYTEST_ADDOPTS": "-x", "PYTEST_THEME": "a"}))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw0")
    monkeypatch.setenv("MINE", "kept")
    found = user_environment(ADDED="yes")
    assert {k: v for k, v in found.items() if k.startswith("PYTEST_")} == {
        "PYTEST_ADDOPTS": "-x",
        "PYTEST_THEME": "a",
    }
    assert (found["MINE"], found["ADDED"]) == ("kept", "yes")
    assert SET_ASIDE not in found


def test_outside_our_pytest_nothing_is_taken_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The controller itself has set nothing aside, and the user's own variables stay."""
    monkeypatch.delenv(SET_ASIDE, raising=False)
    monkeypatch.setenv("PYTEST_ADDOPTS", "-x")
    assert user_environment()["PYTEST_ADDOPTS"] == "-x"
