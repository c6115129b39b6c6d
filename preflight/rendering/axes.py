"""Scales and ticks of the charts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from preflight.rendering.quantities import SPACE, number, quantity, scale_of


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A labelled place on an axis."""

    at: float
    """Position in the drawing, in its own units."""
    label: str


@dataclass(frozen=True, kw_only=True)
class Axis:
    """Maps values to positions; ``log2`` for sizes that double."""

    low: float
    high: float
    start: float
    """Position of ``low``."""
    end: float
    log2: bool = False

    def at(self, value: float) -> float:
        """Position of a value, to a tenth."""
        low, high, value = self.low, self.high, value
        if self.log2:
            low, high, value = math.log2(low), math.log2(high), math.log2(value)
        share = 0.5 if high == low else (value - low) / (high - low)
        return round(self.start + share * (self.end - self.start), 1)


def doubles(values: Sequence[float]) -> bool:
    """Whether values span so many doublings that a logarithmic axis shows them better."""
    return bool(values) and min(values) > 0 and max(values) / min(values) >= 16


def ticks_log2(axis: Axis, unit: str, *, most: int = 6) -> tuple[Tick, ...]:
    """Powers of two inside the axis, evenly apart: ``8 KiB``, ``256 KiB``, ``8 MiB``."""
    first, last = math.ceil(math.log2(axis.low)), math.floor(math.log2(axis.high))
    step = max(1, math.ceil((last - first + 1) / most))
    powers = range(first, last + 1, step)
    return tuple(Tick(at=axis.at(2.0**k), label=_size(2.0**k, unit)) for k in powers)


def _size(value: float, unit: str) -> str:
    return quantity(value, unit, strip=True)


def ticks_linear(axis: Axis, unit: str, *, most: int = 6, whole: bool = False) -> tuple[Tick, ...]:
    """Round numbers inside the axis, in one scale of the unit, which is not written.

    ``whole`` puts none between whole numbers, for what is counted.
    """
    step = nice_step(axis.high - axis.low, most)
    if whole:
        step = math.ceil(step)
    factor, _ = scale_of(max(abs(axis.low), abs(axis.high)), unit)
    first, last = math.ceil(axis.low / step - 1e-9), math.floor(axis.high / step + 1e-9)
    return tuple(
        Tick(at=axis.at(k * step), label=number(k * step / factor, strip=True))
        for k in range(first, last + 1)
    )


def nice_step(span: float, most: int) -> float:
    """A step of 1, 2, 2.5 or 5 times a power of ten that cuts a span into at most ``most``."""
    if not span > 0 or not math.isfinite(span):
        return 1.0
    rough = span / most
    power = 10.0 ** math.floor(math.log10(rough))
    if power == 0:
        return span
    return next((m * power for m in (1.0, 2.0, 2.5, 5.0) if m * power >= rough), 10.0 * power)


def unit_name(highest: float, unit: str) -> str:
    """Unit of an axis whose greatest value is ``highest``: ``MB/s`` for 0.02 GB/s."""
    return scale_of(highest, unit)[1].replace(SPACE, " ")
