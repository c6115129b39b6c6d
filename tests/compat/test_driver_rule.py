"""Which driver serves which CUDA on which card."""

from __future__ import annotations

import pytest

from preflight.compat.place import Place
from preflight.compat.rules import judge_driver
from preflight.compat.toolkits import toolkits

SERVES = [
    # driver, CUDA, card
    ("525.60.13", "12.1", "sm_80"),
    ("535.183.01", "12.6", "sm_80"),  # by minor version compatibility
    ("450.80.02", "11.8", "sm_80"),
    ("580.65.06", "13.0", "sm_75"),
    ("580.65.06", "13.2", "sm_103"),
    ("595.71.05", "12.1", "sm_90"),  # a newer driver serves what is older
    ("570.133.20", "12.8", "sm_100"),
    ("580.65.06", "12.6", "sm_70"),
]
FAILS = [
    ("525.60.12", "12.1", "sm_80", "525.60.13"),
    ("470.82.01", "12.1", "sm_80", "525.60.13"),
    ("575.57.08", "13.0", "sm_80", "580.65.06"),
    ("535.183.01", "12.8", "sm_100", "570.26"),  # the driver does not know the chip
    ("535.183.01", "12.8", "sm_120", "570"),
    ("590.48.01", "12.6", "sm_70", "branch 580"),  # the last that serves Volta
    ("595.71.05", "12.6", "sm_61", "branch 580"),
    ("535.183.01", "11.8", "sm_37", "branch 470"),
]


@pytest.mark.parametrize(("driver", "cuda", "architecture"), SERVES)
def test_a_driver_that_serves(driver: str, cuda: str, architecture: str) -> None:
    """From the floor of the major version on, and where the driver knows the chip."""
    finding = judge_driver(Place(architecture=architecture, driver=driver), cuda)
    assert finding.status == "pass" and finding.source


@pytest.mark.parametrize(("driver", "cuda", "architecture", "needed"), FAILS)
def test_a_driver_that_does_not(driver: str, cuda: str, architecture: str, needed: str) -> None:
    """Too old for CUDA, or too old or too new for the chip: the action names what is needed."""
    finding = judge_driver(Place(architecture=architecture, driver=driver), cuda)
    assert finding.status == "fail"
    assert needed in finding.action


def test_a_driver_below_the_toolkits_own_serves_with_limits() -> None:
    """Minor version compatibility does not cover PTX, and the pass says so."""
    finding = judge_driver(Place(architecture="sm_90", driver="535.183.01"), "12.6")
    assert "PTX of CUDA 12.6 needs 560.28.03" in finding.reason
    full = judge_driver(Place(architecture="sm_90", driver="560.35.03"), "12.6")
    assert "PTX" not in full.reason


def test_an_old_driver_may_stay_with_an_older_torch() -> None:
    """The action has both: a newer driver, and a wheel that this one serves and the card runs."""
    finding = judge_driver(Place(architecture="sm_80", driver="535.183.01"), "13.0")
    assert "install driver 580.65.06" in finding.action
    assert "/whl/cu126" in finding.action


@pytest.mark.parametrize("architecture", ["sm_103", "sm_121", "sm_89"])
def test_a_first_driver_that_nobody_verified_only_warns(architecture: str) -> None:
    """Where the first driver of a chip rests on hearsay, an older one is a warning."""
    place = Place(architecture=architecture, driver="515.43.04")
    assert judge_driver(place, "11.8").status == "warn"


# -- forward compatibility packages --------------------------------------------------------------


def test_driver_470_with_a_package_on_an_a10_does_not_fail() -> None:
    """The driver is below every floor of CUDA 12; the package of a data-centre card may serve."""
    place = Place(architecture="sm_86", driver="470.82.01", data_center=True)
    assert judge_driver(place, "12.4").status == "fail"
    finding = judge_driver(place, "12.4", package="12.4")
    assert finding.status == "warn"
    assert "torch.cuda.init()" in finding.action


@pytest.mark.parametrize(
    ("driver", "cuda", "package"),
    [("535.183.01", "13.0", "13.0"), ("550.90.07", "13.0", "13.0"), ("570.26", "13.0", "13.0")],
)
def test_a_package_on_a_base_that_is_listed_passes(driver: str, cuda: str, package: str) -> None:
    """NVIDIA lists R535, R550 and R570 as bases of the package for 13.0."""
    place = Place(architecture="sm_90", driver=driver, data_center=True)
    assert judge_driver(place, cuda).status == "fail"
    assert judge_driver(place, cuda, package=package).status == "pass"


def test_a_card_that_allows_no_package_fails() -> None:
    """On GeForce the package ends in error 804."""
    place = Place(architecture="sm_89", driver="535.183.01", data_center=False)
    finding = judge_driver(place, "13.0", package="13.0")
    assert finding.status == "fail" and "804" in finding.reason


def test_a_package_of_another_major_does_not_serve() -> None:
    """cuda-compat-12-8 brings no CUDA 13; within a major version an older one does."""
    place = Place(architecture="sm_80", driver="470.82.01", data_center=True)
    assert judge_driver(place, "13.0", package="12.8").status == "fail"
    assert judge_driver(place, "12.6", package="12.4").status == "warn"


def test_a_card_of_which_nobody_tells_is_not_refused() -> None:
    """Without knowing whether the card is a data-centre one, torch has the last word."""
    place = Place(architecture="sm_80", driver="535.183.01")
    assert judge_driver(place, "13.0", package="13.0").status == "warn"


@pytest.mark.parametrize(
    ("driver", "cuda"), [(None, "12.8"), ("unknown", "12.8"), ("535.183.01", "14.0")]
)
def test_what_is_not_known_is_not_judged(driver: str | None, cuda: str) -> None:
    """Neither an unknown driver nor an unknown CUDA fails."""
    finding = judge_driver(Place(architecture="sm_90", driver=driver), cuda)
    assert finding.status == "unknown"


def test_a_toolkits_own_driver_serves_it() -> None:
    """The table of toolkits and the floors are in step (11.0 came before its floor was raised)."""
    for one in toolkits():
        if one.version != "11.0":
            place = Place(architecture="sm_80", driver=one.driver)
            assert judge_driver(place, one.version).status == "pass", one.version
