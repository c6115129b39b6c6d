"""Which of several equal cards stands out: pure statistics of a few numbers.

No bound here is tuned. Where five or more values are compared, the spread of the values themselves
decides (median and median absolute deviation, which one outlier cannot move); with fewer there is
no spread to speak of and the caller states a difference. Counts of rare events are judged by how
unlikely their distribution is.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping

import msgspec

FEWEST_WITH_A_SPREAD = 5
"""Below this many values the median absolute deviation says nothing: two of four may be odd."""
DEVIATIONS = 6.0
"""Standard deviations: one false alarm in 10^9 comparisons of a normal distribution."""
PER_MAD = 1.4826
"""Standard deviation of a normal distribution in units of its median absolute deviation."""
CHANCE = 1e-9
"""Counts that fall this rarely on equal cards are not chance."""
TIMES_THE_OTHERS = 10.0
"""Rates of errors differ from card to card; an order of magnitude is beyond that."""


class Bound(msgspec.Struct, frozen=True, kw_only=True):
    """A bound that a group of values gives itself."""

    value: float
    rule: str
    """How it came about, for a reader: ``median 41 + 6 deviations``."""


def median_absolute_deviation(values: Iterable[float]) -> float:
    """Median distance from the median; 0 for no values."""
    found = list(values)
    if not found:
        return 0.0
    middle = statistics.median(found)
    return statistics.median(abs(value - middle) for value in found)


def upper_bound(values: Iterable[float], *, resolution: float, few: float) -> Bound | None:
    """Bound above which one of ``values`` stands out; None for fewer than two.

    ``resolution`` is the step of the sensor, in the unit of the values: the spread is taken to be
    no less. ``few`` is the difference from the smallest value that is allowed where there are fewer
    than five.
    """
    found = list(values)
    if len(found) < 2:
        return None
    if len(found) < FEWEST_WITH_A_SPREAD:
        least = min(found)
        return Bound(value=least + few, rule=f"the smallest of {len(found)}, {least:g}, + {few:g}")
    middle = statistics.median(found)
    deviation = PER_MAD * max(median_absolute_deviation(found), resolution)
    return Bound(
        value=middle + DEVIATIONS * deviation,
        rule=f"median {middle:g} of {len(found)} + {DEVIATIONS:g} deviations of {deviation:.2g}",
    )


def unlikely_counts(counts: Mapping[str, int]) -> dict[str, float]:
    """Names whose count is no chance, with the median of the others' counts.

    A count stands out when events that fall on equal cards at random would put so many on one of
    them less often than ``CHANCE``, and when it is ``TIMES_THE_OTHERS`` the median of the others.
    """
    total = sum(counts.values())
    found = {}
    for name, count in counts.items():
        others = [other for key, other in counts.items() if key != name]
        if not others:
            return {}
        middle = statistics.median(others)
        chance = len(counts) * tail_of_binomial(count, total, 1 / len(counts))
        if chance < CHANCE and count >= TIMES_THE_OTHERS * middle:
            found[name] = middle
    return found


def tail_of_binomial(least: int, trials: int, chance: float) -> float:
    """Upper bound of the chance of ``least`` or more hits in ``trials``; 1 up to the mean.

    The first term times the sum of a geometric series, which the terms beyond the mean stay below;
    exact for ``least == trials``.
    """
    if least <= trials * chance:
        return 1.0
    log_first = (
        math.lgamma(trials + 1)
        - math.lgamma(least + 1)
        - math.lgamma(trials - least + 1)
        + least * math.log(chance)
        + (trials - least) * math.log1p(-chance)
    )
    ratio = (trials - least) / (least + 1) * chance / (1 - chance)
    return min(1.0, math.exp(log_first) / (1 - ratio))
