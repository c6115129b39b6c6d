"""The public reports in ``tests/data/cases``, and the score of an answer to one."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

from preflight.explanation import Explanation, explain_stream

FOLDER = Path(__file__).parents[2] / "data" / "cases"

Score = Literal["right", "undecided", "wrong"]


class Case(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One report: what was pasted, and what is true of the machine."""

    id: str
    kind: str
    """Its letter and what it is: ``a wheel-lacks-arch``."""
    source: str
    """Where it was reported, publicly."""
    gpu: str | None
    gpu_arch: str | None
    symptom: str
    expected: dict[str, str]
    """Status by stage, of the stages that it speaks of; ``skip`` is not reached."""
    decidable: str
    """Whether the text alone decides, in the words of whoever read the report."""
    dump: str | None
    """File with the text that was pasted, beside this one."""

    @property
    def text(self) -> str:
        """The dump, or the line that describes the symptom where there is none."""
        if self.dump is None:
            return self.symptom
        return (FOLDER / self.dump).read_text(encoding="utf-8")

    @property
    def must_decide(self) -> bool:
        """Whether the dump alone is said to decide."""
        return self.decidable.startswith("yes")


@cache
def cases() -> tuple[Case, ...]:
    """All of them, by number."""
    files = sorted(FOLDER.glob("*.json"))
    return tuple(msgspec.convert(json.loads(file.read_text()), Case) for file in files)


def explained(text: str, gpu: str | None = None) -> Explanation:
    """The answer to a text."""
    return explain_stream(io.BytesIO(text.encode()), gpu=gpu)


def statuses(text: str, gpu: str | None = None) -> dict[str, str]:
    """Status by stage of the answer to a text."""
    return {name: one.status for name, one in explained(text, gpu).stages.items()}


def score(expected: str, answered: str) -> Score:
    """Unknown is what skip and unknown ask for, and undecided else; warn and fail are alike."""
    wanted = "unknown" if expected == "skip" else expected
    alarms = ("warn", "fail")
    if wanted == answered or (wanted in alarms and answered in alarms):
        return "right"
    return "undecided" if answered == "unknown" else "wrong"


def scores(text_of: str = "dump") -> Iterator[tuple[Case, str, Score]]:
    """Case, stage and score of every stage that a case speaks of.

    ``text_of`` is ``dump``, ``gpu`` (with the card named on the command line), ``both`` (dump and
    symptom in one paste) or ``symptom``.
    """
    for case in cases():
        text = case.text if text_of in ("dump", "gpu") else case.symptom
        if text_of == "both" and case.dump:
            text = f"{case.text}\n\n{case.symptom}\n"
        found = statuses(text, case.gpu if text_of == "gpu" else None)
        for stage, wanted in case.expected.items():
            yield case, stage, score(wanted, found[stage])
