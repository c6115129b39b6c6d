"""Verdicts of every wheel in the table on twelve cards, and the traps; expectations by hand."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.compat.builds import Build, build_of
from preflight.compat.place import Place
from preflight.compat.rules import judge_architecture, judge_build, judge_python_and_glibc
from preflight.compat.verdicts import verdict_of

from .test_torch_builds import INDEXES

ORDER = list(INDEXES)
CARDS = {
    "V100": "sm_70",
    "A100": "sm_80",
    "L40S": "sm_89",
    "H100": "sm_90",
    "H200": "sm_90",
    "B200": "sm_100",
    "B300": "sm_103",
    "GB10": "sm_121",
    "RTX 5090": "sm_120",
    "MI250X": "gfx90a",
    "MI300X": "gfx942",
    "MI355X": "gfx950",
}
EVERYWHERE = {variant: "2.1-2.15" for line in INDEXES.values() for variant in line.split()}
BLACKWELL = {
    "cu128": "2.7-2.11",
    "cu129": "2.8-2.8",
    "cu130": "2.9-2.15",
    "cu132": "2.12-2.15",
    "cu134": "2.15-2.15",
}
ROCM_6_ON = {"rocm6.0", "rocm6.1", "rocm6.2", "rocm6.2.4", "rocm6.3", "rocm6.4"}
ROCM_7_ON = {"rocm7.0", "rocm7.1", "rocm7.2", "rocm7.14"}
RUNS: dict[str, dict[str, str]] = {
    # Where torch's code runs, from release to release; what is not listed fails.
    "V100": {
        "cu118": "2.1-2.7",
        "cu121": "2.1-2.5",
        "cu124": "2.4-2.6",
        "cu126": "2.6-2.15",
        "cu128": "2.8-2.10",  # neither 2.7, which begins at Turing, nor 2.11
        "cu129": "2.8-2.8",
    },
    "A100": EVERYWHERE,
    "L40S": EVERYWHERE,  # by code for 8.6
    "H100": EVERYWHERE,
    "H200": EVERYWHERE,
    "B200": BLACKWELL,
    "B300": BLACKWELL,  # by code for 10.0
    "GB10": BLACKWELL,  # by code for 12.0
    "RTX 5090": BLACKWELL,
    "MI250X": EVERYWHERE,
    "MI300X": dict.fromkeys(ROCM_6_ON | ROCM_7_ON, "2.1-2.15"),
    "MI355X": dict.fromkeys(ROCM_7_ON, "2.1-2.15"),
}
EAGER = {"B300": "2.7-2.9", "GB10": "2.7-2.9"}
"""Releases whose Triton does not know the card: 10.3 and 12.1 came with ptxas 12.9 in 2.10."""


def within(version: str, span: str) -> bool:
    """Whether a release is in ``2.7-2.9``."""
    first, last = span.split("-")
    return ORDER.index(first) <= ORDER.index(version) <= ORDER.index(last)


def expected(card: str, version: str, variant: str) -> str:
    """``pass``, ``eager`` or ``FAIL``."""
    span = RUNS[card].get(variant)
    if span is None or not within(version, span):
        return "FAIL"
    return "eager" if card in EAGER and within(version, EAGER[card]) else "pass"


EVERY = [
    (card, version, variant)
    for card, architecture in CARDS.items()
    for version, line in INDEXES.items()
    for variant in line.split()
    if architecture.startswith("gfx") == variant.startswith("rocm")
]


@pytest.mark.parametrize(("card", "version", "variant"), EVERY)
def test_every_card_on_every_wheel(card: str, version: str, variant: str) -> None:
    """Twelve cards on each release from 2.1 on and each of its variants."""
    build = built(f"{version}.0+{variant}")
    assert verdict_of(build, Place(architecture=CARDS[card])) == expected(card, version, variant)


def built(text: str, **fields: Any) -> Build:
    """A build that has a version."""
    build = build_of(text, **fields)
    assert build is not None
    return build


# -- traps ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "architecture", "by"),
    [
        ("2.9.0+cu128", "sm_121", "sm_120"),
        ("2.9.0+cu128", "sm_103", "sm_100"),
        ("2.6.0+cu124", "sm_89", "sm_86"),
        ("2.6.0+cu124", "sm_61", "sm_60"),
    ],
)
def test_a_card_that_is_not_listed_and_runs(text: str, architecture: str, by: str) -> None:
    """Code of the same major and a lower minor capability serves, and the sentence says which."""
    finding = judge_build(built(text), Place(architecture=architecture))
    assert finding.status == "pass"
    assert f"{architecture} runs code for {by}" in finding.reason
    assert finding.source


@pytest.mark.parametrize("text", ["2.11.0+cu130", "2.13.0", "2.15.0+cu132", "2.9.1+cu130"])
def test_a_v100_on_cuda_13_is_told_of_cu126(text: str) -> None:
    """CUDA 13 has no Volta: the failure names the index that has it, and keeps the release."""
    finding = judge_build(built(text), Place(architecture="sm_70"))
    assert finding.status == "fail"
    assert "/whl/cu126" in finding.action and "+cu126" in finding.action


def test_a_v100_keeps_the_release_where_it_can() -> None:
    """2.13 is to be had for cu126 too; what moves is the variant."""
    finding = judge_build(built("2.13.0+cu130"), Place(architecture="sm_70"))
    assert finding.action.startswith("pip install torch==2.13.0+cu126 ")


@pytest.mark.parametrize("architecture", ["sm_87", "sm_110"])
def test_jetson_runs_no_code_of_the_data_centre(architecture: str) -> None:
    """Orin takes neither 8.0 nor 8.6, Thor neither 10.0 nor 12.0."""
    place = Place(architecture=architecture, machine="aarch64")
    assert judge_build(built("2.9.0+cu128", machine="aarch64"), place).status == "fail"


def test_thor_has_code_of_its_own_in_cuda_13_for_arm() -> None:
    """The aarch64 wheel of 2.11 holds 11.0, that of x86_64 does not."""
    place = Place(architecture="sm_110", machine="aarch64")
    assert judge_build(built("2.11.0", machine="aarch64"), place).status == "pass"
    assert judge_build(built("2.11.0"), place).status == "fail"


def test_orin_with_a_new_toolkit_is_not_known() -> None:
    """From CUDA 13.2 on torch counts 8.0 as code for 8.7, against NVIDIA's older rule."""
    targets = ["sm_80", "sm_86", "sm_90"]
    place = Place(architecture="sm_87", machine="aarch64")
    assert judge_architecture(targets, place, toolkit="13.0").status == "fail"
    assert judge_architecture(targets, place, toolkit="13.2").status == "unknown"
    assert judge_architecture(["sm_87"], place, toolkit="13.2").status == "pass"


