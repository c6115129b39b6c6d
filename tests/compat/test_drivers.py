"""Which driver serves which CUDA toolkit."""

from __future__ import annotations

import pytest

from preflight.compat.drivers import DRIVER_FLOORS, driver_floor, serves


@pytest.mark.parametrize(
    ("driver", "toolkit", "answer"),
    [
        ("580.65.06", "13.0", True),
        ("580.65.05", "13.0", False),
        ("580.95.05", "13.2", True),
        ("590.10", "13.0", True),
        ("575.57.08", "13.0", False),
        ("575.57.08", "12.9", True),
        ("525.60.13", "12.0", True),
        ("525.60.13", "12.8", True),
        ("525.60.12", "12.8", False),
        ("535.183.01", "12.4", True),
        ("580.65.06", "12.4", True),
        ("450.80.02", "11.8", True),
        ("450.51.06", "11.8", False),
        ("1000.1", "13.0", True),
        ("580.65.06", "13", True),
    ],
)
def test_a_driver_serves_from_its_major_versions_floor_on(
    driver: str, toolkit: str, answer: bool
) -> None:
    """Any toolkit of a major version runs on every driver from that version's floor on."""
    assert serves(driver, toolkit) is answer


@pytest.mark.parametrize(
    ("driver", "toolkit"),
    [
        ("580.65.06", "14.0"),
        ("580.65.06", "10.2"),
        ("580.65.06", ""),
        ("580.65.06", "abc"),
        ("unknown", "13.0"),
        ("", "13.0"),
    ],
)
def test_what_is_not_known_is_not_guessed(driver: str, toolkit: str) -> None:
    """An unknown toolkit or a driver that is no version gives no answer, never a yes or no."""
    assert serves(driver, toolkit) is None


@pytest.mark.parametrize(
    ("toolkit", "floor"), [("13.0", "580.65.06"), ("12.9", "525.60.13"), ("9.2", None), ("x", None)]
)
def test_the_floor_is_told(toolkit: str, floor: str | None) -> None:
    """The oldest driver of a toolkit, for the message that asks for a newer one."""
    assert driver_floor(toolkit) == floor


def test_each_floor_serves_its_own_toolkit() -> None:
    """The table is in step with the judgement."""
    for major, floor in DRIVER_FLOORS.items():
        assert serves(floor, f"{major}.0") is True
