"""Which of several equal cards stands out."""

from __future__ import annotations

import random
from math import comb

import pytest

from preflight.compat.neighbours import (
    CHANCE,
    median_absolute_deviation,
    tail_of_binomial,
    unlikely_counts,
    upper_bound,
)


@pytest.mark.parametrize(
    ("values", "deviation"),
    [([], 0.0), ([4.0], 0.0), ([1.0, 2.0, 3.0, 4.0, 100.0], 1.0), ([5.0] * 8, 0.0)],
)
def test_the_deviation_is_that_of_the_median(values: list[float], deviation: float) -> None:
    """One outlier does not move it."""
    assert median_absolute_deviation(values) == deviation


@pytest.mark.parametrize("values", [[], [30.0]])
def test_one_value_has_no_neighbours(values: list[float]) -> None:
    """Fewer than two values give no bound."""
    assert upper_bound(values, resolution=1.0, few=20.0) is None


def test_few_values_are_allowed_a_stated_difference() -> None:
    """Up to four values have no spread: the bound stands above the smallest."""
    bound = upper_bound([30.0, 34.0, 61.0], resolution=1.0, few=20.0)
    assert bound is not None and bound.value == 50.0
    assert bound.rule == "the smallest of 3, 30, + 20"


def test_many_values_bound_themselves() -> None:
    """From five on, median and deviation decide, and the outlier does not raise its own bound."""
    bound = upper_bound([30, 32, 34, 36, 30, 32, 34, 80], resolution=1.0, few=20.0)
    assert bound is not None
    assert bound.value == pytest.approx(33 + 6 * 1.4826 * 2)
    assert "median 33 of 8" in bound.rule


def test_the_spread_is_no_less_than_the_sensor_can_tell() -> None:
    """Equal values are not bounded to their own value by a sensor of whole degrees."""
    bound = upper_bound([30.0] * 8, resolution=1.0, few=20.0)
    assert bound is not None and bound.value == pytest.approx(30 + 6 * 1.4826)


@pytest.mark.parametrize("trials", [3, 20, 400])
def test_the_tail_is_an_upper_bound(trials: int) -> None:
    """Against the exact sum: never below it, and within a factor of two where it matters."""
    for least in range(trials + 1):
        exact = sum(
            comb(trials, k) * 0.125**k * 0.875 ** (trials - k) for k in range(least, trials + 1)
        )
        bound = tail_of_binomial(least, trials, 0.125)
        assert bound >= exact * (1 - 1e-9)
        if 1e-200 < exact < 1e-6:  # below that the exact sum loses its digits
            assert bound < 2 * exact


def test_the_tail_of_large_counts_does_not_overflow() -> None:
    """A counter of 64 bits is judged as well."""
    assert tail_of_binomial(2**40, 2**41, 0.125) == 0.0
    assert tail_of_binomial(0, 0, 0.5) == 1.0


@pytest.mark.parametrize(
    ("counts", "found"),
    [
        ({"gpu0": 0, "gpu1": 0}, set()),
        ({"gpu0": 7}, set()),
        ({f"gpu{i}": 7 * (i == 3) for i in range(8)}, set()),
        ({f"gpu{i}": 12 * (i == 3) for i in range(8)}, {"gpu3"}),
        ({"gpu0": 20, "gpu1": 0}, set()),
        ({"gpu0": 40, "gpu1": 0}, {"gpu0"}),
        ({"gpu0": 90_000, "gpu1": 100_000}, set()),
        ({f"gpu{i}": 1000 + 9000 * (i == 3) for i in range(8)}, {"gpu3"}),
        ({f"gpu{i}": 1000 + 8000 * (i == 3) for i in range(8)}, set()),
    ],
)
def test_counts_that_are_no_chance(counts: dict[str, int], found: set[str]) -> None:
    """A count stands out when chance would not do it and it is ten times the others'."""
    assert set(unlikely_counts(counts)) == found


def test_equal_cards_raise_no_alarm() -> None:
    """Of ten thousand machines whose errors fall at random, none is accused."""
    rng = random.Random(7)
    for _ in range(10_000):
        counts = dict.fromkeys(range(8), 0)
        for _ in range(rng.randrange(30)):
            counts[rng.randrange(8)] += 1
        assert not unlikely_counts({str(k): v for k, v in counts.items()})
    assert CHANCE == 1e-9
