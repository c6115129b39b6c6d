"""Which driver serves which CUDA toolkit."""

from __future__ import annotations

import pytest

from preflight.compat.drivers import (
    DRIVER_FLOORS,
    OLD_FLOORS,
    OLD_SOURCE,
    SOURCE,
    driver_floor,
    floor_source,
    is_at_least,
    package_error,
    serves,
)


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
        ("418.67", "10.2", False),
        ("440.33.01", "10.2", True),
        ("410.129", "10.0", True),
        ("410.48", "10.1", False),
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
        ("580.65.06", "9.2"),
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
    for toolkit, floor in OLD_FLOORS.items():
        assert serves(floor, toolkit) is True


def test_the_source_goes_with_the_floor() -> None:
    """Before CUDA 11 there was no minor version compatibility, and the table is another."""
    assert floor_source("10.2") == OLD_SOURCE
    assert floor_source("12.8") == SOURCE


@pytest.mark.parametrize(
    ("version", "floor", "answer"),
    [
        ("570.133.20", "570.133.20", True),
        ("570.86.15", "570.133.20", False),
        ("6.4.1", "6.0", True),
        ("5.7.0", "6.0", False),
        ("R580", "570", None),
    ],
)
def test_versions_are_compared_as_numbers(version: str, floor: str, answer: bool | None) -> None:
    """570.86 is older than 570.133, and what is no version has no answer."""
    assert is_at_least(version, floor) is answer


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("Error 804: forward compatibility was attempted on non supported HW", 804),
        (
            "Unexpected error from cudaGetDeviceCount(). Error 803: system has unsupported display "
            "driver / cuda driver combination",
            803,
        ),
        ("Error 802: system not yet initialized", None),
        ("CUDA error 8041", None),
        ("", None),
    ],
)
def test_a_wrong_compatibility_package_is_known_by_its_words(words: str, code: int | None) -> None:
    """803 and 804 speak of the libcuda that was loaded; other errors do not."""
    assert package_error(words) == code
