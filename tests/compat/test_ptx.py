"""Which driver compiles which PTX."""

from __future__ import annotations

import pytest

from preflight.compat.ptx import compiles, newest, ptx_driver


@pytest.mark.parametrize(
    ("isa", "driver"),
    [
        ("7.8", "520.61.05"),
        ("8.7", "570.26"),
        ("9.0", "580.65.06"),
        ("7.5", "495.29.05"),
        ("6.5", "450.36.06"),
    ],
)
def test_ptx_needs_the_driver_of_its_toolkit(isa: str, driver: str) -> None:
    """Minor version compatibility does not cover PTX; what is older than the table, all compile."""
    assert ptx_driver(isa) == driver


def test_ptx_that_is_newer_than_the_table_has_no_known_floor() -> None:
    """Nobody knows which driver compiles the PTX of a toolkit to come, and no driver is said to."""
    assert ptx_driver("11.7") is None
    assert not compiles("999.1", ["11.7"])


@pytest.mark.parametrize(
    ("driver", "isas", "answer"),
    [
        ("570.26", ["8.7"], True),
        ("570.25", ["8.7"], False),
        ("575.57", ["8.7", "9.0"], False),
        ("580.65.06", ["8.7", "9.0"], True),
        ("560.35", [], True),
        ("no version", ["8.0"], False),
    ],
)
def test_a_driver_compiles_what_it_knows(driver: str, isas: list[str], answer: bool) -> None:
    """The newest of the versions decides."""
    assert compiles(driver, isas) is answer


def test_versions_are_numbers() -> None:
    """10.0 is newer than 9.9."""
    assert newest(["9.9", "10.0", "8.0"]) == "10.0"
    assert newest([]) is None
