"""What a PCIe link can carry, and where its floor comes from."""

from __future__ import annotations

import pytest

from preflight.compat.host_links import copies_over_pcie, floor_share, theoretical_GBps


@pytest.mark.parametrize(
    ("generation", "width", "rate_GBps"),
    [(1, 16, 4.0), (3, 16, 15.75), (4, 8, 15.75), (4, 16, 31.51), (5, 16, 63.02), (6, 16, 121.0)],
)
def test_the_rate_of_a_link(generation: int, width: int, rate_GBps: float) -> None:
    """Transfers times lanes, less the encoding: 8b/10b, 128b/130b, flits of 242 in 256 bytes."""
    assert theoretical_GBps(generation, width) == pytest.approx(rate_GBps, abs=0.01)


def test_an_unknown_generation_has_no_rate() -> None:
    """What PCI-SIG has not published yet is not guessed."""
    assert theoretical_GBps(7, 16) is None


@pytest.mark.parametrize(
    ("generation", "architecture", "floor_GBps", "product"),
    [
        (3, "sm_70", 9.0, "V100"),
        (4, "sm_80", 21.0, "A100"),
        (5, "sm_90", 44.0, "MI300X"),
        (4, "gfx90a", 12.0, "MI200"),
    ],
)
def test_a_floor_over_sixteen_lanes_is_the_published_gate(
    generation: int, architecture: str, floor_GBps: float, product: str
) -> None:
    """The share gives back the gate that it was made of, and the source names it."""
    found = floor_share(generation, architecture)
    whole = theoretical_GBps(generation, 16)
    assert found is not None and whole is not None
    assert found[0] * whole == pytest.approx(floor_GBps)
    assert product in found[1] and "AzNHC" in found[1]


def test_every_floor_lets_the_published_gates_of_its_generation_pass() -> None:
    """H100's 48 and B200's 52 GB/s over Gen5 are above the floor of that generation."""
    found, whole = floor_share(5, "sm_100"), theoretical_GBps(5, 16)
    assert found is not None and whole is not None and found[0] * whole < 48


def test_a_link_at_half_its_rate_is_below_every_floor() -> None:
    """A floor that no fallen link can reach: half of the lanes give at most 50%."""
    for generation in (3, 4, 5, 6):
        found = floor_share(generation, "sm_90")
        assert found is not None and 0.5 < found[0] < 0.8


def test_a_generation_that_has_no_gate_yet_is_held_to_the_newest() -> None:
    """Gen6 by the share of Gen5; the slow generations of old have none."""
    assert floor_share(6, "sm_100") == floor_share(5, "sm_100")
    assert floor_share(1, "sm_90") is None


@pytest.mark.parametrize(
    ("product", "over_pcie"),
    [
        ("NVIDIA H100 80GB HBM3", True),
        ("NVIDIA B200", True),
        ("AMD Instinct MI300X", True),
        ("NVIDIA GH200 480GB", False),
        ("NVIDIA GB200", False),
        ("NVIDIA GB10", False),
        ("NVIDIA Thor", False),
        ("AMD Instinct MI300A", False),
    ],
)
def test_products_that_reach_their_host_another_way(product: str, over_pcie: bool) -> None:
    """NVLink-C2C and shared memory are no PCIe link, although the card has one."""
    assert copies_over_pcie(product) is over_pcie
