"""Calls that may never return."""

from __future__ import annotations

import threading

import pytest

from preflight.facts import Absence
from preflight.hardware.deadline import answer_within


def test_an_answer_is_handed_on() -> None:
    """What the call returns comes back, None too."""
    assert answer_within(30, "x", lambda: 7) == 7
    assert answer_within(30, "x", lambda: None) is None


def test_a_call_that_never_returns_is_left_behind() -> None:
    """Its absence names what was asked and that time ran out; the thread holds no exit up."""
    never = threading.Event()
    answer = answer_within(0.05, "/mnt/nas", never.wait)
    assert isinstance(answer, Absence)
    assert (answer.what, answer.reason) == ("/mnt/nas", "deadline")
    waiting = [thread for thread in threading.enumerate() if thread.daemon]
    never.set()
    for thread in waiting:
        thread.join(30)


def test_what_the_call_raises_is_raised() -> None:
    """An error of ours is not hidden behind an absence."""

    def fail() -> None:
        raise RuntimeError("a mistake")

    with pytest.raises(RuntimeError, match="a mistake"):
        answer_within(30, "x", fail)
