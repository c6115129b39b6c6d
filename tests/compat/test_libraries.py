"""Libraries beside torch."""

from __future__ import annotations

import pytest

from preflight.compat.builds import Build, build_of
from preflight.compat.finding import Finding
from preflight.compat.libraries import judge_libraries

HEALTHY = {
    "torch": "2.9.0",
    "nvidia-cudnn-cu12": "9.10.2.21",
    "nvidia-nccl-cu12": "2.27.5",
    "nvidia-cublas-cu12": "12.8.4.1",
    "triton": "3.5.0",
}


def torch_2_9() -> Build:
    """PyPI's wheel of 2.9, of CUDA 12.8."""
    build = build_of("2.9.0+cu128")
    assert build is not None
    return build


def judge(**changes: str) -> tuple[Finding, ...]:
    """A healthy environment but for these versions, ``_`` for ``-``."""
    packages = {**HEALTHY, **{name.replace("_", "-"): text for name, text in changes.items()}}
    return judge_libraries(packages, torch_2_9())


def test_what_the_wheel_requires_is_fine() -> None:
    """The pinned versions give no finding."""
    assert judge() == ()


@pytest.mark.parametrize("version", ["9.10.2.21", "9.11.0.1", "9.19.0.56"])
def test_a_newer_cudnn_of_the_same_major_is_fine(version: str) -> None:
    """torch takes a cuDNN with no lower minor version."""
    assert judge(nvidia_cudnn_cu12=version) == ()


@pytest.mark.parametrize("version", ["9.1.0.70", "8.9.2.26", "10.0.0.1"])
def test_an_older_cudnn_is_refused_by_torch(version: str) -> None:
    """A lower minor version, or another major one, ends the first convolution."""
    (finding,) = judge(nvidia_cudnn_cu12=version)
    assert finding.status == "fail"
    assert finding.action == "pip install --no-deps nvidia-cudnn-cu12==9.10.2.21"


def test_an_older_nccl_may_miss_functions() -> None:
    """NCCL is not compared by torch: a warning; a newer one is what many people install."""
    (finding,) = judge(nvidia_nccl_cu12="2.21.5")
    assert finding.status == "warn" and "2.27.5" in finding.action
    assert judge(nvidia_nccl_cu12="2.28.9") == ()


def test_wheels_of_two_cudas_overwrite_each_other() -> None:
    """cu12 and cu13 of NCCL go into one folder; the action keeps the one of this torch."""
    (finding,) = judge(nvidia_nccl_cu13="2.28.9")
    assert finding.status == "warn"
    assert finding.action == (
        "pip uninstall -y nvidia-nccl-cu12 nvidia-nccl-cu13 && "
        "pip install --no-deps nvidia-nccl-cu12==2.27.5"
    )


def test_libraries_in_folders_of_their_own_do_not_clash() -> None:
    """cuBLAS of both is no finding."""
    assert judge(nvidia_cublas_cu13="13.0.0.19") == ()


def test_two_tritons_overwrite_each_other() -> None:
    """Both install a package called triton."""
    (finding,) = judge(pytorch_triton_rocm="3.5.0")
    assert finding.status == "warn" and "triton and pytorch-triton-rocm" in finding.reason


def test_names_are_read_in_any_spelling() -> None:
    """Distributions write _ and - as they like."""
    packages = {"NVIDIA_cudnn.cu12": "9.1.0.70"}
    assert [one.status for one in judge_libraries(packages, torch_2_9())] == ["fail"]


@pytest.mark.parametrize("text", ["2.16.0+cu130", "2.9.1+git8907517", "2.9.0+cu126"])
def test_a_build_whose_pins_nobody_knows_is_not_judged_by_them(text: str) -> None:
    """Without a table's word on NCCL there is nothing to compare."""
    build = build_of(text)
    assert build is not None
    assert judge_libraries({"nvidia-nccl-cu12": "2.1.0", "nvidia-nccl": "1"}, build) == ()


def test_a_version_that_is_none_is_not_judged() -> None:
    """A vendor's own numbering is no failure."""
    assert judge(nvidia_nccl_cu12="custom build") == ()
