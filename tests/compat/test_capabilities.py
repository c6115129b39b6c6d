"""Cards outside the catalogue, by name."""

from __future__ import annotations

from collections import Counter

import pytest

from preflight.compat.architectures import runs_on
from preflight.compat.capabilities import _plain, card_named, cards
from preflight.hardware.catalog import identify, meant_by


@pytest.mark.parametrize(
    ("name", "architecture", "data_center"),
    [
        ("Tesla V100-SXM2-32GB", "sm_70", True),
        ("V100", "sm_70", True),
        ("Tesla P100-PCIE-16GB", "sm_60", True),
        ("Tesla K80", "sm_37", True),
        ("Tesla T4", "sm_75", True),
        ("T4", "sm_75", True),
        ("NVIDIA A10G", "sm_86", True),
        ("A10", "sm_86", True),
        ("NVIDIA A40", "sm_86", True),
        ("NVIDIA GeForce RTX 3090", "sm_86", False),
        ("RTX 3090", "sm_86", False),
        ("NVIDIA RTX A6000", "sm_86", False),
        ("NVIDIA L40", "sm_89", True),
        ("rtx 6000 ada generation", "sm_89", False),
        ("Quadro RTX 6000", "sm_75", False),
        ("NVIDIA GeForce RTX 5080", "sm_120", False),
        ("NVIDIA TITAN V", "sm_70", False),
    ],
)
def test_a_card_is_known_by_its_name(name: str, architecture: str, data_center: bool) -> None:
    """As the driver says it, as an order says it, in any case."""
    card = card_named(name)
    assert card is not None
    assert (card.architecture, card.data_center) == (architecture, data_center)


@pytest.mark.parametrize("name", ["A100", "A1", "RTX 3090 Laptop GPU", "GRID A10-8Q", "", "L4"])
def test_a_name_must_fit_as_a_whole(name: str) -> None:
    """A virtual or mobile one is none of these, nor is what only begins alike."""
    assert card_named(name) is None


def test_no_name_stands_twice() -> None:
    """One name, one card."""
    counted = Counter(_plain(name) for card in cards() for name in card.names)
    assert counted.most_common(1)[0][1] == 1


def test_no_card_of_the_catalogue_stands_here() -> None:
    """What the catalogue knows it knows better; the two must not disagree."""
    for card in cards():
        for name in card.names:
            assert identify(name) is None, name
            assert not meant_by(name), name


def test_architectures_are_such() -> None:
    """Each runs code for itself."""
    assert all(runs_on([card.architecture], card.architecture) for card in cards())
