"""What the answer of a numerical probe becomes in a result."""

from __future__ import annotations

from preflight.harness.errors_over_bounds import measure_errors
from preflight.harness.result import Result

GOOD = {"ratio": 0.3, "error": 1e-8, "bound": 3e-8, "worst": "logits", "source": "s"}
BAD = {"ratio": 2.0, "error": 6e-3, "bound": 3e-3, "worst": "block 1", "source": "s"}
ENDLESS = {"ratio": None, "error": None, "bound": 3e-8, "worst": "logits", "source": "s"}


def test_the_worst_error_is_told_last() -> None:
    """The last line of the evidence, which a terminal shows, is that of the worst entry."""
    result = Result()
    measure_errors(result, {"float32": ENDLESS, "bfloat16": BAD, "float16": GOOD})
    assert result.evidence.splitlines() == [
        "float16: logits is off by 1e-08 of its size, at most 3e-08 is allowed",
        "bfloat16: block 1 is off by 0.006 of its size, at most 0.003 is allowed",
        "float32: logits is not finite, at most 3e-08 is allowed",
    ]
    assert result.reason == "float32 error over bound is not a finite number"


def test_every_entry_is_measured_in_the_given_order() -> None:
    """Measurements stand in the order of the probe's answer, with the bound's source."""
    result = Result()
    measure_errors(result, {"float32": GOOD, "bfloat16": BAD})
    assert [m.name for m in result.measurements] == [
        "float32 error over bound",
        "bfloat16 error over bound",
    ]
    assert result.measurements[0].limit is not None
    assert result.measurements[0].limit.source == "s"
    assert result.status == "fail"
