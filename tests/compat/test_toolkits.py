"""Toolkits, architectures and compatibility packages."""

from __future__ import annotations

from itertools import pairwise

import pytest

from preflight.compat.drivers import is_at_least
from preflight.compat.toolkits import (
    architecture,
    architectures,
    compiles_for,
    packages,
    toolkit,
    toolkit_of_ptx,
    toolkits,
)
from preflight.hardware.catalog import products


@pytest.mark.parametrize(
    ("cuda", "name", "answer"),
    [
        ("12.8", "sm_100", True),
        ("12.6", "sm_100", False),
        ("12.8.93", "sm_103", False),
        ("12.9.86", "sm_103", True),
        ("12.9", "sm_121", True),
        ("13.0", "sm_110", True),
        ("12.9", "sm_110", False),
        ("12.9", "sm_70", True),
        ("13.0", "sm_70", False),
        ("13.0", "sm_75", True),
        ("11.8", "sm_90", True),
        ("11.7", "sm_90", False),
        ("11.8", "sm_37", True),
        ("12.0", "sm_37", False),
        ("12.8", "sm_150", None),
        ("12.8", "gfx942", None),
        ("", "sm_90", None),
    ],
)
def test_a_toolkit_knows_an_architecture(cuda: str, name: str, answer: bool | None) -> None:
    """From its first toolkit on until its last; what is in no table has no answer."""
    assert compiles_for(cuda, name) is answer


@pytest.mark.parametrize(
    ("isa", "cuda"),
    [("7.8", "11.8"), ("8.4", "12.4"), ("8.5", "12.5"), ("8.7", "12.8"), ("9.0", "13.0")],
)
def test_ptx_names_the_toolkit_that_wrote_it(isa: str, cuda: str) -> None:
    """The first one, where two write the same."""
    found = toolkit_of_ptx(isa)
    assert found is not None and found.version == cuda


def test_unknown_versions_have_no_entry() -> None:
    """A toolkit and a PTX of tomorrow."""
    assert toolkit("14.0") is None and toolkit_of_ptx("12.0") is None
    assert architecture("gfx942") is None


def test_drivers_of_toolkits_grow() -> None:
    """A newer toolkit comes with a newer driver."""
    drivers = [one.driver for one in toolkits()]
    for older, newer in pairwise(drivers):
        assert is_at_least(newer, older)


@pytest.mark.parametrize(
    ("package", "bases"), [("12.4", "535"), ("12.8", "535 550"), ("13.0", "535 550 570")]
)
def test_bases_of_a_package(package: str, bases: str) -> None:
    """Branches on which NVIDIA lists a compatibility package."""
    found = next(one for one in packages() if one.cuda == package)
    assert list(found.bases) == bases.split()


def test_the_catalogue_says_the_same() -> None:
    """Products and architectures carry the same first toolkit; no driver of a product is older."""
    known = {one.name: one for one in architectures()}
    for product in products():
        found = known.get(product.architecture)
        if product.vendor == "NVIDIA":
            assert found is not None, product.architecture
            assert product.first_cuda in (None, found.first_cuda), product.name
            if product.first_driver is not None and found.first_driver is not None:
                assert is_at_least(product.first_driver, found.first_driver), product.name
