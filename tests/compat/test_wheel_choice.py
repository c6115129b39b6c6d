"""Which wheel is named to a person: it always has code for the card."""

from __future__ import annotations

import re
from typing import Any

import pytest

from preflight.compat.architectures import runs_on
from preflight.compat.capabilities import cards
from preflight.compat.drivers import is_at_least, serves
from preflight.compat.place import Place
from preflight.compat.toolkits import architectures
from preflight.compat.torch_builds import release_of, toolkit_of
from preflight.compat.wheel_choice import best_wheel, drives, install_command, suits_python
from preflight.hardware.catalog import products

COMMAND = re.compile(
    r"\S+( -m pip)? install torch==(?P<patch>[\d.]+)\+(?P<variant>\w+[\d.]*) "
    r"--index-url https://download\.pytorch\.org/whl/(?P=variant)"
)
DRIVERS = (None, "450.80.02", "470.82.01", "525.60.13", "535.183.01", "570.133.20", "580.65.06",
           "595.71.05")  # fmt: skip
EVERY_ARCHITECTURE = sorted(
    {product.architecture for product in products()}
    | {card.architecture for card in cards()}
    | {one.name for one in architectures()}
)
NOWHERE = {
    # No wheel of PyTorch has code for these, on the host of the key.
    "x86_64": {"sm_87", "sm_110"},
    "aarch64": {"sm_37", "sm_50", "sm_52", "sm_60", "sm_61", "sm_70", "sm_75", "sm_87"},
}


@pytest.mark.parametrize("driver", DRIVERS)
@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("architecture", EVERY_ARCHITECTURE)
def test_the_wheel_always_has_code_for_the_card(
    architecture: str, machine: str, driver: str | None
) -> None:
    """For every card of the catalogue and beside it, on either host, with any driver."""
    is_amd = architecture.startswith("gfx")
    place = Place(architecture=architecture, machine=machine, driver=None if is_amd else driver)
    command = install_command(place)
    if architecture in NOWHERE[machine] or (is_amd and machine == "aarch64"):
        assert "from source" in command and "--index-url" not in command
        return
    match = COMMAND.search(command)
    assert match is not None, command
    release = release_of(match["patch"])
    assert release is not None and match["patch"] in release.triton
    wheel = release.wheel_of(match["variant"], machine)
    assert wheel is not None and runs_on(wheel.architectures, architecture)
    if driver and not is_amd and "driver" not in command:
        assert serves(driver, toolkit_of(wheel.variant) or "")
        assert drives(driver, architecture)


@pytest.mark.parametrize("product", products(), ids=lambda product: product.name)
def test_every_product_of_the_catalogue_has_a_wheel(product: Any) -> None:
    """On the host that it is sold with: a superchip's and a module's is aarch64."""
    of_arm = product.form in ("superchip", "module")
    place = Place(architecture=product.architecture, machine="aarch64" if of_arm else "x86_64")
    best = best_wheel(place)
    assert best is not None
    assert runs_on(best.wheel.architectures, product.architecture)
    assert best.wheel.standing != "unverified"


