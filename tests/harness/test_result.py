"""What a check says, and the status that follows."""

from __future__ import annotations

import math

import pytest

from preflight.harness.result import GENERIC_ACTION, Result, at_least, at_most, exactly
from preflight.records import Limit, Matrix, Measurement, Series


def test_without_a_word_a_check_passes() -> None:
    """A new result is a pass without reason or action."""
    result = Result()
    assert (result.status, result.reason, result.action) == ("pass", "", "")


def test_limits_carry_their_source() -> None:
    """Each helper makes the bound that its name says."""
    assert at_most(1, "the plan") == Limit(value=1, op="<=", source="the plan")
    assert at_least(2, "the plan") == Limit(value=2, op=">=", source="the plan")
    assert exactly(3, "the plan") == Limit(value=3, op="==", source="the plan")


@pytest.mark.parametrize(
    ("limit", "good", "bad"),
    [
        (at_most(2, "s"), 2.0, 2.1),
        (at_least(2, "s"), 2.0, 1.9),
        (exactly(2, "s"), 2.0, 3.0),
        (Limit(value=2, op="<", source="s"), 1.9, 2.0),
        (Limit(value=2, op=">", source="s"), 2.1, 2.0),
    ],
)
def test_a_measurement_outside_its_limit_fails(limit: Limit, good: float, bad: float) -> None:
    """The bound itself counts as the operator says; the sentence holds number, unit and bound."""
    result = Result()
    result.measure("speed", good, "GB/s", limit=limit)
    assert result.status == "pass"
    result.measure("speed", bad, "GB/s", limit=limit)
    assert result.status == "fail"
    assert result.reason.startswith("speed")
    assert result.reason.endswith(f"{bad:.4g} GB/s, must be {limit.op} 2")
    assert result.action == GENERIC_ACTION
    assert [m.value for m in result.measurements] == [good, bad]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None])
def test_a_number_that_is_not_finite_fails_where_there_is_a_limit(value: float | None) -> None:
    """It is recorded as None, and no comparison with NaN lets it pass."""
    result = Result()
    result.measure("loss", value, "1")
    assert result.status == "pass"
    result.measure("loss", value, "1", limit=at_most(5, "s"))
    assert (result.status, result.reason) == ("fail", "loss is not a finite number")
    assert [m.value for m in result.measurements] == [None, None]


def test_samples_are_kept() -> None:
    """Number and percentiles travel with the median."""
    result = Result()
    result.measure("step", 1.0, "s", n=9, p10=0.9, p90=1.2)
    assert result.measurements == [
        Measurement(name="step", value=1.0, unit="s", n=9, p10=0.9, p90=1.2)
    ]


def test_the_first_failure_stays() -> None:
    """Later ones do not hide it, nor its action and rank."""
    result = Result()
    result.advise("ask the seller")
    result.fail("first", rank=2)
    result.fail("second", "do something else", rank=3)
    assert (result.reason, result.action, result.rank) == ("first", "ask the seller", 2)


def test_a_failure_always_has_an_action() -> None:
    """The failure's own, else the advice, else a general one."""
    own, advised, bare = Result(), Result(), Result()
    for result in (own, advised):
        result.advise("the advice")
    own.fail("x", "its own")
    advised.fail("x")
    bare.fail("x")
    assert [r.action for r in (own, advised, bare)] == ["its own", "the advice", GENERIC_ACTION]


def test_a_failure_wins_over_warnings() -> None:
    """In either order; the first warning stays."""
    result = Result()
    result.warn("one", "mend it")
    result.warn("two")
    assert (result.status, result.reason, result.action) == ("warn", "one", "mend it")
    result.fail("broken")
    result.warn("three")
    assert (result.status, result.reason) == ("fail", "broken")


def test_a_note_stands_beside_a_pass_alone() -> None:
    """It never replaces the reason of a warning or a failure."""
    result = Result()
    result.note("8 of 8")
    assert result.reason == "8 of 8"
    result.warn("hot")
    result.note("8 of 8")
    assert result.reason == "hot"


def test_curves_tables_and_evidence_are_collected() -> None:
    """They arrive as records, tuples throughout."""
    result = Result()
    result.draw("bus", [(1, 2.0)], x="size", y="bandwidth", x_unit="B", y_unit="GB/s")
    result.tabulate("pairs", [[None, 1.0]], rows=["0"], columns=["0", "1"], unit="GB/s")
    result.attach("one")
    result.attach("two\n")
    assert result.series == [
        Series(name="bus", x="size", y="bandwidth", x_unit="B", y_unit="GB/s", points=((1, 2.0),))
    ]
    assert result.matrices == [
        Matrix(name="pairs", rows=("0",), columns=("0", "1"), unit="GB/s", values=((None, 1.0),))
    ]
    assert result.evidence == "one\ntwo"


def test_what_is_not_finite_stays_out_of_curves_and_matrices() -> None:
    """JSON has no NaN: a loss that became one must not cost the run its journal."""
    result = Result()
    nan, axes = float("nan"), {"x": "step", "y": "loss", "x_unit": "1", "y_unit": "nat"}
    result.draw("loss", [(0, 2.0), (1, None), (2, nan), (3, float("inf"))], **axes)
    result.tabulate("pairs", [[nan, 1.0]], rows=["0"], columns=["0", "1"], unit="GB/s")
    assert result.series[0].points == ((0, 2.0),)
    assert result.matrices[0].values == ((None, 1.0),)


def test_skipping_ends_the_check() -> None:
    """It is pytest's own skip, with the reason."""
    with pytest.raises(pytest.skip.Exception, match="not here"):
        Result().skip("not here")


def test_a_floor_of_the_plan_is_a_limit() -> None:
    """A measurement that bears the name of a floor is judged by it, unless it has a limit."""
    result = Result({"bus": 400.0})
    result.measure("bus", 399.0, "GB/s")
    assert result.status == "fail"
    limit = result.measurements[0].limit
    assert limit is not None and limit.source == "the plan's own floor"
    other = Result({"bus": 400.0})
    other.measure("bus", 399.0, "GB/s", limit=at_least(300.0, "elsewhere"))
    assert other.status == "pass"
