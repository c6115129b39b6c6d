"""Every matrix of the record as a heat map: geometry and numbers, drawn by a macro."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median

from preflight.records import Check, Matrix, Record
from preflight.rendering.axes import Tick
from preflight.rendering.findings import in_path_order, place
from preflight.rendering.quantities import number, quantity, scale_of

WIDTH = 400
LEFT, TOP = 56, 22

_MOST_CELLS = 64 * 64
_MOST_MAPS = 12
_LABEL = 7
_APART = 0.1


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One value: place in the drawing, strength of its colour, and its words."""

    x: float
    y: float
    strength: float
    """Opacity from 0.06 (zero) to 0.55 (highest), so that the text on it stays readable."""
    text: str
    """The number inside, where the cell is large enough for one."""
    title: str
    empty: bool
    apart: bool
    """Whether it lies more than a tenth off the median of the matrix."""


@dataclass(frozen=True, kw_only=True)
class HeatMap:
    """A map with its labels, its range in words, and the same numbers as a table."""

    check: Check
    title: str
    description: str
    unit: str
    size: float
    """Side of a cell."""
    cells: tuple[Cell, ...]
    row_labels: tuple[Tick, ...]
    column_labels: tuple[Tick, ...]
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    width: int
    height: int
    left: int = LEFT
    top: int = TOP


def heat_maps(record: Record) -> tuple[HeatMap, ...]:
    """Maps of all matrices that hold a number and are small enough to read."""
    maps = [
        _map(matrix, check, place(record, check))
        for check in in_path_order(record)
        for matrix in check.matrices
        if 0 < len(matrix.rows) * len(matrix.columns) <= _MOST_CELLS and _numbers(matrix)
    ]
    return tuple(maps[:_MOST_MAPS])


def _numbers(matrix: Matrix) -> list[float]:
    return [v for row in matrix.values for v in row if v is not None and math.isfinite(v)]


def _value(matrix: Matrix, i: int, j: int) -> float | None:
    """The value in a row and column; None where the record's rows are too short, or not finite."""
    if i >= len(matrix.values) or j >= len(matrix.values[i]):
        return None
    value = matrix.values[i][j]
    return value if value is not None and math.isfinite(value) else None


def _map(matrix: Matrix, check: Check, where: str) -> HeatMap:
    numbers = _numbers(matrix)
    factor, unit = scale_of(max(map(abs, numbers)), matrix.unit)
    size = round(min(38.0, (WIDTH - LEFT) / len(matrix.columns)), 2)
    cells = tuple(
        _cell(matrix, i, j, size, factor, numbers)
        for i in range(len(matrix.rows))
        for j in range(len(matrix.columns))
    )
    return HeatMap(
        check=check,
        title=f"{matrix.name}, {where}" if where else matrix.name,
        description=_description(matrix, numbers),
        unit=unit,
        size=size,
        cells=cells,
        row_labels=_labels(matrix.rows, TOP, size, math.ceil(11 / size)),
        column_labels=_labels(matrix.columns, LEFT, size, math.ceil(44 / size)),
        head=("", *matrix.columns),
        rows=tuple(
            (row, *(_text(_value(matrix, i, j), factor) for j in range(len(matrix.columns))))
            for i, row in enumerate(matrix.rows)
        ),
        width=WIDTH,
        height=math.ceil(TOP + size * len(matrix.rows) + 2),
    )


def _labels(names: tuple[str, ...], start: float, size: float, every: int) -> tuple[Tick, ...]:
    return tuple(
        Tick(at=round(start + (k + 0.5) * size, 1), label=name[:_LABEL])
        for k, name in enumerate(names)
        if k % every == 0 and start + (k + 0.5) * size < WIDTH - 14
    )


def _text(value: float | None, factor: float) -> str:
    return "" if value is None else number(value / factor)


def _cell(matrix: Matrix, i: int, j: int, size: float, factor: float, numbers: list[float]) -> Cell:
    value = _value(matrix, i, j)
    low, high, middle = min(0.0, *numbers), max(0.0, *numbers), median(numbers)
    share = 1.0 if value is None or high == low else (value - low) / (high - low)
    words = "no value" if value is None else quantity(value, matrix.unit)
    return Cell(
        x=round(LEFT + j * size, 1),
        y=round(TOP + i * size, 1),
        strength=round(0.06 + 0.49 * share, 2),
        text=_text(value, factor) if size >= 30 else "",
        title=f"{matrix.rows[i][:40]} to {matrix.columns[j][:40]}: {words}",
        empty=value is None,
        apart=value is not None and abs(value - middle) > _APART * abs(middle),
    )


def _description(matrix: Matrix, numbers: list[float]) -> str:
    """Lowest with its place, median and highest, in a sentence."""
    i, j = min(
        (
            (i, j)
            for i in range(len(matrix.rows))
            for j in range(len(matrix.columns))
            if _value(matrix, i, j) is not None
        ),
        key=lambda place: _value(matrix, *place) or 0.0,
    )
    parts = [
        f"lowest {quantity(min(numbers), matrix.unit)} ({matrix.rows[i]} to {matrix.columns[j]})",
        f"median {quantity(median(numbers), matrix.unit)}",
        f"highest {quantity(max(numbers), matrix.unit)}",
    ]
    return ", ".join(parts)
