"""Durations, sizes and counts of cards."""

from __future__ import annotations

import random

import pytest

from preflight.quantities import (
    LONGEST_DURATION_S,
    MOST_GPUS,
    format_duration,
    format_size,
    parse_duration,
    parse_gpus,
    parse_size,
)


@pytest.mark.parametrize(
    ("text", "duration_s"),
    [
        ("30s", 30),
        ("5m", 300),
        ("2h", 7200),
        ("1.5h", 5400),
        ("7d", 604800),
        ("1h30m", 5400),
        ("1 h 30 min", 5400),
        ("0.5s", 0.5),
        (" 90 S ", 90),
        ("2 days", 172800),
    ],
)
def test_a_duration_is_read_in_seconds(text: str, duration_s: float) -> None:
    """Every documented way to write a duration gives its seconds."""
    assert parse_duration(text) == duration_s


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("90", "has no unit: write 90s, 90m or 90h"),
        ("1.5", "write 1.5s"),
        ("", "empty"),
        ("  ", "empty"),
        ("0s", "no time at all"),
        ("-5m", "not a duration"),
        ("5x", "not a duration: write a duration as 30s, 5m, 2h"),
        ("30m1h", "not a duration"),
        ("5m5m", "not a duration"),
        ("inf", "not a duration"),
        ("nan", "not a duration"),
        ("1e3s", "not a duration"),
        ("٣s", "not a duration"),
        ("9" * 400 + "h", "longer than ten years"),
        ("4000d", "longer than ten years"),
    ],
)
def test_a_text_that_is_no_duration_is_refused_with_what_is_accepted(text: str, says: str) -> None:
    """The message names the fault and the forms that are read."""
    with pytest.raises(ValueError, match="write") as caught:
        parse_duration(text)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("duration_s", "text"),
    [
        (0, "0.00 s"),
        (0.352, "0.35 s"),
        (0.999, "1.0 s"),
        (4.24, "4.2 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.7, "1 min 0 s"),
        (161.2, "2 min 41 s"),
        (3599.6, "1 h 0 min"),
        (3900, "1 h 5 min"),
        (86399, "1 d 0 h"),
        (183600, "2 d 3 h"),
        (-161.2, "-2 min 41 s"),
    ],
)
def test_seconds_are_shown_in_two_units_at_most(duration_s: float, text: str) -> None:
    """Rounding carries over to the next unit, so that 60 s is never shown."""
    assert format_duration(duration_s) == text


@pytest.mark.parametrize("duration_s", [float("inf"), float("nan")])
def test_what_is_not_finite_is_no_duration(duration_s: float) -> None:
    """A caller that has no number must say so itself."""
    with pytest.raises(ValueError, match="finite"):
        format_duration(duration_s)


def test_a_shown_duration_is_read_back_within_its_last_unit() -> None:
    """What format_duration writes, parse_duration reads."""
    generator = random.Random(20261201)
    for _ in range(300):
        duration_s = 10 ** generator.uniform(0, 7)
        slack_s = 1 if duration_s < 3600 else 60 if duration_s < 86400 else 3600
        assert abs(parse_duration(format_duration(duration_s)) - duration_s) <= slack_s
    assert format_duration(LONGEST_DURATION_S) == "3660 d 0 h"


@pytest.mark.parametrize(
    ("text", "num_bytes"),
    [
        ("80GB", 80 * 10**9),
        ("1GiB", 2**30),
        ("512 MiB", 512 * 2**20),
        ("1.5TB", 1.5e12),
        ("16kib", 16384),
        ("0B", 0),
    ],
)
def test_a_size_is_read_in_bytes(text: str, num_bytes: float) -> None:
    """GB is decimal and GiB is binary."""
    assert parse_size(text) == num_bytes


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("80", "has no unit"),
        ("80Gb", "unknown unit 'Gb'"),
        ("80G", "unknown unit 'G'"),
        ("GB", "not a size"),
        ("-1GB", "not a size"),
        ("1" * 20 + "GB", "more digits"),
        ("", "not a size"),
    ],
)
def test_a_text_that_is_no_size_is_refused_with_what_is_accepted(text: str, says: str) -> None:
    """Gigabits and bare letters are not guessed at."""
    with pytest.raises(ValueError, match="80GB") as caught:
        parse_size(text)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("num_bytes", "text"),
    [(0, "0 B"), (512, "512 B"), (1536, "1.5 KiB"), (2**30, "1 GiB"), (180 * 10**9, "167.6 GiB")],
)
def test_bytes_are_shown_in_binary_units(num_bytes: int, text: str) -> None:
    """One decimal, and none where it would be zero."""
    assert format_size(num_bytes) == text


@pytest.mark.parametrize(
    ("text", "count", "product"),
    [
        ("2xB200", 2, "B200"),
        ("B200x2", 2, "B200"),
        ("2 x B200", 2, "B200"),
        ("B200 x 2", 2, "B200"),
        ("8×H100", 8, "H100"),
        ("H100×8", 8, "H100"),
        ("8XH100", 8, "H100"),
        ("B200", None, "B200"),
        ("8xMI300X", 8, "MI300X"),
        ("MI300Xx8", 8, "MI300X"),
        ("MI300X x 8", 8, "MI300X"),
        ("MI300X", None, "MI300X"),
        ("RTX 4090", None, "RTX 4090"),
        ("rtx4090", None, "rtx4090"),
        ("2xRTX 4090", 2, "RTX 4090"),
        ("RTX 4090 x2", 2, "RTX 4090"),
        ("DGX100", None, "DGX100"),
        ("H100 SXM x 8", 8, "H100 SXM"),
        ("l40sx4", 4, "l40s"),
        ("NVIDIA H100 80GB HBM3", None, "NVIDIA H100 80GB HBM3"),
        ("  2   x   H100   PCIe ", 2, "H100 PCIe"),
    ],
)
def test_count_and_product_are_read_wherever_the_count_stands(
    text: str, count: int | None, product: str
) -> None:
    """The x of RTX and of MI300X belongs to the name."""
    assert parse_gpus(text) == (count, product)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no product"),
        ("8", "does not name a product"),
        ("2x4090", "does not name a product"),
        ("0xB200", "from 1 to"),
        (f"{MOST_GPUS + 1}xB200", "from 1 to"),
        ("9" * 5000 + "xB200", "from 1 to"),
        ("-2xB200", "does not name a product"),
        ("2xB200x2", "two counts"),
        ("MI300x8", "may mean MI300 or MI300X: write the count first, such as 8xMI300X"),
        ("B200\x1b[31m", "does not name a product"),
        ("B200;rm", "does not name a product"),
        ("B" * 100, "does not name a product"),
    ],
)
def test_a_text_that_names_no_cards_is_refused_with_what_is_accepted(text: str, says: str) -> None:
    """The message shows the text with control characters escaped, and is short."""
    with pytest.raises(ValueError, match=r"write|from 1 to") as caught:
        parse_gpus(text)
    assert says in str(caught.value)
    assert "\x1b" not in str(caught.value)
    assert len(str(caught.value)) < 200
