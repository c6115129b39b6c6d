"""One device's probe: what each misbehaviour becomes, and that the next call works."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults.runs import PATIENCE_S, is_alive

from preflight.harness.outcomes import CannotLook, ProbeFailed
from preflight.harness.probing import Probe


@pytest.fixture
def probe(fault_probes: Path) -> Iterator[Probe]:
    """A probe whose functions misbehave."""
    probe = Probe(sys.executable)
    yield probe
    probe.close()


def fail(probe: Probe, fault: str, *, deadline_s: float = PATIENCE_S) -> ProbeFailed:
    """The failure that a fault becomes."""
    with pytest.raises(ProbeFailed) as caught:
        probe.call("behaviour.misbehave", deadline_s=deadline_s, how=fault, step="matmul int8")
    return caught.value


def echo(probe: Probe) -> int:
    """Process id of the probe, by a call that goes well."""
    pid: int = probe.call("behaviour.echo", deadline_s=PATIENCE_S)["pid"]
    return pid


def test_one_process_serves_call_after_call(probe: Probe) -> None:
    """Good answers keep the process."""
    assert echo(probe) == echo(probe)


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("crash", r"killed by SIGSEGV in matmul int8"),
        ("be killed", r"killed by SIGKILL in matmul int8"),
        ("exit silently", r"exited with code 7 without a word, in matmul int8"),
        ("close everything", r"exited with code 1 without a word, in matmul int8"),
        ("leave", r"SystemExit: the library wants to leave \(in matmul int8\)"),
        ("interrupt", r"KeyboardInterrupt \(in matmul int8\)"),
        ("exhaust memory", r"MemoryError \(in matmul int8\)"),
    ],
)
def test_what_the_probed_code_does_is_a_failure(probe: Probe, fault: str, cause: str) -> None:
    """Each is told in a sentence with the step, and the next call has a new process."""
    before = echo(probe)
    assert re.fullmatch(cause, fail(probe, fault).cause)
    assert not is_alive(before)
    assert echo(probe) != before


@pytest.mark.parametrize("fault", ["hang", "hang holding the GIL"])
def test_a_hang_ends_at_the_deadline(probe: Probe, fault: str) -> None:
    """The sentence names the seconds and the step; the process is gone."""
    before = echo(probe)
    assert fail(probe, fault, deadline_s=1).cause == "no answer within 1 s, in matmul int8"
    assert not is_alive(before)
    assert echo(probe) != before


def test_a_stopped_probe_is_told_from_one_that_hangs(probe: Probe) -> None:
    """State T is named."""
    cause = fail(probe, "stop", deadline_s=1).cause
    assert cause == "no answer within 1 s, in matmul int8, its process is stopped"


def test_an_exception_brings_its_traceback_and_output(probe: Probe) -> None:
    """The first line of the message is the cause; the rest is evidence."""
    with pytest.raises(ProbeFailed) as caught:
        probe.call("behaviour.raise_error", deadline_s=PATIENCE_S, message="bad\nsecond line")
    assert caught.value.cause.startswith("RuntimeError: bad")
    assert "second line" not in caught.value.cause
    assert "second line" in caught.value.evidence
    assert "the library printed this before" in caught.value.evidence


def test_a_very_long_message_is_cut(probe: Probe) -> None:
    """A cause fits a line of a report."""
    with pytest.raises(ProbeFailed) as caught:
        probe.call("behaviour.raise_error", deadline_s=PATIENCE_S, message="x" * 10_000)
    assert len(caught.value.cause) == 500


def test_output_before_a_crash_is_evidence(probe: Probe) -> None:
    """What was printed in earlier calls of the same process is kept."""
    probe.call("behaviour.say", deadline_s=PATIENCE_S, message="a last word")
    assert "a last word" in fail(probe, "crash").evidence


def test_messages_besides_the_answer_are_kept_for_one_call(probe: Probe) -> None:
    """``partial`` holds those of the last call, also when it failed."""
    probe.call("behaviour.send", deadline_s=PATIENCE_S, event="packages", names=["torch"])
    assert probe.partial == [{"event": "packages", "names": ["torch"]}]
    echo(probe)
    assert probe.partial == []


def test_variables_reach_the_process(fault_probes: Path) -> None:
    """What is given to the probe is in its environment."""
    probe = Probe(sys.executable, {"CUDA_LAUNCH_BLOCKING": "1"})
    try:
        name = "CUDA_LAUNCH_BLOCKING"
        answer = probe.call("behaviour.environment", deadline_s=PATIENCE_S, name=name)
    finally:
        probe.close()
    assert answer["value"] == "1"


def test_closing_ends_the_process_and_a_call_starts_another(probe: Probe) -> None:
    """A closed probe can be used again."""
    before = echo(probe)
    probe.close()
    probe.close()
    assert not is_alive(before)
    assert echo(probe) != before


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("exit 3", "exited with code 3 before it answered"),
        ("kill -SEGV $$", "was ended by SIGSEGV before it answered"),
        ("sleep 600", "did not answer within 1 s"),
    ],
)
def test_an_interpreter_that_does_not_come_up(
    line: str, sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It stops us from looking: an error, no failure; what it printed is evidence."""
    monkeypatch.setattr("preflight.harness.probing.START_DEADLINE_S", 1.0)
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\necho no home\n{line}\n")
    python.chmod(0o755)
    probe = Probe(str(python))
    with pytest.raises(CannotLook) as caught:
        probe.call("behaviour.echo", deadline_s=PATIENCE_S)
    assert caught.value.cause == f"the interpreter {python} {sentence}"
    assert caught.value.evidence == "no home\n"
    assert str(python) in caught.value.action
    probe.close()


def test_an_answer_in_the_last_moment_counts(probe: Probe) -> None:
    """With a generous deadline the answer itself is what comes, not the time that passed."""
    answer = probe.call("behaviour.misbehave", deadline_s=PATIENCE_S, how="flood")
    assert answer == {"wrote": 1 << 20}
