"""What a version, a toolkit and a platform say of a build; what a name says of a card."""

from __future__ import annotations

import pytest

from preflight.compat.architectures import runs_on
from preflight.compat.dumps.card_names import architecture_of, is_data_center
from preflight.compat.dumps.torch_targets import built_for


@pytest.mark.parametrize(
    ("version", "cuda", "hip", "kind"),
    [
        ("2.7.0+cu126", "12.6", "N/A", "cuda"),
        ("2.7.0+cu126", None, None, "cuda"),
        ("1.6.0", "10.2", None, "cuda"),
        ("2.6.0a0+git8d4926e", "N/A", "6.3.42133-1b9c17779", "rocm"),
        ("2.6.0+rocm6.2.4", None, None, "rocm"),
        ("2.2.2", "Could not collect", "N/A", "cpu"),
        ("2.1.0a0", "None", "N/A", "cpu"),
        ("2.8.0+cpu", None, None, "cpu"),
        ("2.8.0+xpu", "N/A", "N/A", "xpu"),
        ("N/A", "N/A", "N/A", "unknown"),
        ("2.7.0", None, None, "unknown"),
        (None, None, None, "unknown"),
        ("garbage", "None", "N/A", "unknown"),
    ],
)
def test_the_kind_of_a_build(
    version: str | None, cuda: str | None, hip: str | None, kind: str
) -> None:
    """A build without CUDA and ROCm is one for the CPU; a dump without torch says nothing."""
    assert built_for(version, cuda, hip).kind == kind


@pytest.mark.parametrize(
    ("version", "cuda", "sure", "absent"),
    [
        ("2.7.0+cu126", "12.6", "sm_90", "sm_100"),
        ("2.9.0+cu128", "12.8", "sm_70", "sm_61"),
        ("2.11.0+cu128", "12.8", "sm_75", "sm_70"),
        ("1.5.0+cu101", "10.1", "sm_75", "sm_80"),
        ("1.13.1", "11.7", "sm_86", "sm_90"),
        ("2.8.0.dev20250408+cu128", "12.8", "sm_90", "sm_61"),
    ],
)
def test_what_a_build_has_code_for(version: str, cuda: str, sure: str, absent: str) -> None:
    """Releases by the table, older ones by the toolkit, nightlies by what was there before."""
    made = built_for(version, cuda, None)
    assert runs_on(made.targets, sure)
    assert not runs_on((*made.targets, *made.doubtful), absent)


@pytest.mark.parametrize("version", ["2.8.0a0+5228986c39.nv25.06", "2.9.1+git89", "2.9.1+rocm7.13"])
def test_builds_of_vendors_are_not_guessed(version: str) -> None:
    """Nobody has published what is in them."""
    assert built_for(version, "12.9", None).targets == ()


@pytest.mark.parametrize(
    ("name", "architecture"),
    [
        ("NVIDIA GeForce RTX 5090 D", "sm_120"),
        ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "sm_120"),
        ("NVIDIA GB10", "sm_121"),
        ("NVIDIA GB200", "sm_100"),
        ("NVIDIA GH200 480GB", "sm_90"),
        ("NVIDIA H20", "sm_90"),
        ("NVIDIA L40S", "sm_89"),
        ("NVIDIA RTX 5880 Ada Generation", "sm_89"),
        ("NVIDIA RTX A6000", "sm_86"),
        ("NVIDIA A10G", "sm_86"),
        ("A100-SXM4-40GB", "sm_80"),
        ("Tesla T4", "sm_75"),
        ("Quadro RTX 6000", "sm_75"),
        ("Tesla V100-SXM2-32GB", "sm_70"),
        ("Tesla P100-PCIE-16GB", "sm_60"),
        ("TITAN Xp", "sm_61"),
        ("GeForce GTX TITAN X", "sm_52"),
        ("Orin (nvgpu)", "sm_87"),
        ("AMD Instinct MI300X (gfx942:sramecc+:xnack-)", "gfx942"),
        ("AMD Instinct MI250X/MI250", "gfx90a"),
        ("AMD Radeon RX 7900 XTX", "gfx1100"),
        ("NVIDIA GeForce ...", None),
        ("some words", None),
    ],
)
def test_the_architecture_of_a_name(name: str, architecture: str | None) -> None:
    """Old and consumer cards too; a name that is cut off says nothing."""
    assert architecture_of(name) == architecture


@pytest.mark.parametrize(
    ("name", "expected"),
    [("NVIDIA A10", True), ("Tesla V100-PCIE-16GB", True), ("NVIDIA GeForce RTX 3060", False)],
)
def test_forward_compatibility_is_for_data_centre_cards(name: str, expected: bool) -> None:
    """GeForce, Quadro and RTX cards allow no package."""
    assert is_data_center(name) is expected
