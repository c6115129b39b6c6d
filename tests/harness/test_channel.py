"""A probe process seen from its supervisor."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults.runs import PATIENCE_S, count_descriptors, is_alive, open_files, wait_until

from preflight import clock
from preflight.harness.channel import Channel, Message
from preflight.harness.outcomes import CannotLook


@pytest.fixture
def channel(fault_probes: Path) -> Iterator[Channel]:
    """A probe process that is ready."""
    channel = Channel(sys.executable)
    assert await_answer(channel)["event"] == "ready"
    yield channel
    channel.close()


def await_answer(channel: Channel) -> Message:
    """Its next message."""
    message = channel.await_message(clock.seconds() + PATIENCE_S)
    assert message is not None, channel.child.output.text()
    return message


def test_a_probe_says_that_it_is_ready(fault_probes: Path) -> None:
    """The first message names the process and its Python."""
    channel = Channel(sys.executable)
    message = await_answer(channel)
    channel.close()
    assert (message["event"], message["pid"]) == ("ready", channel.child.pid)
    assert message["python"] == sys.version.split()[0]


def test_commands_are_answered_one_after_another(channel: Channel) -> None:
    """Two commands sent at once have two answers, in order, from one process."""
    channel.send("behaviour.echo", {"turn": 1, "text": "ü\n"})
    channel.send("behaviour.echo", {"turn": 2})
    first, second = await_answer(channel), await_answer(channel)
    assert first["value"]["params"] == {"turn": 1, "text": "ü\n"}
    assert second["value"]["params"] == {"turn": 2}
    assert first["value"]["pid"] == second["value"]["pid"] == channel.child.pid


def test_progress_is_kept_apart_from_answers(channel: Channel) -> None:
    """A step that was said is remembered, and is no answer."""
    assert channel.step == "starting"
    channel.send("behaviour.misbehave", {"how": "flood", "step": "matmul bfloat16"})
    assert await_answer(channel)["event"] == "returned"
    assert channel.step == "matmul bfloat16"
    assert channel.last_progress == {"event": "progress", "step": "matmul bfloat16"}


def test_a_flood_of_output_blocks_nobody(channel: Channel) -> None:
    """A megabyte on the standard streams is read while the answer is awaited; the end is kept."""
    channel.send("behaviour.misbehave", {"how": "flood"})
    assert await_answer(channel)["value"] == {"wrote": 1 << 20}
    assert channel.child.output.text(settle_s=0.1).endswith("the last line\n")


def test_what_is_printed_is_no_message(channel: Channel) -> None:
    """Standard output belongs to the probed libraries."""
    channel.send("behaviour.say", {"message": '{"event": "returned", "value": 0}'})
    assert await_answer(channel)["value"] == {}
    assert '"EVENT"' in channel.child.output.text(settle_s=0.1)


def test_the_probed_code_cannot_eat_commands(channel: Channel) -> None:
    """Its standard input is empty, and the next command still arrives."""
    channel.send("behaviour.read_input", {})
    channel.send("behaviour.echo", {})
    assert await_answer(channel)["value"] == {"read": "", "descriptor": ""}
    assert await_answer(channel)["value"]["params"] == {}


def test_numbers_that_json_lacks_travel_as_none(channel: Channel) -> None:
    """Infinity and NaN come as None."""
    channel.send("behaviour.infinite", {})
    assert await_answer(channel)["value"] == {"up": None, "not": [None, 1.0]}


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("behaviour.nothing", "AttributeError"),
        ("nowhere.at_all", "ModuleNotFoundError"),
        ("behaviour.say", "TypeError"),
    ],
)
def test_a_call_that_is_none_is_answered(channel: Channel, call: str, kind: str) -> None:
    """A wrong name or wrong parameters raise in the probe, which goes on."""
    channel.send(call, {})
    message = await_answer(channel)
    assert (message["event"], message["type"]) == ("raised", kind)
    channel.send("behaviour.echo", {})
    assert await_answer(channel)["event"] == "returned"


def test_the_facts_of_an_exception_cross_the_pipe(channel: Channel) -> None:
    """Type, message, errno and traceback arrive."""
    channel.send("behaviour.raise_error", {"message": "full", "errno": 28})
    message = await_answer(channel)
    assert (message["type"], message["errno"], message["code"]) == ("OSError", 28, None)
    assert "raise OSError(errno, message)" in message["traceback"]
    channel.send("behaviour.misbehave", {"how": "exhaust memory"})
    assert await_answer(channel)["out_of_memory"] is True


@pytest.mark.parametrize("fault", ["leave", "interrupt"])
def test_leaving_is_a_fact_too(channel: Channel, fault: str) -> None:
    """SystemExit and KeyboardInterrupt of the probed code are answers."""
    channel.send("behaviour.misbehave", {"how": fault})
    assert await_answer(channel)["type"] in ("SystemExit", "KeyboardInterrupt")


def test_an_end_is_seen_at_once(channel: Channel) -> None:
    """None comes long before the deadline when the process is gone."""
    channel.send("behaviour.misbehave", {"how": "exit silently"})
    assert channel.await_message(clock.seconds() + PATIENCE_S * 10) is None
    assert not channel.child.is_running()


def test_a_deadline_is_told_from_an_end(channel: Channel) -> None:
    """None with a running child means that time was up."""
    channel.send("behaviour.misbehave", {"how": "hang holding the GIL"})
    assert channel.await_message(clock.seconds() + 0.3) is None
    assert channel.child.is_running()


def test_a_last_word_before_the_end_is_heard(channel: Channel) -> None:
    """What a probe sent before it died is not lost."""
    channel.send("behaviour.send", {"event": "packages", "names": ["a"]})
    channel.send("behaviour.misbehave", {"how": "be killed", "step": "last step"})
    wait_until(lambda: not channel.child.is_running(), "the end of the probe")
    assert await_answer(channel) == {"event": "packages", "names": ["a"]}
    assert await_answer(channel)["event"] == "returned"
    assert channel.await_message(clock.seconds()) is None
    assert channel.step == "last step"


def test_a_command_to_a_dead_probe_is_no_error(channel: Channel) -> None:
    """That it is gone is noticed when the answer is awaited."""
    os.kill(channel.child.pid, 9)
    wait_until(lambda: not channel.child.is_running(), "the end of the probe")
    channel.send("behaviour.echo", {})
    assert channel.await_message(clock.seconds() + PATIENCE_S) is None


def test_a_probe_that_lost_its_pipe_does_not_spin(channel: Channel) -> None:
    """Where the reply pipe ends and the process lives, waiting costs no processor time."""
    channel.send("behaviour.misbehave", {"how": "lose the pipe"})
    wait_until(lambda: bool(channel.messages() or not channel.is_open), "the end of the pipe")
    spent_s = time.process_time()
    assert channel.await_message(clock.seconds() + 1) is None
    assert channel.child.is_running()
    assert time.process_time() - spent_s < 0.2


def test_the_reply_pipe_is_not_inherited_by_grandchildren(marked: Path, channel: Channel) -> None:
    """A process that the probed code leaves behind does not hold the pipe open."""
    channel.send("behaviour.leave_grandchild", {})
    pid = await_answer(channel)["value"]["pid"]
    pipe = f"pipe:[{os.fstat(channel.fileno()).st_ino}]"
    try:
        assert pipe in open_files(channel.child.pid)
        assert pipe not in open_files(pid)
    finally:
        os.kill(pid, 9)


def test_a_probe_gets_the_user_environment_and_what_is_added(fault_probes: Path) -> None:
    """Variables given to the channel are in the probe's environment; those of the pipe are not."""
    channel = Channel(sys.executable, {"NCCL_DEBUG": "WARN"})
    await_answer(channel)
    for name, value in (("NCCL_DEBUG", "WARN"), ("PREFLIGHT_REPLY_FD", None), ("HOME", None)):
        channel.send("behaviour.environment", {"name": name})
        expected = os.environ.get("HOME") if name == "HOME" else value
        assert await_answer(channel)["value"]["value"] == expected
    channel.close()


