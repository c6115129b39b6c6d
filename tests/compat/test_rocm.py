"""Which ROCm serves which processor, and which driver which ROCm."""

from __future__ import annotations

import pytest

from preflight.compat.rocm import drivers_of, judge_rocm, processors, rocm_releases
from preflight.hardware.catalog import products

LISTED = [
    ("gfx90a", "6.0"),
    ("gfx942", "6.0"),
    ("gfx942", "7.2"),
    ("gfx950", "7.0"),
    ("gfx1100", "5.7"),
    ("gfx1201", "6.4.2"),
    ("gfx908", "7.1"),
]


@pytest.mark.parametrize(("architecture", "rocm"), LISTED)
def test_a_rocm_that_lists_the_processor(architecture: str, rocm: str) -> None:
    """From the first compatibility matrix on that has it."""
    assert judge_rocm(architecture, rocm).status == "pass"


@pytest.mark.parametrize(
    ("architecture", "rocm", "first"),
    [("gfx942", "5.7", "6.0"), ("gfx950", "6.4", "7.0"), ("gfx1201", "6.3", "6.4.1")],
)
def test_a_rocm_that_is_older_than_the_processor(architecture: str, rocm: str, first: str) -> None:
    """A warning: code may be there, and AMD does not stand behind it."""
    finding = judge_rocm(architecture, rocm)
    assert finding.status == "warn"
    assert f"ROCm {first} or newer" in finding.action


def test_features_of_a_processor_do_not_matter() -> None:
    """gfx942 is listed with xnack on and off."""
    assert judge_rocm("gfx942:sramecc+:xnack-", "6.4").status == "pass"


@pytest.mark.parametrize("architecture", ["gfx1031", "gfx1250", "sm_90"])
def test_a_processor_that_no_table_has(architecture: str) -> None:
    """Neither promised nor denied."""
    assert judge_rocm(architecture, "7.0").status == "unknown"


@pytest.mark.parametrize(
    ("module", "rocm", "status"),
    [
        ("6.12.12", "6.4", "pass"),  # the driver of ROCm 6.4 itself
        ("6.12.12", "6.3", "pass"),
        ("6.12.12", "7.0.2", "pass"),
        ("6.10.5", "7.0", "pass"),  # 6.3 is the oldest that 7.0 lists
        ("6.8.5", "7.0", "warn"),
        ("6.10.5", "7.2", "warn"),
        ("6.16.6", "7.1", "pass"),
        ("6.14.14", "6.2", "pass"),
        ("6.16.6", "6.2", "unknown"),  # newer than all that are listed
        ("6.12.12", "7.14", "unknown"),
        ("5.18.13", "6.4", "unknown"),
        ("nonsense", "6.4", "unknown"),
        (None, "6.4", "pass"),  # the kernel's own driver tells no version
    ],
)
def test_the_driver_of_the_kernel(module: str | None, rocm: str, status: str) -> None:
    """Listed passes, older than all that are listed warns, the rest nobody knows."""
    finding = judge_rocm("gfx942", rocm, module=module)
    assert finding.status == status
    if status == "warn":
        assert "update the amdgpu driver" in finding.action and finding.source


def test_a_module_is_not_named_as_rocm_is() -> None:
    """6.12.12 is the module of 6.4, and 6.10.5 that of 6.3; 6.3.6 is none that is known."""
    assert drivers_of("6.12.12") == ("6.4",)
    assert drivers_of("6.10.5") == ("6.3",)
    assert drivers_of("6.3.6") == ()


def test_each_rocm_lists_its_own_driver() -> None:
    """Until 6.4 a release was delivered with the driver of its own number."""
    for release in rocm_releases():
        if release.version < "7":
            assert release.version in release.drivers


def test_the_catalogue_says_the_same() -> None:
    """First ROCm of a product and of its processor, where both are known."""
    known = {one.name: one for one in processors()}
    for product in products():
        if product.first_rocm is not None and product.architecture in known:
            assert product.first_rocm == known[product.architecture].official, product.name
