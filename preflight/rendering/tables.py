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
            key = (check.id, measurement.name, measurement.unit, measurement.limit)
            groups.setdefault(key, []).append((check, measurement))
    rows: list[MeasuredRow] = []
    for group in groups.values():
        singles = group
        if len(group) > _APART:
            rows.append(_together(group, anchors))
            singles = [one for one in group if is_out_of_limit(one[1])]
        rows += [_single(record, check, one, anchors) for check, one in singles]
    return tuple(rows)


def _single(
    record: Record, check: Check, measurement: Measurement, anchors: Mapping[int, str]
) -> MeasuredRow:
    value, limit = value_and_bound(measurement)
    return MeasuredRow(
        name=measurement.name,
        check=check,
        anchor=anchors[id(check)],
        where=place(record, check),
        value=value,
        samples=spread(measurement),
        limit=limit,
        source=measurement.limit.source if measurement.limit else "",
        out=is_out_of_limit(measurement),
    )


def _together(group: Sequence[_One], anchors: Mapping[int, str]) -> MeasuredRow:
    check, first = group[0]
    values = [m.value for _, m in group if m.value is not None and math.isfinite(m.value)]
    limit = first.limit
    lowest, highest = (min(values), max(values)) if values else (None, None)
    return MeasuredRow(
        name=first.name,
        check=check,
        anchor=anchors[id(check)],
        where=f"{len(group)} {'devices' if all(c.device for c, _ in group) else 'results'}",
        value=quantity(median(values) if values else None, first.unit),
        samples=f"median; {quantity(lowest, first.unit)} to {quantity(highest, first.unit)}",
        limit=bound(limit, first.unit) if limit else "",
        source=limit.source if limit else "",
        out=False,
    )
