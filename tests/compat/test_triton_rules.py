"""Which card Triton compiles for."""

from __future__ import annotations

import pytest

from preflight.compat.assemblers import assembler_of, assemblers
from preflight.compat.place import Place
from preflight.compat.triton_rules import judge_triton

KNOWS = [
    ("2.1.0", "sm_90"),
    ("2.1.0", "sm_70"),
    ("3.2.0", "sm_90"),
    ("3.3.1", "sm_100"),  # by ptxas-blackwell
    ("3.3.0", "sm_120"),
    ("3.4.0", "sm_100"),
    ("3.4.0", "sm_70"),
    ("3.6.0", "sm_103"),
    ("3.6.0", "sm_121"),
    ("3.7.1", "sm_110"),
    ("3.8.0", "sm_70"),  # ptxas stays at 12.9, which is the last with Volta
    ("3.9.0", "sm_103"),
    ("3.9.0", "sm_107"),
    ("3.9.0+git1234", "sm_103"),
]
DOES_NOT = [
    ("3.2.0", "sm_100", "12.4", "12.8"),
    ("3.3.1", "sm_103", "12.8", "12.9"),
    ("3.4.0", "sm_103", "12.8", "12.9"),
    ("3.5.1", "sm_103", "12.8", "12.9"),
    ("3.5.0", "sm_121", "12.8", "12.9"),
    ("3.6.0", "sm_110", "12.9", "13.0"),
    ("3.8.0", "sm_107", "13.3", "13.4"),
]


@pytest.mark.parametrize(("triton", "architecture"), KNOWS)
def test_a_triton_that_knows_the_card(triton: str, architecture: str) -> None:
    """The assembler that its wheel gives the code to has the target."""
    finding = judge_triton(triton, Place(architecture=architecture))
    assert finding.status == "pass" and finding.source


@pytest.mark.parametrize(("triton", "architecture", "has", "needs"), DOES_NOT)
def test_a_triton_that_does_not_know_it(
    triton: str, architecture: str, has: str, needs: str
) -> None:
    """Eager runs and compiling fails: a warning with the error's words and both ways out."""
    finding = judge_triton(triton, Place(architecture=architecture, machine="aarch64"))
    assert finding.status == "warn"
    assert f"of CUDA {has}, which does not know {architecture}: eager runs" in finding.reason
    assert f"Value '{architecture}a' is not defined" in finding.reason
    assert f"of CUDA {needs} or newer" in finding.action


def test_the_way_out_is_a_torch_whose_triton_knows_the_card() -> None:
    """B300 with torch 2.9 is told of a newer torch, not of another wheel of 2.9."""
    finding = judge_triton("3.5.1", Place(architecture="sm_103"), prefer="2.9")
    assert "; or: pip install torch==2." in finding.action
    assert "torch==2.9" not in finding.action


def test_the_variable_names_the_assembler_that_is_used() -> None:
    """From 10.0 on a Triton with ptxas-blackwell does not read TRITON_PTXAS_PATH."""
    blackwell = judge_triton("3.6.0", Place(architecture="sm_110", machine="aarch64"))
    assert "export TRITON_PTXAS_BLACKWELL_PATH=" in blackwell.action
    plain = judge_triton("3.5.1", Place(architecture="sm_103"))
    assert "export TRITON_PTXAS_PATH=" in plain.action


def test_what_was_seen_stands_before_the_table() -> None:
    """With TRITON_PTXAS_PATH at CUDA 13.0, Triton 3.5.1 knows a B300."""
    place = Place(architecture="sm_103", driver_cuda="13.0")
    assert judge_triton("3.5.1", place, found={"ptxas": "13.0.88"}).status == "pass"
    assert judge_triton("3.6.0", place, found={"ptxas": "12.8.93"}).status == "warn"


def test_an_unknown_triton_is_judged_by_its_assemblers() -> None:
    """A Triton newer than the table is unknown, until its ptxas was asked."""
    place = Place(architecture="sm_103")
    assert judge_triton("3.12.0", place).status == "unknown"
    seen = {"ptxas": "13.2.10", "ptxas-blackwell": "14.0.1"}
    assert judge_triton("3.12.0", place, found=seen).status == "pass"


def test_torchs_own_assembler_helps_torch_compile_alone() -> None:
    """torch 2.9 for aarch64 and CUDA 13 brings a ptxas that Triton by itself does not call."""
    place = Place(architecture="sm_121", machine="aarch64")
    finding = judge_triton("3.5.1", place, found={"ptxas": "12.8.93", "torch": "13.0.88"})
    assert finding.status == "warn"
    assert "torch.compile takes torch's own of CUDA 13.0" in finding.reason
    assert "eager runs" not in finding.reason


def test_torchs_own_assembler_does_not_stand_in_for_ptxas_blackwell() -> None:
    """Triton 3.6 and newer call ptxas-blackwell, whatever torch sets."""
    place = Place(architecture="sm_110", machine="aarch64")
    seen = {"ptxas": "12.8.93", "ptxas-blackwell": "12.9.86", "torch": "13.0.88"}
    assert "eager runs" in judge_triton("3.6.0", place, found=seen).reason


@pytest.mark.parametrize(
    ("driver_cuda", "status"), [("12.8", "warn"), ("13.0", "pass"), (None, "pass")]
)
def test_an_assembler_of_a_newer_major_than_the_driver(
    driver_cuda: str | None, status: str
) -> None:
    """ptxas-blackwell 13.1 writes what a driver of CUDA 12 refuses, whatever torch is built for."""
    place = Place(architecture="sm_120", driver_cuda=driver_cuda)
    finding = judge_triton("3.7.1", place)
    assert finding.status == status
    if status == "warn":
        assert "device kernel image is invalid" in finding.reason


@pytest.mark.parametrize("architecture", ["sm_60", "sm_61", "sm_52", "sm_37"])
def test_cards_that_are_too_old_for_torch_compile(architecture: str) -> None:
    """torch refuses to compile below 7.0; eager runs."""
    finding = judge_triton("3.2.0", Place(architecture=architecture))
    assert finding.status == "warn" and "sm_70 and newer" in finding.reason


@pytest.mark.parametrize("architecture", ["gfx942", "sm_150", "sm_88"])
def test_what_no_table_tells_is_unknown(architecture: str) -> None:
    """AMD's processors and a capability of tomorrow are neither promised nor denied."""
    assert judge_triton("3.5.1", Place(architecture=architecture)).status == "unknown"


def test_a_version_stands_for_its_patch_releases() -> None:
    """3.5.0 was not read, 3.5.1 was; a text of another form has none."""
    assert assembler_of("3.5.0") is assembler_of("3.5.1") is not None
    assert assembler_of("3.50.0") is None and assembler_of("") is None
    assert len({one.triton for one in assemblers()}) == len(assemblers())