@pytest.mark.parametrize("text", ["2.9.0+cpu", "2.10.0"])
def test_a_build_without_device_code_fails(text: str) -> None:
    """A CPU build, and PyPI's plain one on aarch64, name the index that has code."""
    place = Place(architecture="sm_90", machine="aarch64")
    finding = judge_build(built(text, machine="aarch64"), place)
    assert finding.status == "fail" and "--index-url" in finding.action


@pytest.mark.parametrize(
    "text", ["2.16.0", "2.16.0+cu126", "3.0.0+cu140", "2.8.0.dev20250408+cu128", "2.9.1+git8907517"]
)
@pytest.mark.parametrize("architecture", ["sm_70", "sm_103", "gfx950", "sm_150"])
def test_what_the_table_does_not_have_is_unknown(text: str, architecture: str) -> None:
    """A torch newer than the table, a nightly and a source build are no failure, and no pass."""
    finding = judge_build(built(text), Place(architecture=architecture))
    assert finding.status == "unknown"
    assert "get_arch_list" in finding.reason


def test_a_doubtful_processor_is_unknown() -> None:
    """Sources disagree whether 2.6 holds gfx1102: it is neither promised nor denied."""
    place = Place(architecture="gfx1102")
    assert judge_build(built("2.6.0+rocm6.2.4"), place).status == "unknown"
    assert judge_build(built("2.7.0+rocm6.3"), place).status == "pass"


