"""Answers of calls that a dead file server may never return from."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from preflight.facts import Absence

_T = TypeVar("_T")


def answer_within(seconds: float, what: str, call: Callable[[], _T]) -> _T | Absence:
    """What ``call`` returns, or an Absence once ``seconds`` have gone by.

    The thread that waits is left behind: a call in the kernel cannot be taken back, and it ends
    with this process. What ``call`` raises is raised here.
    """
    answers: list[_T] = []
    errors: list[BaseException] = []

    def ask() -> None:
        try:
            answers.append(call())
        except BaseException as error:  # noqa: BLE001 - handed to the caller below
            errors.append(error)

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not answers:
        return Absence(what=what, reason="deadline", detail=f"no answer within {seconds:g} s")
    return answers[0]
