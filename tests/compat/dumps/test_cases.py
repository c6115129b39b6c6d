"""Public reports, each answered stage by stage; ``-rP`` shows the score."""

from __future__ import annotations

from collections import Counter, defaultdict

import pytest

from preflight.stages import STAGE_NAMES

from .cases import Case, cases, explained, score, scores, statuses

CONTROLS = ("017", "087", "122", "130")
"""Reports of machines on which nothing was wrong."""
HEALTHY_DUMPS = ("020", "021", "044", "048", "075", "081", "101", "112")
"""Reports of faults that their dump does not show."""
LEAST_RIGHT = {"dump": 102, "gpu": 103, "both": 127, "symptom": 91}
"""Stages answered right when this was written; more is welcome, less is a loss."""


def by_id(*ids: str) -> list[Case]:
    """Cases by their number."""
    return [case for case in cases() if case.id in ids]


def named(case: Case) -> str:
    """Short name of a case for the list of tests."""
    return f"{case.id} {case.source}"


def test_all_cases_are_here() -> None:
    """There are 63, with dumps that can be read, and expectations of stages that exist."""
    assert len(cases()) == 63
    for case in cases():
        assert case.text and set(case.expected) <= set(STAGE_NAMES)


@pytest.mark.parametrize("case", cases(), ids=named)
def test_no_stage_of_a_case_is_answered_wrong(case: Case) -> None:
    """A stage is answered as it is, or left open: never passed where it failed, or the reverse."""
    found = statuses(case.text)
    wrong = {s: found[s] for s, e in case.expected.items() if score(e, found[s]) == "wrong"}
    assert not wrong, f"expected {case.expected}"


@pytest.mark.parametrize("text_of", ["dump", "gpu", "both", "symptom"])
def test_the_score(text_of: str) -> None:
    """Nothing is wrong, and no answer that was right once is lost; the table is printed."""
    table: dict[str, Counter[str]] = defaultdict(Counter)
    for case, _, result in scores(text_of):
        table[case.kind[:1]][result] += 1
        table["all"][result] += 1
    print(f"\nfrom {text_of:<8} right undecided wrong")
    for kind, counts in sorted(table.items()):
        print(f"  {kind:<12} {counts['right']:>5} {counts['undecided']:>9} {counts['wrong']:>5}")
    assert table["all"]["wrong"] == 0
    assert table["all"]["right"] >= LEAST_RIGHT[text_of]


@pytest.mark.parametrize("case", by_id(*CONTROLS, *HEALTHY_DUMPS), ids=named)
def test_a_healthy_dump_gives_no_alarm(case: Case) -> None:
    """No stage warns or fails, whatever the report was about, and no cause is named."""
    answer = explained(case.text)
    alarms = {name: one for name, one in answer.stages.items() if one.status in ("warn", "fail")}
    assert not alarms and answer.cause is None and answer.exit_code == 0


@pytest.mark.parametrize("case", [c for c in cases() if c.decidable.startswith("no:")], ids=named)
def test_what_a_dump_cannot_decide_is_left_open_with_a_command(case: Case) -> None:
    """A failure that the dump does not show is unknown, and the answer says what decides."""
    answer = explained(case.text)
    for stage, wanted in case.expected.items():
        if wanted == "fail" and answer.stages[stage].status != "fail":
            assert answer.stages[stage].status in ("unknown", "warn")
            assert answer.stages[stage].action


@pytest.mark.parametrize(
    ("number", "stage"),
    [
        ("001", "arch"),
        ("003", "arch"),
        ("010", "driver"),
        ("013", "driver"),
        ("015", "order"),
        ("031", "import"),
        ("041", "arch"),
        ("042", "driver"),
        ("061", "system"),
        ("071", "collective"),
        ("090", "compile"),
        ("110", "order"),
        ("120", "import"),
        ("125", "import"),
    ],
)
def test_the_first_cause_and_its_lines(number: str, stage: str) -> None:
    """The first proved failure on the path is the cause, with an action and lines of the text."""
    (case,) = by_id(number)
    answer = explained(case.text)
    assert answer.cause is not None and answer.exit_code == 1
    assert answer.cause.stage == stage and answer.cause.action
    assert answer.cause.lines and max(answer.cause.lines) <= len(case.text.splitlines())


def test_the_remedy_of_an_old_card_is_not_what_torch_hints_at() -> None:
    """torch names CUDA 12.8 for a V100, whose build has dropped it: the table says cu126."""
    (case,) = by_id("003")
    cause = explained(case.text).cause
    assert cause is not None and "+cu126" in cause.action and "cu128" not in cause.action


def test_no_group_is_advised_where_the_kernel_refuses() -> None:
    """EINVAL on /dev/kfd is no matter of the groups render and video."""
    (case,) = by_id("042")
    cause = explained(case.text).cause
    assert cause is not None and "usermod" not in cause.action


def test_a_dump_of_a_python_without_torch_says_so() -> None:
    """``PyTorch version: N/A`` is a dump of another interpreter, not a missing torch."""
    (case,) = by_id("047")
    answer = explained(case.text).stages["import"]
    assert answer.status == "unknown" and "Python without torch" in answer.reason
