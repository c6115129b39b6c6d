"""Measurements beside their limits: one row a measurement, equal ones of many devices together."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from preflight.records import Check, Limit, Measurement, Record
from preflight.rendering.findings import in_path_order, place
from preflight.rendering.quantities import (
    bound,
    is_out_of_limit,
    quantity,
    spread,
    value_and_bound,
)

_APART = 2
"""Up to so many devices stand in rows of their own."""

_One = tuple[Check, Measurement]


@dataclass(frozen=True, kw_only=True)
class MeasuredRow:
    """One line of the table."""

    name: str
    check: Check
    anchor: str
    where: str
    value: str
    samples: str
    """Samples and percentiles, or the range over the devices."""
    limit: str
    source: str
    out: bool
    """Whether it breaks its limit."""


def measured_rows(record: Record, anchors: Mapping[int, str]) -> tuple[MeasuredRow, ...]:
    """Rows in path order; of many devices, a row for all and one for each that breaks its limit."""
    groups: dict[tuple[str, str, str, Limit | None], list[_One]] = {}
    for check in in_path_order(record):
        for measurement in check.measurements:
            _, name = _card_and_name(record, measurement)
            key = (check.id, name, measurement.unit, measurement.limit)
            groups.setdefault(key, []).append((check, measurement))
    rows: list[MeasuredRow] = []
    for group in groups.values():
        singles = group
        if len(group) > _APART:
            rows.append(_together(record, group, anchors))
            singles = [one for one in group if is_out_of_limit(one[1])]
        rows += [_single(record, check, one, anchors) for check, one in singles]
    return tuple(rows)


def _single(
    record: Record, check: Check, measurement: Measurement, anchors: Mapping[int, str]
) -> MeasuredRow:
    value, limit = value_and_bound(measurement)
    card, name = _card_and_name(record, measurement)
    return MeasuredRow(
        name=name,
        check=check,
        anchor=anchors[id(check)],
        where=card or place(record, check),
        value=value,
        samples=spread(measurement),
        limit=limit,
        source=measurement.limit.source if measurement.limit else "",
        out=is_out_of_limit(measurement),
    )


def _card_and_name(record: Record, measurement: Measurement) -> tuple[str, str]:
    """``gpu3`` and ``uncorrected errors`` of a measurement that a check of the host made of a card;
    no card where the name begins with none."""
    first, _, rest = measurement.name.partition(" ")
    return (
        (first, rest)
        if rest and first in {d.name for d in record.devices}
        else (
            "",
            measurement.name,
        )
    )


def _together(record: Record, group: Sequence[_One], anchors: Mapping[int, str]) -> MeasuredRow:
    check, first = group[0]
    cards = all(c.device or _card_and_name(record, m)[0] for c, m in group)
    values = [m.value for _, m in group if m.value is not None and math.isfinite(m.value)]
    limit = first.limit
    lowest, highest = (min(values), max(values)) if values else (None, None)
    return MeasuredRow(
        name=_card_and_name(record, first)[1],
        check=check,
        anchor=anchors[id(check)],
        where=f"{len(group)} {'devices' if cards else 'results'}",
        value=quantity(_middle(values), first.unit),
        samples=(
            "all equal"
            if values and lowest == highest
            else f"median; {quantity(lowest, first.unit)} to {quantity(highest, first.unit)}"
        ),
        limit=bound(limit, first.unit) if limit else "",
        source=limit.source if limit else "",
        out=False,
    )


def _middle(values: Sequence[float]) -> float | None:
    """The median; a whole number of whole numbers stays one."""
    if not values:
        return None
    middle = median(values)
    counted = all(isinstance(value, int) for value in values)
    return int(middle) if counted and middle == int(middle) else middle