@pytest.mark.parametrize("architecture", ["gfx942", "gfx942:sramecc+:xnack-"])
def test_amd_runs_code_that_names_no_feature(architecture: str) -> None:
    """The wheels name processors alone, which run with either setting of xnack."""
    place = Place(architecture=architecture)
    assert judge_build(built("2.9.0+rocm6.4"), place).status == "pass"


def test_amd_has_no_rule_of_lower_minor_versions() -> None:
    """gfx1031 does not run code for gfx1030, and no wheel is promised for it."""
    finding = judge_build(built("2.9.0+rocm6.4"), Place(architecture="gfx1031"))
    assert finding.status == "fail"
    assert "PYTORCH_ROCM_ARCH=gfx1031" in finding.action


# -- PTX -------------------------------------------------------------------------------------------

PTX_ONLY = ["sm_80", "sm_90", "compute_90"]


@pytest.mark.parametrize(
    ("driver_cuda", "toolkit", "status"),
    [
        ("12.8", "12.8", "warn"),
        ("13.0", "12.8", "warn"),
        ("12.4", "12.8", "fail"),
        (None, "12.8", "unknown"),
        ("12.8", None, "unknown"),
    ],
)
def test_ptx_serves_if_the_driver_is_as_new(
    driver_cuda: str | None, toolkit: str | None, status: str
) -> None:
    """PTX of a newer toolkit than the driver's is error 222; minor versions do not help."""
    place = Place(architecture="sm_100", driver_cuda=driver_cuda)
    finding = judge_architecture(PTX_ONLY, place, toolkit=toolkit)
    assert finding.status == status
    assert "compute_90" in finding.reason


def test_native_code_stands_before_ptx() -> None:
    """Where a cubin serves, the driver need not compile anything."""
    place = Place(architecture="sm_103", driver_cuda="12.4")
    targets = ["sm_100", "compute_100"]
    assert judge_architecture(targets, place, toolkit="12.9").status == "pass"


@pytest.mark.parametrize("target", ["compute_90a", "compute_100f", "sm_90a"])
def test_suffixed_targets_serve_no_other_generation(target: str) -> None:
    """Neither the code nor the PTX of an ``a`` or ``f`` target goes to what is newer."""
    place = Place(architecture="sm_120", driver_cuda="13.0")
    assert judge_architecture([target], place, toolkit="12.9").status == "fail"


def test_no_code_at_all_fails() -> None:
    """An empty list serves no card."""
    finding = judge_architecture([], Place(architecture="sm_90"))
    assert (finding.status, finding.reason) == ("fail", "code for sm_90 is not in nothing")


# -- Python and glibc ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "python", "glibc", "status"),
    [
        ("2.7.0", "3.9.18", "2.28", "pass"),
        ("2.7.0", "3.13.1", "2.31", "pass"),
        ("2.7.0", "3.14.0", "2.31", "fail"),
        ("2.7.0", "3.8.10", "2.31", "fail"),
        ("2.7.0", "3.12.3", "2.17", "fail"),
        ("2.6.0", "3.12.3", "2.17", "pass"),
        ("2.6.0+cu126", "3.12.3", "2.17", "fail"),
        ("2.15.0", "3.10.2", None, "fail"),
        ("2.9.0", "3.14t", None, "pass"),
        ("2.6.0", "3.13t", None, "fail"),
        ("2.6.0", None, None, "unknown"),
        ("2.16.0", "3.12.3", "2.35", "unknown"),
        ("2.8.0.dev20250408+cu128", "3.12.3", "2.35", "unknown"),
    ],
)
def test_python_and_glibc(text: str, python: str | None, glibc: str | None, status: str) -> None:
    """A release has wheels for its own interpreters, from its own C library on."""
    place = Place(architecture="sm_90", python=python, glibc=glibc)
    finding = judge_python_and_glibc(built(text), place)
    assert finding.status == status
    assert bool(finding.action) == (status == "fail")