def test_the_folder_of_the_probes_shadows_nothing(channel: Channel) -> None:
    """A probe module's name is not importable from the top: the user's module has it."""
    channel.send("behaviour.echo", {})
    await_answer(channel)
    channel.send("behaviour.imported_from_the_top", {"name": "behaviour"})
    assert await_answer(channel)["type"] == "AttributeError"


def test_closing_kills_and_may_be_repeated(fault_probes: Path) -> None:
    """The process is gone after close, and closing again does nothing."""
    before = count_descriptors()
    channel = Channel(sys.executable)
    await_answer(channel)
    channel.close()
    channel.close()
    assert not is_alive(channel.child.pid)
    channel.child.output.text(settle_s=PATIENCE_S)
    assert count_descriptors() == before


@pytest.mark.parametrize("kind", ["missing", "no program"])
def test_an_interpreter_that_cannot_be_started(kind: str, tmp_path: Path) -> None:
    """It stops us from looking, and the message names it and the flag."""
    path = tmp_path / "python"
    if kind == "no program":
        path.write_text("not a program")
    before = count_descriptors()
    with pytest.raises(CannotLook, match=r"the interpreter .*/python cannot be started") as caught:
        Channel(str(path))
    assert "--python" in caught.value.action
    assert count_descriptors() == before


def test_a_probe_ends_when_its_supervisor_dies(fault_probes: Path, marked: Path) -> None:
    """SIGKILL of the supervisor takes a probe with it, even one that hangs in C."""
    code = (
        "import sys, time; from preflight import clock; from pathlib import Path\n"
        "import preflight.harness.channel as c\n"
        f"c.SERVE = Path({str(fault_probes / 'serve.py')!r})\n"
        "probe = c.Channel(sys.executable); probe.await_message(clock.seconds() + 60)\n"
        "probe.send('behaviour.misbehave', {'fault': 'hang holding the GIL'})\n"
        "print(probe.child.pid, flush=True); time.sleep(600)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as supervisor:
        assert supervisor.stdout is not None
        pid = int(supervisor.stdout.readline())
        assert is_alive(pid)
        supervisor.kill()
    wait_until(lambda: not is_alive(pid), "the end of the probe")
