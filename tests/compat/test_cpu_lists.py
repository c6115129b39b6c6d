"""Lists of CPUs as the kernel writes them."""

from __future__ import annotations

import pytest

from preflight.compat.cpu_lists import parse_cpus


@pytest.mark.parametrize(
    ("text", "cpus"),
    [
        ("0-3,96,98-99", {0, 1, 2, 3, 96, 98, 99}),
        ("5", {5}),
        (" 0-1, 3 ", {0, 1, 3}),
        ("", set()),
        ("0-3,ff", set()),
        ("-1", set()),
        ("3-1", set()),
    ],
)
def test_lists(text: str, cpus: set[int]) -> None:
    """Ranges and single numbers; a text that is no list names none."""
    assert parse_cpus(text) == cpus
