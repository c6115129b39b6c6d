"""The verdict, row by row of its table, and the precedence of the rows."""

from __future__ import annotations

from typing import Any

import pytest
from rendering.sample import check, run

from preflight.records import Check, Status
from preflight.verdict import EXIT_CODES, judge, worst

PASS = check("kernel.first", device="gpu0")
WARN = check("system.shm", status="warn", reason="/dev/shm is small")
FAIL = check("kernel.first", device="gpu1", status="fail", reason="wrong values")
ERROR = check("driver.present", status="error", reason="the driver did not answer")
SKIP = check("order.count", status="skip", reason="no plan says how many cards were bought")
BLOCKED = check(
    "collective.all_reduce",
    status="skip",
    reason="blocked by kernel.first on gpu1",
    blocked_by="kernel.first on gpu1",
)
SOFT_FAIL = check("compile.gain", status="fail", reason="slower than eager", required=False)
SOFT_ERROR = check("import.extra", status="error", reason="no answer", required=False)
SOFT_BLOCKED = check("compile.gain", status="skip", blocked_by="kernel.first", required=False)

ONLY: dict[str, Any] = {"selected": ("order", "driver")}
INJECTED: dict[str, Any] = {"injected": ("wrong_value:gpu1",)}
REHEARSE: dict[str, Any] = {"mode": "rehearse"}
SIMULATE: dict[str, Any] = {"mode": "simulate", "simulated": "2xB200"}
INTERRUPTED: dict[str, Any] = {"interrupted": "SIGINT"}
STRICT: dict[str, Any] = {"strict": True}

ROWS: list[tuple[str, dict[str, Any], list[Check], str, int]] = [
    ("every required check passed", {}, [PASS], "READY", 0),
    ("a skip that does not apply is satisfied", {}, [PASS, SKIP], "READY", 0),
    ("strict changes nothing without warnings", STRICT, [PASS, SKIP], "READY", 0),
    ("a warning", {}, [PASS, WARN], "READY_WITH_WARNINGS", 0),
    ("a warning alone is something that ran", {}, [WARN], "READY_WITH_WARNINGS", 0),
    ("a warning, strict", STRICT, [PASS, WARN], "READY_WITH_WARNINGS", 1),
    ("a failure that is not required", {}, [PASS, SOFT_FAIL], "READY_WITH_WARNINGS", 0),
    ("the same, strict", STRICT, [PASS, SOFT_FAIL], "READY_WITH_WARNINGS", 1),
    ("an error that is not required", {}, [PASS, SOFT_ERROR], "READY_WITH_WARNINGS", 0),
    ("a blocked check that is not required", {}, [PASS, SOFT_BLOCKED], "READY", 0),
    ("a required failure", {}, [PASS, FAIL], "NOT_READY", 1),
    ("a failure before an error", {}, [ERROR, FAIL], "NOT_READY", 1),
    ("a failure before what it blocks", {}, [PASS, FAIL, BLOCKED], "NOT_READY", 1),
    ("a failure in a rehearsal", REHEARSE, [PASS, FAIL], "NOT_READY", 1),
    ("a failure in a simulation", SIMULATE, [PASS, FAIL], "NOT_READY", 1),
    ("a failure in a part of the path", ONLY, [PASS, FAIL], "NOT_READY", 1),
    ("a failure with a fault injected", INJECTED, [PASS, FAIL], "NOT_READY", 1),
    ("a failure before the interruption", INTERRUPTED, [PASS, FAIL], "NOT_READY", 1),
    ("a failure, strict", STRICT, [PASS, FAIL], "NOT_READY", 1),
    ("a required error", {}, [PASS, ERROR], "INCONCLUSIVE", 3),
    ("an error before a warning", {}, [PASS, WARN, ERROR], "INCONCLUSIVE", 3),
    ("blocked, its cause not required", {}, [PASS, BLOCKED], "INCONCLUSIVE", 3),
    ("nothing was planned", {}, [], "INCONCLUSIVE", 3),
    ("all of it was skipped", {}, [SKIP], "INCONCLUSIVE", 3),
    ("only what is not required failed", {}, [SOFT_FAIL], "INCONCLUSIVE", 3),
    ("part of the path on accelerators", ONLY, [PASS], "INCONCLUSIVE", 3),
    ("a fault injected on accelerators", INJECTED, [PASS], "INCONCLUSIVE", 3),
    ("interrupted on accelerators", INTERRUPTED, [PASS], "INCONCLUSIVE", 3),
    ("an error, strict", STRICT, [PASS, ERROR], "INCONCLUSIVE", 3),
    ("an error in a rehearsal", REHEARSE, [PASS, ERROR], "INCONCLUSIVE", 3),
    ("a rehearsal that was interrupted", {**REHEARSE, **INTERRUPTED}, [PASS], "INCONCLUSIVE", 3),
    ("a rehearsal in which nothing ran", REHEARSE, [SKIP], "INCONCLUSIVE", 3),
    ("a rehearsal", REHEARSE, [PASS, SKIP], "REHEARSED", 0),
    ("a rehearsal of a part", {**REHEARSE, **ONLY}, [PASS], "REHEARSED", 0),
    ("a rehearsal with a fault that was caught", {**REHEARSE, **INJECTED}, [PASS], "REHEARSED", 0),
    ("a rehearsal with a warning", REHEARSE, [PASS, WARN], "REHEARSED", 0),
    ("a simulation", SIMULATE, [PASS, SKIP], "REHEARSED", 0),
]


