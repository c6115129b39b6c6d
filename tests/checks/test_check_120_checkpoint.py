"""Losses after a checkpoint."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.harness.result import Result

from .situations import load

checkpoint = load("check_120_checkpoint.py")
WROTE: dict[str, Any] = {"losses": [2.0, 1.0], "bounds": [1e-9, 1e-9], "source": "a test"}


def judge(*losses: list[float | None]) -> Result:
    """The judgement of the losses of each rank after a restore."""
    result = Result()
    checkpoint._judge_losses(result, WROTE, [{"losses": mine} for mine in losses], share=2)
    return result


def test_equal_losses_pass() -> None:
    """The ratio of every rank to its bound is measured."""
    result = judge([2.0, 1.0], [2.0, 1.0])
    assert result.status == "pass"
    assert result.measurements[0].value == 0


def test_one_rank_that_leaves_the_bound_fails() -> None:
    """The largest difference of all ranks counts."""
    assert judge([2.0, 1.0], [2.0, 1.1]).status == "fail"


@pytest.mark.parametrize(
    ("losses", "rank", "reason"),
    [
        (([2.0, 1.0], [2.0, None]), 1, "a loss is not finite on rank 1"),
        (([2.0, None], [None, None]), None, "a loss is not finite on rank 0, 1"),
    ],
)
def test_a_loss_that_is_not_finite_names_a_rank_only_where_it_is_alone(
    losses: tuple[list[float | None], ...], rank: int | None, reason: str
) -> None:
    """NaN that every rank shares came from one of them, and nobody knows from which."""
    result = judge(*losses)
    assert (result.status, result.rank, result.reason) == ("fail", rank, reason)
