"""The same answer however a text was pasted."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest

from preflight.explanation import explain_stream

from .cases import Case, cases, statuses

DUMPS = [case for case in cases() if case.dump]


def each_line(before: str) -> Callable[[str], str]:
    """Puts something before each line."""
    return lambda text: "".join(before + line for line in text.splitlines(keepends=True))


WRAPPINGS: dict[str, Callable[[str], str]] = {
    "quoted": each_line("> "),
    "quoted twice": each_line("> > "),
    "indented": each_line("    "),
    "with a tab": each_line("\t"),
    "by torchrun": each_line("[rank0]: "),
    "by Ray": each_line("(RayWorkerWrapper pid=1234, ip=10.0.0.3) "),
    "by Kubernetes": each_line("2025-01-01T10:00:00.123456789Z stdout F "),
    "by docker compose": each_line("worker-1  | "),
    "without blank lines": lambda t: "".join(x for x in t.splitlines(True) if x.strip()),
    "with doubled line ends": lambda t: t.replace("\n", "\n\n"),
    "with blanks to the width": lambda t: t.replace("\n", " " * 60 + "\n"),
    "in a fence": lambda t: f"Here is my machine:\n```text\n{t}\n```\nThanks!\n",
    "in HTML": lambda t: f"<details>\n<summary>`collect_env`</summary>\n\n{t}\n</details>\n",
    "in JSON": lambda t: json.dumps({"body": t}),
    "with carriage returns": lambda t: t.replace("\n", "\r\n"),
    "with junk around": lambda t: f"Hello,\n$ run it\n{t}\nAny idea? It worked last week.\n",
    "in colours": lambda t: "".join(f"\x1b[1;31m{x}\x1b[0m\n" for x in t.splitlines()),
    "with hard blanks": lambda t: t.replace("  ", "\u00a0\u00a0"),
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_wrapping_changes_no_answer(wrapping: str) -> None:
    """Quotes, prefixes, colours and line ends are taken off before anything is read."""
    for case in DUMPS:
        assert statuses(WRAPPINGS[wrapping](case.text)) == statuses(case.text), case.id


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"])
def test_encoding_changes_no_answer(encoding: str) -> None:
    """What PowerShell and editors write is read as what it is, with its mark or without."""
    for case in DUMPS[:12]:
        answer = explain_stream(io.BytesIO(case.text.encode(encoding)))
        found = {name: one.status for name, one in answer.stages.items()}
        assert found == statuses(case.text), case.id


@pytest.mark.parametrize("case", DUMPS, ids=lambda case: case.id)
def test_a_cut_text_is_never_answered_the_other_way(case: Case) -> None:
    """Wherever it is cut, no stage that fails in the whole passes in its first or second half.

    One paste holds the dumps of two builds, and its second half is the one that works.
    """
    whole, lines = statuses(case.text), case.text.splitlines(keepends=True)
    failed = [stage for stage, status in whole.items() if status == "fail"]
    for cut in range(0, len(lines), 5):
        for part in (lines[:cut], lines[cut:]):
            found = statuses("".join(part))
            passed = [stage for stage in failed if found[stage] == "pass"]
            assert not passed or (case.id, passed) == ("003", ["arch"]), cut


def test_two_dumps_in_one_paste_are_both_judged() -> None:
    """A build that fails and one that works: the failure is told."""
    broken = next(case for case in DUMPS if case.id == "010").text
    working = next(case for case in DUMPS if case.id == "130").text
    for text in (broken + working, working + broken):
        assert statuses(text)["driver"] == "fail"
