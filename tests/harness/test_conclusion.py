"""What an exception in a check becomes in the record."""

from __future__ import annotations

import pytest

from preflight.harness.conclusion import CHECK_FAULT_ACTION, conclude
from preflight.harness.contract import CheckSpec
from preflight.harness.outcomes import CannotLook, ProbeFailed
from preflight.harness.result import GENERIC_ACTION, Result
from preflight.records import Check

SPEC = CheckSpec(
    id="kernel.mine",
    stage="kernel",
    title="It works",
    deadline_s=30,
    required=True,
    needs=(),
    gates=True,
    phase="devices",
    per_device=True,
    where="mine.py:3",
)


def concluded(
    *troubles: BaseException, result: Result | None = None, blocked_by: str | None = None
) -> Check:
    """The record of a check in which ``troubles`` happened."""
    return conclude(
        SPEC,
        result or Result(),
        troubles,
        node="node-a",
        device="gpu1",
        required=True,
        blocked_by=blocked_by,
        started="2026-12-01T09:00:00Z",
        duration_s=1.23456,
    )


def raised(error: BaseException) -> BaseException:
    """The error with a traceback."""
    try:
        raise error
    except BaseException as caught:  # noqa: BLE001 - the test makes it
        return caught


def skip(reason: str) -> BaseException:
    """What ``pytest.skip`` raises."""
    with pytest.raises(pytest.skip.Exception) as caught:
        pytest.skip(reason)
    return caught.value


def test_a_pass_brings_everything_along() -> None:
    """Place, times and measurements are those of the check."""
    result = Result()
    result.measure("speed", 3.0, "GB/s")
    result.note("fast")
    check = concluded(result=result)
    assert (check.status, check.reason, check.duration_s) == ("pass", "fast", 1.2346)
    assert (check.id, check.stage, check.title) == ("kernel.mine", "kernel", "It works")
    assert (check.node, check.device, check.required) == ("node-a", "gpu1", True)
    assert [m.name for m in check.measurements] == ["speed"]


def test_a_skip_needs_only_its_reason() -> None:
    """Also after a warning, which it replaces with its action."""
    result = Result()
    result.warn("hot", "cool it")
    check = concluded(skip("no card here"), result=result)
    assert (check.status, check.reason, check.action) == ("skip", "no card here", "")


def test_a_failed_probe_is_a_failure() -> None:
    """With cause, evidence, rank and the check's own advice."""
    result = Result()
    result.advise("ask for another card")
    check = concluded(ProbeFailed("wrong sum", evidence="trace", rank=3), result=result)
    assert (check.status, check.reason, check.rank) == ("fail", "wrong sum", 3)
    assert (check.action, check.evidence) == ("ask for another card", "trace")


def test_the_action_of_a_probe_wins_over_the_advice() -> None:
    """It knows more."""
    result = Result()
    result.advise("general")
    assert concluded(ProbeFailed("x", action="special"), result=result).action == "special"


def test_what_stopped_us_from_looking_is_an_error() -> None:
    """With cause and action, its own or the general one."""
    check = concluded(CannotLook("no interpreter", evidence="sh: not found", action="mend it"))
    assert (check.status, check.reason, check.action) == ("error", "no interpreter", "mend it")
    assert check.evidence == "sh: not found"
    assert concluded(CannotLook("x")).action == GENERIC_ACTION


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (AssertionError("3 cards\nassert 3 == 4"), "3 cards"),
        (AssertionError(), "an assertion of mine.py:3 does not hold"),
        (pytest.fail.Exception("it is broken"), "it is broken"),
    ],
)
def test_an_assertion_that_does_not_hold_is_a_failure(error: BaseException, reason: str) -> None:
    """Its first line is the reason; the traceback is evidence."""
    check = concluded(raised(error))
    assert (check.status, check.reason, check.action) == ("fail", reason, GENERIC_ACTION)
    assert type(error).__name__ in check.evidence


@pytest.mark.parametrize("error", [ValueError("odd"), KeyError("x"), SystemExit(3), OSError("no")])
def test_any_other_exception_is_an_error_of_the_check(error: BaseException) -> None:
    """Nobody can say anything of the machine then."""
    check = concluded(raised(error))
    assert check.status == "error"
    assert check.reason == f"the check itself raised {type(error).__name__}: {error}"
    assert check.action == CHECK_FAULT_ACTION
    assert "Traceback" in check.evidence


def test_a_failure_that_was_seen_outlasts_a_later_error() -> None:
    """A stated fact is not undone by what happened after it, in the call or in tear-down."""
    result = Result()
    result.fail("wrong sum")
    check = concluded(raised(ValueError("odd")), result=result)
    assert (check.status, check.reason) == ("fail", "wrong sum")
    assert "ValueError: odd" in check.evidence


def test_an_error_in_tear_down_is_seen_after_a_pass() -> None:
    """A check that passed and could not clean up is no pass."""
    assert concluded(raised(OSError("busy"))).status == "error"


def test_a_failure_after_an_error_is_told() -> None:
    """Both are kept in the evidence; the failure is the status."""
    check = concluded(CannotLook("nobody", evidence="one"), ProbeFailed("wrong", evidence="two"))
    assert (check.status, check.reason, check.evidence) == ("fail", "wrong", "one\ntwo")


def test_a_blocked_check_names_what_blocks_it() -> None:
    """It is a skip with ``blocked_by`` in its own field and in the reason."""
    name = "kernel.first on gpu1"
    check = concluded(skip("blocked by something"), blocked_by=name)
    assert (check.status, check.blocked_by) == ("skip", name)
    assert check.reason == "blocked by kernel.first on gpu1"


def test_secrets_do_not_enter_the_record() -> None:
    """Reason, action and evidence are redacted."""
    secret = "hf_" + "a" * 34
    text = f"token {secret}"
    check = concluded(ProbeFailed(text, evidence=text, action=text))
    for field in (check.reason, check.action, check.evidence):
        assert secret not in field


def test_a_measurement_outside_its_limit_outlasts_a_skip() -> None:
    """A check that has seen a failure cannot skip it away."""
    result = Result()
    result.fail("wrong sum")
    check = concluded(skip("never mind"), result=result)
    assert (check.status, check.reason) == ("fail", "wrong sum")
