"""What a check says: measurements with limits, a warning, a skip, an action."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NoReturn

import pytest

from preflight.records import Limit, Matrix, Measurement, Series, Status

GENERIC_ACTION = (
    "read the evidence, run this stage again alone (--only), and show the seller the report"
)
_HOLDS = {
    "<=": lambda value, bound: value <= bound,
    ">=": lambda value, bound: value >= bound,
    "<": lambda value, bound: value < bound,
    ">": lambda value, bound: value > bound,
    "==": lambda value, bound: value == bound,
}

Op = Literal["<=", ">=", "<", ">", "=="]


def at_most(bound: float, source: str) -> Limit:
    """A value must not exceed ``bound``; ``source`` says who says so."""
    return Limit(value=bound, op="<=", source=source)


def at_least(bound: float, source: str) -> Limit:
    """A value must reach ``bound``; ``source`` says who says so."""
    return Limit(value=bound, op=">=", source=source)


def exactly(bound: float, source: str) -> Limit:
    """A value must equal ``bound``; ``source`` says who says so."""
    return Limit(value=bound, op="==", source=source)


class Result:
    """Collects what one check says; the engine turns it into the record.

    Without a word the check passes, unless a measurement is outside its limit.
    """

    def __init__(self, floors: Mapping[str, float] | None = None) -> None:
        """``floors`` are the plan's own, by measurement name."""
        self._floors = dict(floors or {})
        self.status: Status = "pass"
        self.reason = ""
        self.action = ""
        self.rank: int | None = None
        self.measurements: list[Measurement] = []
        self.series: list[Series] = []
        self.matrices: list[Matrix] = []
        self.evidence = ""
        self.on_failure = ""

    def advise(self, action: str) -> None:
        """What to do if this check fails; say it before anything can."""
        self.on_failure = action

    def measure(
        self,
        name: str,
        value: float | None,
        unit: str,
        *,
        limit: Limit | None = None,
        n: int | None = None,
        p10: float | None = None,
        p90: float | None = None,
    ) -> None:
        """Record a number; one outside ``limit``, or not finite, fails the check.

        ``value`` is None where a probe had infinity or NaN to report.
        """
        if limit is None and name in self._floors:
            limit = at_least(self._floors[name], "the plan's own floor")
        finite = value is not None and math.isfinite(value)
        self.measurements.append(
            Measurement(
                name=name,
                value=value if finite else None,
                unit=unit,
                limit=limit,
                n=n,
                p10=p10,
                p90=p90,
            )
        )
        if limit is None:
            return
        if not finite:
            self.fail(f"{name} is not a finite number")
        elif not _HOLDS[limit.op](value, limit.value):
            shown = f"{value:.4g}" if unit == "1" else f"{value:.4g} {unit}"
            self.fail(f"{name}: {shown}, must be {limit.op} {limit.value:.4g}")

    def draw(
        self,
        name: str,
        points: Iterable[tuple[float, float | None]],
        *,
        x: str,
        y: str,
        x_unit: str,
        y_unit: str,
    ) -> None:
        """Record a curve; a point without a finite value (None, NaN) leaves a gap in it."""
        finite = tuple((at, v) for at, v in points if v is not None and math.isfinite(v))
        self.series.append(Series(name=name, x=x, y=y, x_unit=x_unit, y_unit=y_unit, points=finite))

    def tabulate(
        self,
        name: str,
        values: Sequence[Sequence[float | None]],
        *,
        rows: Sequence[str],
        columns: Sequence[str],
        unit: str,
    ) -> None:
        """Record a matrix; a value that is not finite is left empty."""
        self.matrices.append(
            Matrix(
                name=name,
                rows=tuple(rows),
                columns=tuple(columns),
                unit=unit,
                values=tuple(tuple(_finite(value) for value in row) for row in values),
            )
        )

    def note(self, fact: str) -> None:
        """A short fact worth showing beside a pass."""
        if self.status == "pass":
            self.reason = fact

    def warn(self, reason: str, action: str = "") -> None:
        """Something a person should know and that does not make the machine unfit."""
        if self.status not in ("fail", "warn"):
            self.status, self.reason, self.action = "warn", reason, action

    def fail(self, reason: str, action: str = "", *, rank: int | None = None) -> None:
        """A stated fact that makes the machine or environment unfit; the first one stays."""
        if self.status != "fail":
            self.status, self.reason, self.rank = "fail", reason, rank
            self.action = action or self.on_failure or GENERIC_ACTION

    def skip(self, reason: str) -> NoReturn:
        """Not applicable here, and why; ends the check."""
        pytest.skip(reason)

    def attach(self, text: str) -> None:
        """Add raw text to the evidence."""
        self.evidence = f"{self.evidence}\n{text}".strip()


def _finite(value: float | None) -> float | None:
    """JSON has no NaN and no infinity."""
    return value if value is not None and math.isfinite(value) else None
