"""Which device runs which compiled code."""

from __future__ import annotations

import pytest

from preflight.compat.architectures import is_architecture, runs_on

RUNS = [
    # The same capability, and later minor versions of the same major one.
    ("sm_80", "sm_80"),
    ("sm_80", "sm_86"),
    ("sm_80", "sm_89"),
    ("sm_86", "sm_86"),
    ("sm_86", "sm_89"),
    ("sm_89", "sm_89"),
    ("sm_90", "sm_90"),
    ("sm_100", "sm_100"),
    ("sm_100", "sm_103"),
    ("sm_103", "sm_103"),
    ("sm_120", "sm_120"),
    ("sm_120", "sm_121"),
    ("sm_121", "sm_121"),
    ("sm_87", "sm_87"),
    ("sm_70", "sm_75"),
    # Architecture-specific code, on its very capability.
    ("sm_90a", "sm_90"),
    ("sm_100a", "sm_100"),
    ("sm_103a", "sm_103"),
    ("sm_120a", "sm_120"),
    # Family-specific code, within its family.
    ("sm_100f", "sm_100"),
    ("sm_100f", "sm_103"),
    ("sm_120f", "sm_121"),
    # PTX, compiled by the driver for what is newer.
    ("compute_80", "sm_80"),
    ("compute_80", "sm_87"),
    ("compute_80", "sm_90"),
    ("compute_80", "sm_120"),
    ("compute_90", "sm_100"),
    ("compute_100f", "sm_103"),
    ("compute_90a", "sm_90"),
    # AMD, with and without the features of a target.
    ("gfx942", "gfx942"),
    ("gfx942", "gfx942:sramecc+:xnack-"),
    ("gfx942:sramecc+:xnack-", "gfx942"),
    ("gfx90a", "gfx90a"),
    # A feature that the code does not name runs with either setting; one of the device that is
    # not named is not known.
    ("gfx90a:sramecc+", "gfx90a:sramecc+:xnack-"),
    ("gfx90a:xnack-", "gfx90a:sramecc+"),
    # Generic processors.
    ("gfx9-4-generic", "gfx942"),
    ("gfx9-4-generic", "gfx950:sramecc+:xnack-"),
    ("gfx9-4-generic:xnack-", "gfx942:sramecc+:xnack-"),
    ("gfx11-generic", "gfx1151"),
    ("gfx12-generic", "gfx1201"),
    # Jetson Thor under both of its numbers.
    ("sm_101", "sm_110"),
    ("sm_110", "sm_101"),
    ("sm_101a", "sm_110"),
]

DOES_NOT_RUN = [
    ("sm_80", "sm_87"),
    ("sm_86", "sm_87"),
    ("sm_87", "sm_89"),
    ("sm_87", "sm_80"),
    ("sm_86", "sm_80"),
    ("sm_89", "sm_86"),
    ("sm_80", "sm_90"),
    ("sm_90", "sm_89"),
    ("sm_90", "sm_100"),
    ("sm_100", "sm_110"),
    ("sm_100", "sm_120"),
    ("sm_103", "sm_100"),
    ("sm_120", "sm_100"),
    ("sm_121", "sm_120"),
    ("sm_90a", "sm_100"),
    ("sm_100a", "sm_103"),
    ("sm_120a", "sm_121"),
    ("sm_100f", "sm_110"),
    ("sm_100f", "sm_120"),
    ("sm_103f", "sm_100"),
    ("compute_90", "sm_80"),
    ("compute_90a", "sm_100"),
    ("compute_100a", "sm_103"),
    ("compute_100f", "sm_120"),
    ("compute_103", "sm_100"),
    ("gfx90a", "gfx942"),
    ("gfx942", "gfx950"),
    ("gfx942", "gfx94"),
    ("gfx94", "gfx942"),
    ("gfx90a:xnack+", "gfx90a:sramecc+:xnack-"),
    ("gfx942:sramecc-", "gfx942:sramecc+:xnack-"),
    ("gfx9-4-generic", "gfx90a"),
    ("gfx9-generic", "gfx942"),
    ("gfx9-4-generic:xnack+", "gfx942:xnack-"),
    ("gfx11-generic", "gfx1201"),
    ("gfx12-generic", "gfx11-generic"),
    ("sm_100", "sm_101"),
    ("sm_101", "sm_103"),
    ("lto_90", "sm_90"),
    ("mach 0xfe", "gfx942"),
    ("gfx942", "sm_90"),
    ("sm_90", "gfx942"),
    ("", "sm_90"),
    ("sm_", "sm_90"),
    ("sm_90b", "sm_90"),
    ("90", "sm_90"),
    ("sm_90", ""),
    ("sm_90", "cpu"),
]


@pytest.mark.parametrize(("target", "device"), RUNS)
def test_code_that_runs(target: str, device: str) -> None:
    """These pairs of compiled code and device work."""
    assert runs_on([target], device)


@pytest.mark.parametrize(("target", "device"), DOES_NOT_RUN)
def test_code_that_does_not_run(target: str, device: str) -> None:
    """These pairs end in "no kernel image is available"."""
    assert not runs_on([target], device)


@pytest.mark.parametrize(
    ("device", "runs"),
    [("sm_89", True), ("sm_100", True), ("sm_103", True), ("sm_87", False), ("sm_110", False)],
)
def test_one_target_of_many_is_enough(device: str, runs: bool) -> None:
    """A wheel holds code for several cards: any that fits will do."""
    wheel = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"]
    assert runs_on(wheel, device) is runs
    assert runs_on(wheel[::-1], device) is runs


def test_no_code_runs_nowhere() -> None:
    """A build without device code runs on no device."""
    assert not runs_on([], "sm_90")


@pytest.mark.parametrize(
    "text", ["sm_75", "sm_100", "gfx942", "gfx90a", "gfx1100", "gfx942:sramecc+:xnack-"]
)
def test_names_of_architectures(text: str) -> None:
    """What a device can be."""
    assert is_architecture(text)


@pytest.mark.parametrize(
    "text",
    ["sm_90a", "compute_90", "90", "sm_", "B200", "gfx", "gfx9-4-generic", "gfx942:other+", ""],
)
def test_names_of_something_else(text: str) -> None:
    """Code can be built for sm_90a or a generic processor, and no device is one."""
    assert not is_architecture(text)
