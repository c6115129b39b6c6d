"""Numbers with their units, as people read them: three significant figures, a fitting scale."""

from __future__ import annotations

import math

from preflight.records import Limit, Measurement

SPACE = "\u00a0"
"""Between a number and its unit, and between thousands: no line breaks there."""

_SIGNS = {"<=": "≤", ">=": "≥", "<": "<", ">": ">", "==": "="}
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_LONGEST_UNIT = 16

_SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")),
    "GB/s": ((1e3, "TB/s"), (1, "GB/s"), (1e-3, "MB/s"), (1e-6, "kB/s")),
    "TFLOP/s": ((1e3, "PFLOP/s"), (1, "TFLOP/s"), (1e-3, "GFLOP/s"), (1e-6, "MFLOP/s")),
    "GB": ((1e3, "TB"), (1, "GB"), (1e-3, "MB"), (1e-6, "kB")),
    "GiB": ((2.0**10, "TiB"), (1, "GiB"), (2.0**-10, "MiB"), (2.0**-20, "KiB")),
    "MiB": ((2.0**20, "TiB"), (2.0**10, "GiB"), (1, "MiB"), (2.0**-10, "KiB")),
    "B": ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1, "B")),
}


def scale_of(value: float, unit: str) -> tuple[float, str]:
    """Factor to divide by, and the unit then to write: ``(1e-3, "ms")`` for 0.02 s."""
    unit = unit if len(unit) <= _LONGEST_UNIT else f"{unit[:_LONGEST_UNIT]}…"
    scales = _SCALES.get(unit)
    if scales is None or value == 0 or not math.isfinite(value):
        return 1.0, "" if unit == "1" else unit
    return next((scale for scale in scales if abs(value) >= scale[0] * 0.9995), scales[-1])


def number(value: float | None, *, digits: int = 3, strip: bool = False) -> str:
    """A number to so many significant figures; integers whole, thousands apart."""
    if value is None or not math.isfinite(value):
        return "not finite"
    if isinstance(value, int) and abs(value) < 10**15:
        return f"{value:,}".replace(",", SPACE)
    if value == 0:
        return "0"
    exponent = math.floor(math.log10(abs(value)))
    if not -4 <= exponent < 7:
        mantissa, _, power = f"{value:.{digits - 1}e}".partition("e")
        return f"{mantissa}×10{str(int(power)).translate(_SUPERSCRIPT)}"
    # The exponent again after rounding, so that 9.999 gives 10.0 and not 10.00.
    exponent = math.floor(math.log10(abs(float(f"{value:.{digits - 1}e}"))))
    text = f"{value:,.{max(0, digits - 1 - exponent)}f}".replace(",", SPACE)
    return text.rstrip("0").rstrip(".") if strip and "." in text else text


def quantity(value: float | None, unit: str, *, digits: int = 3, strip: bool = False) -> str:
    """A number with its unit: ``742 TFLOP/s``, ``6.20 ms``; unit ``1`` is not written."""
    if value is None or not math.isfinite(value):
        return "not finite"
    factor, name = scale_of(value, unit)
    scaled = value if factor == 1 else value / factor
    text = number(scaled, digits=digits, strip=strip)
    return f"{text}{SPACE}{name}" if name else text


def bound(limit: Limit, unit: str, *, digits: int = 3) -> str:
    """A limit with its sign: ``≥ 640 TFLOP/s``."""
    return f"{_SIGNS[limit.op]}{SPACE}{quantity(limit.value, unit, digits=digits, strip=True)}"


def value_and_bound(measurement: Measurement) -> tuple[str, str]:
    """Value and limit side by side, with as many figures as it takes to tell them apart."""
    value, limit, unit = measurement.value, measurement.limit, measurement.unit
    if limit is None:
        return quantity(value, unit), ""
    digits = 3
    while digits < 9 and value is not None and value != limit.value:
        if quantity(value, unit, digits=digits) != quantity(limit.value, unit, digits=digits):
            break
        digits += 1
    return quantity(value, unit, digits=digits), bound(limit, unit, digits=digits)


def is_out_of_limit(measurement: Measurement) -> bool:
    """Whether the value breaks its limit; a value that is not finite breaks every limit."""
    value, limit = measurement.value, measurement.limit
    if limit is None:
        return False
    if value is None or not math.isfinite(value):
        return True
    bounds = {
        "<=": value <= limit.value,
        ">=": value >= limit.value,
        "<": value < limit.value,
        ">": value > limit.value,
        "==": value == limit.value,
    }
    return not bounds[limit.op]


def spread(measurement: Measurement) -> str:
    """Samples behind the value: ``n = 200, p10 6.10 ms, p90 6.40 ms``; empty where not told."""
    parts = []
    if measurement.n is not None:
        parts.append(f"n{SPACE}={SPACE}{number(measurement.n)}")
    for label, value in (("p10", measurement.p10), ("p90", measurement.p90)):
        if value is not None:
            parts.append(f"{label}{SPACE}{quantity(value, measurement.unit)}")
    return ", ".join(parts)


def duration(seconds: float | None) -> str:
    """Wall time in words: ``0.4 s``, ``2 min 41 s``, ``1 h 05 min``; ``unfinished`` for None."""
    if seconds is None:
        return "unfinished"
    if seconds < 59.95:
        return f"{seconds:.1f}{SPACE}s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60}{SPACE}min{SPACE}{whole % 60:02d}{SPACE}s"
    return f"{whole // 3600}{SPACE}h{SPACE}{whole % 3600 // 60:02d}{SPACE}min"
