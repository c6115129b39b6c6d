from __future__ import annotations

import pytest

from preflight.rendering import quantities

from .sample import measured


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0062, "s", "6.20 ms"),
        (18.42, "s", "18.4 s"),
        (0.0000031, "s", "3.10 µs"),
        (0.9999, "s", "1.00 s"),
        (474.1, "GB/s", "474 GB/s"),
        (2610.0, "GB/s", "2.61 TB/s"),
        (0.4346, "GB/s", "435 MB/s"),
        (742.0, "TFLOP/s", "742 TFLOP/s"),
        (1511.4, "GiB", "1.48 TiB"),
        (8192, "B", "8 KiB"),
        (5465, "1", "5 465"),
        (1.4516, "1", "1.45"),
        (9.999, "W", "10.0 W"),
        (0, "GB/s", "0 GB/s"),
        (3.21e-7, "1", "3.21×10⁻⁷"),
        (1e300, "W", "1.00×10³⁰⁰ W"),
        (None, "s", "not finite"),
        (float("nan"), "s", "not finite"),
    ],
)
def test_numbers_have_three_figures_and_a_fitting_unit(
    value: float | None, unit: str, text: str
) -> None:
    """A value is scaled to its unit's own multiples and rounded to three significant figures."""
    strip = unit == "B"
    shown = quantities.quantity(value, unit, strip=strip)
    assert shown.replace(quantities.SPACE, " ") == text


def test_value_and_limit_differ_where_they_do() -> None:
    """A value just below its limit is not shown as equal to it."""
    one = measured("share", 0.79996, "1", limit=(">=", 0.8, "source"))
    value, limit = quantities.value_and_bound(one)
    assert (value, limit.replace(quantities.SPACE, " ")) == ("0.79996", "≥ 0.8")


@pytest.mark.parametrize(
    ("op", "value", "out"),
    [
        (">=", 48.0, False),
        (">=", 47.9, True),
        ("<=", 48.0, False),
        ("<", 48.0, True),
        (">", 48.0, True),
        ("==", 48.0, False),
        ("==", 47.0, True),
        ("<=", None, True),
    ],
)
def test_limits_are_compared_as_they_say(op: str, value: float | None, out: bool) -> None:
    """A number that is not finite is out of every limit; without a limit nothing is out."""
    assert quantities.is_out_of_limit(measured("x", value, "s", limit=(op, 48.0, ""))) is out
    assert not quantities.is_out_of_limit(measured("x", value, "s"))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.44, "0.4 s"), (161.2, "2 min 41 s"), (3900.0, "1 h 05 min"), (None, "unfinished")],
)
def test_durations_are_in_words(seconds: float | None, text: str) -> None:
    """Wall time reads as people say it, and a killed run has none."""
    assert quantities.duration(seconds).replace(quantities.SPACE, " ") == text
