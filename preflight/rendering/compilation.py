"""Compilation told apart from the steady step: two bar charts, each with a scale of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass

from preflight.records import Check, Measurement, Record
from preflight.rendering.findings import in_path_order, place
from preflight.rendering.quantities import number, quantity, spread

CHECK = "compile.steady"
FIRST_CALLS = ("first call, cold", "first call, warm cache")
STEPS = ("eager step", "compiled step")
GAIN, PAYBACK = "gain", "steps to pay back"
NOISY = "too noisy to tell"
MOST_SPREAD = 2.0
"""Factor between 10th and 90th percentile above which the medians of two steps say nothing."""

WIDTH, BAR_ROOM, ROW = 400, 310, 40


@dataclass(frozen=True, kw_only=True)
class Bar:
    """One bar, in the drawing's units."""

    label: str
    text: str
    y: int
    length: float
    low: float | None
    """Where the 10th percentile lies; None where it was not told."""
    high: float | None
    style: int


@dataclass(frozen=True, kw_only=True)
class BarChart:
    """Bars over one scale that begins at zero."""

    title: str
    description: str
    bars: tuple[Bar, ...]
    width: int = WIDTH
    height: int = 2 * ROW + 4


@dataclass(frozen=True, kw_only=True)
class Compilation:
    """What compiling costs and gains on one device, and the numbers of every device."""

    check: Check
    where: str
    charts: tuple[BarChart, ...]
    gain: str
    """What it gains and when it is paid back, in a sentence or two; empty where not told."""
    doubt: str
    """Why that cannot be told, in place of ``gain``; empty where it can."""
    samples: str
    """Samples behind the steady steps; empty where not told."""
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def compilation(record: Record) -> Compilation | None:
    """The section, drawn for the first device that has numbers; None where none has."""
    checks = [c for c in in_path_order(record) if c.id == CHECK and _any_time(c)]
    if not checks:
        return None
    first = checks[0]
    names = [*FIRST_CALLS, *STEPS, GAIN, PAYBACK]
    return Compilation(
        check=first,
        where=place(record, first),
        charts=tuple(
            chart
            for chart in (
                _chart(first, "First call", FIRST_CALLS, 0),
                _chart(first, "Steady step", STEPS, 2),
            )
            if chart is not None
        ),
        gain="" if _noisy(first) else _gain(first),
        doubt=_doubt(first),
        samples=_samples(first),
        head=("device", *names),
        rows=tuple(
            (place(record, check) or check.node or "", *(_cell(check, n) for n in names))
            for check in checks
        ),
    )


def _any_time(check: Check) -> bool:
    return any(_seconds(check, name) is not None for name in (*FIRST_CALLS, *STEPS))


def _named(check: Check, name: str) -> Measurement | None:
    return next((m for m in check.measurements if m.name == name), None)


def _seconds(check: Check, name: str) -> float | None:
    measurement = _named(check, name)
    value = measurement.value if measurement else None
    return value if value is not None and math.isfinite(value) and value >= 0 else None


def _noisy(check: Check) -> list[str]:
    """The steps whose times are spread so far that their medians cannot be compared."""
    return [name for name in STEPS if _is_spread(_named(check, name))]


def _is_spread(step: Measurement | None) -> bool:
    if step is None or step.p10 is None or step.p90 is None:
        return False
    return step.p90 > MOST_SPREAD * max(step.p10, 0.0)


def _cell(check: Check, name: str) -> str:
    return NOISY if name in (GAIN, PAYBACK) and _noisy(check) else _told(_named(check, name))


def _told(measurement: Measurement | None) -> str:
    if measurement is None:
        return ""
    if measurement.value is None and measurement.name == PAYBACK:
        return "never"
    return quantity(measurement.value, measurement.unit)


def _chart(check: Check, title: str, names: tuple[str, ...], style: int) -> BarChart | None:
    found = [m for m in (_named(check, name) for name in names) if m is not None]
    shown = [m for m in found if _seconds(check, m.name) is not None]
    if not shown:
        return None
    top = max(max(m.value or 0.0, m.p90 or 0.0) for m in shown) or 1.0
    bars = tuple(_bar(m, k, top, style + k) for k, m in enumerate(shown))
    words = "; ".join(f"{bar.label} {bar.text}" for bar in bars)
    return BarChart(title=title, description=words, bars=bars, height=len(bars) * ROW + 4)


def _bar(measurement: Measurement, row: int, top: float, style: int) -> Bar:
    def length(value: float) -> float:
        return round(BAR_ROOM * max(0.0, value) / top, 1)

    value, low, high = measurement.value or 0.0, measurement.p10, measurement.p90
    told = low is not None and high is not None
    return Bar(
        label=measurement.name,
        text=quantity(value, measurement.unit),
        y=row * ROW,
        length=max(1.0, length(value)),
        low=length(low) if told and low is not None else None,
        high=length(high) if told and high is not None else None,
        style=style,
    )


def _gain(check: Check) -> str:
    found = []
    gain, payback = _named(check, GAIN), _named(check, PAYBACK)
    if gain is not None and gain.value is not None:
        found.append(f"A compiled step is {number(gain.value)} times as fast as an eager one.")
    if payback is not None and payback.value is None:
        found.append("Compiling is never paid back here.")
    elif payback is not None:
        found.append(f"Compiling is paid back after {number(payback.value)} steps.")
    return " ".join(found)


def _doubt(check: Check) -> str:
    noisy = _noisy(check)
    if not noisy:
        return ""
    times = "both steps'" if len(noisy) > 1 else f"the {noisy[0]}'s"
    return (
        f"What compiling gains is {NOISY}: {times} times span more than a factor of"
        f" {number(MOST_SPREAD, strip=True)} between the 10th and the 90th percentile."
    )


def _samples(check: Check) -> str:
    steps = [step for step in (_named(check, name) for name in STEPS) if step is not None]
    return " ".join(f"{s.name.capitalize()}: {spread(s)}." for s in steps if spread(s))