@pytest.mark.parametrize(
    ("facts", "prefer", "command"),
    [
        # The release stays, the variant moves.
        ({"architecture": "sm_70"}, "2.13", "torch==2.13.0+cu126"),
        ({"architecture": "sm_90"}, "2.9", "torch==2.9.1+cu128"),
        ({"architecture": "sm_90", "driver": "535.183.01"}, "2.13", "torch==2.13.0+cu126"),
        ({"architecture": "sm_100", "driver": "570.133.20"}, "2.9", "torch==2.9.1+cu128"),
        # The release cannot stay: no code, or a Triton that does not know the card.
        ({"architecture": "sm_100", "driver": "570.133.20"}, "2.6", "torch==2.11.0+cu128"),
        ({"architecture": "sm_103", "driver": "575.57.08"}, "2.9", "torch==2.11.0+cu128"),
        ({"architecture": "gfx950"}, "2.9", "torch==2.14.1+rocm7.2"),
        # Old drivers, Pythons and C libraries.
        ({"architecture": "sm_86", "driver": "470.82.01"}, None, "torch==2.7.1+cu118"),
        ({"architecture": "sm_90", "python": "3.9.18"}, None, "torch==2.8.0+cu128"),
        ({"architecture": "sm_90", "glibc": "2.17"}, None, "torch==2.6.0+cu124"),
        ({"architecture": "sm_37"}, None, "torch==2.7.1+cu118"),
        # A driver of AMD that is listed for a ROCm stands before a newer ROCm.
        ({"architecture": "gfx942", "driver": "6.8.5"}, None, "torch==2.9.1+rocm6.4"),
        ({"architecture": "gfx942", "driver": "6.12.12"}, None, "torch==2.13.0+rocm7.1"),
    ],
)
def test_the_wheel_that_moves_least(
    facts: dict[str, Any], prefer: str | None, command: str
) -> None:
    """Same release where it can be, the newest where not, never what the driver cannot serve."""
    assert f" install {command} --index-url" in install_command(Place(**facts), prefer)


@pytest.mark.parametrize(
    ("facts", "first"),
    [
        ({"architecture": "sm_100", "driver": "535.183.01"}, "install driver 580.65.06 or newer"),
        ({"architecture": "sm_90", "driver": "470.82.01"}, "install driver 580.65.06 or newer"),
        ({"architecture": "sm_70", "driver": "595.71.05"}, "install a driver of branch 580"),
    ],
)
def test_a_driver_that_serves_no_wheel_comes_first(facts: dict[str, Any], first: str) -> None:
    """Where the driver does not know the card, no other torch helps."""
    command = install_command(Place(**facts))
    assert command.startswith(first) and ", then: pip install torch==" in command


def test_a_python_for_which_there_is_no_wheel() -> None:
    """Blackwell and Python 3.8 never met: the sentence names the interpreters."""
    command = install_command(Place(architecture="sm_100", python="3.8.10"))
    assert command.startswith("no wheel with code for sm_100 is made for this Python and glibc")
    assert "Python 3.11 to 3.15" in command


def test_the_users_pip_is_in_the_command() -> None:
    """So that it goes into the interpreter under test, and into no other."""
    place = Place(architecture="sm_90", pip="/opt/venv/bin/python -m pip")
    assert install_command(place).startswith("/opt/venv/bin/python -m pip install torch==")


def test_a_wheel_that_may_not_exist_is_not_named() -> None:
    """2.15 for cu126 is known by torch's own hints alone; 2.14 is there."""
    assert "torch==2.14.1+cu126" in install_command(Place(architecture="sm_70"))


@pytest.mark.parametrize(
    ("python", "suits"),
    [("3.10.2", True), ("3.14.0", True), ("3.9.1", False), ("3.14t", True), ("3.9t", False),
     ("", None), (None, None)],
)  # fmt: skip
def test_a_release_suits_a_python(python: str | None, suits: bool | None) -> None:
    """By minor version, and free-threaded apart."""
    release = release_of("2.11")
    assert release is not None
    assert suits_python(release, python) is suits


def test_a_driver_knows_a_card_from_the_first_to_the_last() -> None:
    """What no table tells is not denied."""
    assert drives("570.26", "sm_100") and not drives("570.25", "sm_100")
    assert drives("580.95.05", "sm_70") and not drives("590.44.01", "sm_70")
    assert drives("1.0", "sm_150") and drives("nonsense", "sm_100")


def test_the_oldest_driver_of_a_card_is_older_than_its_toolkits() -> None:
    """A toolkit knows a card no earlier than a driver does."""
    for one in architectures():
        if one.first_driver and one.first_cuda and one.first_cuda >= "12.8":
            assert is_at_least(one.first_driver, "525.60.13")
