from __future__ import annotations

import time

import pytest

from preflight.probes import clock


def test_timed_counts_samples_and_leaves_out_the_warm_up() -> None:
    """Warm-up calls are made and not counted."""
    calls: list[int] = []
    spread = clock.timed(lambda: calls.append(1), "cpu", n=5, warmup=2)
    assert len(calls) == 7
    assert spread["n"] == 5


def test_seconds_of_a_call_that_sleeps() -> None:
    """A call of 20 ms is timed as at least 20 ms."""
    assert clock.seconds_of(lambda: time.sleep(0.02), "cpu") >= 0.02


def test_spread_is_median_and_deciles() -> None:
    """Deciles are linear between the samples beside them."""
    spread = clock.spread([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0])
    assert spread == {"median_s": 5.0, "p10_s": 1.0, "p90_s": 9.0, "n": 11}
    assert clock.quantile([1.0, 2.0], 0.1) == pytest.approx(1.1)