@pytest.mark.parametrize(
    ("fields", "checks", "word", "code"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_each_row_of_the_table(
    fields: dict[str, Any], checks: list[Check], word: str, code: int
) -> None:
    """The first rule that applies gives the word and the exit code."""
    verdict = judge(run(**fields), checks)
    assert (verdict.word, verdict.exit_code) == (word, code)


@pytest.mark.parametrize(
    ("fields", "checks"), [row[1:3] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_the_order_of_the_results_decides_nothing(
    fields: dict[str, Any], checks: list[Check]
) -> None:
    """The word and the exit code do not depend on which result came first."""
    one, other = judge(run(**fields), checks), judge(run(**fields), checks[::-1])
    assert (one.word, one.exit_code) == (other.word, other.exit_code)


def test_every_word_has_its_exit_code() -> None:
    """The exit codes of the words are those that scripts rely on."""
    assert EXIT_CODES == {
        "READY": 0,
        "READY_WITH_WARNINGS": 0,
        "REHEARSED": 0,
        "NOT_READY": 1,
        "INCONCLUSIVE": 3,
    }


def test_ready_needs_no_reason() -> None:
    """A machine that is ready has nothing to explain."""
    assert judge(run(), [PASS]).reasons == ()


def test_not_ready_names_what_failed_and_nothing_else() -> None:
    """The reasons are the required failures, with device and cause; blocked checks are not."""
    verdict = judge(run(), [PASS, FAIL, BLOCKED, ERROR, SOFT_FAIL])
    assert verdict.reasons == ("kernel.first failed on gpu1: wrong values",)


def test_one_cause_on_many_devices_is_one_sentence() -> None:
    """Equal failures are told once, with every device; another reason is a sentence of its own."""
    same = [check("kernel.first", device=f"gpu{i}", status="fail", reason="sick") for i in (0, 1)]
    other = check("kernel.first", device="gpu2", status="fail", reason="lost")
    assert judge(run(), [*same, other]).reasons == (
        "kernel.first failed on gpu0, gpu1: sick",
        "kernel.first failed on gpu2: lost",
    )


def test_a_rank_is_named_where_no_device_is() -> None:
    """A failure of a collective names the rank at fault."""
    failed = check("collective.all_reduce", status="fail", rank=3, reason="wrong sum")
    assert judge(run(), [failed]).reasons == ("collective.all_reduce failed on rank 3: wrong sum",)


@pytest.mark.parametrize(
    ("fields", "checks", "sentence"),
    [
        (INTERRUPTED, [PASS], "the run was ended early (SIGINT)"),
        ({}, [PASS, ERROR], "driver.present could not be judged: the driver did not answer"),
        (
            {},
            [PASS, BLOCKED],
            "collective.all_reduce was skipped: blocked by kernel.first on gpu1",
        ),
        ({}, [SKIP], "nothing ran"),
        (ONLY, [PASS], "only part of the path was asked for: order, driver"),
        (INJECTED, [PASS], "faults were injected: wrong_value:gpu1"),
    ],
)
def test_inconclusive_says_what_is_missing(
    fields: dict[str, Any], checks: list[Check], sentence: str
) -> None:
    """Each thing that keeps a run from a good word has its sentence."""
    assert judge(run(**fields), checks).reasons == (sentence,)


def test_inconclusive_tells_every_cause() -> None:
    """Several causes are all told, the end of the run first."""
    reasons = judge(run(**INTERRUPTED, **ONLY), [ERROR]).reasons
    assert [reason.partition(" ")[0] for reason in reasons] == [
        "the",
        "driver.present",
        "nothing",
        "only",
    ]


def test_warnings_are_told() -> None:
    """READY WITH WARNINGS says which, with what was not required and failed."""
    reasons = judge(run(), [PASS, WARN, SOFT_FAIL]).reasons
    assert reasons == (
        "system.shm warns: /dev/shm is small",
        "compile.gain failed: slower than eager",
    )


def test_a_warning_never_raises_the_exit_code_of_a_rehearsal() -> None:
    """``--strict`` speaks of READY WITH WARNINGS alone."""
    assert judge(run(mode="rehearse", strict=True), [PASS, WARN]).exit_code == 0


@pytest.mark.parametrize(
    ("statuses", "expected"),
    [
        ((), "skip"),
        (("skip", "skip"), "skip"),
        (("skip", "pass"), "pass"),
        (("pass", "warn", "skip"), "warn"),
        (("warn", "error", "pass"), "error"),
        (("error", "fail", "skip"), "fail"),
    ],
)
def test_the_worst_status_of_some(statuses: tuple[Status, ...], expected: Status) -> None:
    """Failures are worse than errors, these than warnings; a skip shows only where it is alone."""
    assert worst(statuses) == expected


def test_a_floor_that_nothing_measured_is_no_ready() -> None:
    """What the plan asked for and no check measured could not be judged, and is named."""
    verdict = judge(run(), [PASS], ["bandwidth of everything"])
    assert (verdict.word, verdict.exit_code) == ("INCONCLUSIVE", 3)
    assert "bandwidth of everything" in verdict.reasons[0]
