"""Every series of the record as a line chart: geometry and numbers, drawn by a macro."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from preflight.records import Check, Record, Series
from preflight.rendering.axes import Axis, Tick, doubles, ticks_linear, ticks_log2, unit_name
from preflight.rendering.findings import in_path_order, place
from preflight.rendering.quantities import bound, quantity

WIDTH, HEIGHT = 400, 236
LEFT, RIGHT, TOP, BOTTOM = 44, 388, 24, 204

_MOST_LINES = 8
_MOST_POINTS = 400
_MOST_CHARTS = 24


@dataclass(frozen=True, kw_only=True)
class Dot:
    """One measured point, in the drawing's units, with its numbers in words."""

    x: float
    y: float
    title: str


@dataclass(frozen=True, kw_only=True)
class Curve:
    """One line of a chart."""

    label: str
    style: int
    """Number of the line style, from 0."""
    path: str
    """Points of the polyline."""
    dots: tuple[Dot, ...]


@dataclass(frozen=True, kw_only=True)
class Floor:
    """A limit that applies to the line, drawn across."""

    y: float
    label: str


@dataclass(frozen=True, kw_only=True)
class LineChart:
    """A chart with its axes, and the same numbers as a table."""

    check: Check
    title: str
    description: str
    x_title: str
    y_title: str
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    curves: tuple[Curve, ...]
    floors: tuple[Floor, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = LEFT
    right: int = RIGHT
    top: int = TOP
    bottom: int = BOTTOM


@dataclass(frozen=True, kw_only=True)
class _Line:
    label: str
    series: Series
    check: Check
    points: tuple[tuple[float, float], ...]


def line_charts(record: Record) -> tuple[LineChart, ...]:
    """Charts of all series: those of one check with equal axes share one, eight lines at most."""
    groups: dict[tuple[str, str, str, str], list[_Line]] = {}
    for check in in_path_order(record):
        for series in check.series:
            line = _line(record, check, series)
            if line is not None:
                key = (check.id, series.x, series.x_unit, series.y_unit)
                groups.setdefault(key, []).append(line)
    charts = [
        _chart(lines[first : first + _MOST_LINES])
        for lines in groups.values()
        for first in range(0, len(lines), _MOST_LINES)
    ]
    return tuple(charts[:_MOST_CHARTS])


def _line(record: Record, check: Check, series: Series) -> _Line | None:
    """The finite points of a series by rising x; None where there is none to draw."""
    finite = sorted(p for p in series.points if math.isfinite(p[0]) and math.isfinite(p[1]))
    if not finite:
        return None
    step = math.ceil(len(finite) / _MOST_POINTS)
    where = place(record, check)
    label = f"{series.name}, {where}" if where else series.name
    return _Line(label=label, series=series, check=check, points=tuple(finite[::step]))


def _chart(lines: list[_Line]) -> LineChart:
    first = lines[0].series
    xs = [x for line in lines for x, _ in line.points]
    limits = list(_limits(lines))
    ys = [y for line in lines for _, y in line.points] + [value for value, _ in limits]
    x_axis = Axis(low=min(xs), high=max(xs), start=LEFT, end=RIGHT, log2=doubles(xs))
    y_axis = Axis(low=min(0.0, *ys), high=_ceiling(ys), start=BOTTOM, end=TOP)
    if x_axis.log2:
        x_ticks = ticks_log2(x_axis, first.x_unit)
    else:
        x_ticks = ticks_linear(x_axis, first.x_unit, whole=all(x == int(x) for x in xs))
    x_unit = "" if x_axis.log2 else unit_name(max(map(abs, xs)), first.x_unit)
    y_unit = unit_name(max(abs(y_axis.low), abs(y_axis.high)), first.y_unit)
    return LineChart(
        check=lines[0].check,
        title=f"{_common_name(lines)} by {first.x}" if len(lines) > 1 else first.name,
        description=_description(lines),
        x_title=f"{first.x} ({x_unit})" if x_unit else first.x,
        y_title=y_unit or first.y,
        x_ticks=x_ticks,
        y_ticks=ticks_linear(y_axis, first.y_unit),
        curves=tuple(_curve(line, k, x_axis, y_axis) for k, line in enumerate(lines)),
        floors=tuple(Floor(y=y_axis.at(value), label=label) for value, label in limits),
        head=(first.x, *(line.label for line in lines)),
        rows=tuple(_rows(lines)),
    )


def _common_name(lines: Sequence[_Line]) -> str:
    """What all lines show: the words that their y axes end with, else the unit."""
    words = [line.series.y.split() for line in lines]
    shared: list[str] = []
    for last in zip(*(reversed(w) for w in words), strict=False):
        if len(set(last)) > 1:
            break
        shared.insert(0, last[0])
    return " ".join(shared) or lines[0].series.y_unit


def _ceiling(ys: list[float]) -> float:
    """Top of the vertical axis: a little above the highest value, and never the bottom."""
    top = max(0.0, *ys)
    return top * 1.06 if top > 0 else (0.0 if min(ys) < 0 else 1.0)


def _limits(lines: list[_Line]) -> Iterable[tuple[float, str]]:
    """Limits that a check states for a measurement of the same name and unit as its series."""
    seen = set()
    for line in lines:
        for measurement in line.check.measurements:
            same = measurement.name == line.series.name and measurement.unit == line.series.y_unit
            if same and measurement.limit is not None and measurement.limit.value not in seen:
                seen.add(measurement.limit.value)
                yield measurement.limit.value, bound(measurement.limit, measurement.unit)


def _curve(line: _Line, style: int, x_axis: Axis, y_axis: Axis) -> Curve:
    series = line.series
    dots = tuple(
        Dot(
            x=x_axis.at(x),
            y=y_axis.at(y),
            title=f"{quantity(x, series.x_unit, strip=True)}: {quantity(y, series.y_unit)}",
        )
        for x, y in line.points
    )
    path = " ".join(f"{dot.x},{dot.y}" for dot in dots)
    return Curve(label=line.label, style=style, path=path, dots=dots)


def _description(lines: list[_Line]) -> str:
    """The chart in a sentence a line: where it ends and how high it gets."""
    sentences = []
    for line in lines:
        x, y = max(line.points, key=lambda point: point[1])
        series = line.series
        highest = quantity(y, series.y_unit)
        sentences.append(f"{line.label}: at most {highest}, at {quantity(x, series.x_unit)}.")
    return " ".join(sentences)


def _rows(lines: list[_Line]) -> Iterable[tuple[str, ...]]:
    """The numbers by x, a column a line."""
    columns = [dict(line.points) for line in lines]
    series = lines[0].series
    for x in sorted({x for column in columns for x in column}):
        values = (quantity(column[x], series.y_unit) if x in column else "" for column in columns)
        yield (quantity(x, series.x_unit, strip=True), *values)
