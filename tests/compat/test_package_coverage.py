"""Which GPU runs a package."""

from __future__ import annotations

import pytest

from preflight.compat.audit import Gpu
from preflight.compat.coverage import Word
from preflight.compat.device_code import DeviceLibrary
from preflight.compat.installed import Torch
from preflight.compat.package_coverage import audit_package, in_order

from .environments import (
    B200,
    CUDA_12,
    CUDA_13,
    H100,
    L4,
    MI300X,
    ROCM,
    cuda,
    distribution,
    hip,
    library,
    torch_of,
)

BITSANDBYTES = distribution(
    "bitsandbytes",
    library("b/libb_cpu.so"),
    library("b/libb_cuda126.so", cuda("sm_80 sm_90")),
    library("b/libb_cuda130.so", cuda("sm_80 sm_90 sm_100")),
    library("b/libb_rocm64.so", hip("gfx90a gfx942")),
)


@pytest.mark.parametrize(
    ("gpu", "torch", "word"),
    [
        (B200, CUDA_13, "yes"),
        (B200, CUDA_12, "no"),
        (B200, None, "yes"),
        (L4, CUDA_12, "yes"),
        (MI300X, ROCM, "yes"),
        (MI300X, CUDA_13, "yes"),
    ],
)
def test_the_sibling_that_is_loaded_decides(gpu: Gpu, torch: Torch | None, word: Word) -> None:
    """Code for the other vendor, or for another CUDA, neither helps nor harms."""
    assert audit_package(BITSANDBYTES, (gpu,), torch, None).covered == {gpu.name: word}


def test_every_library_of_a_package_counts() -> None:
    """A package is partly fine where one of its libraries is not."""
    torch = torch_of(cuda("sm_80 sm_90"), library("torch/lib/liblinalg.so", cuda("sm_90")))
    found = audit_package(torch, (H100, L4, B200), CUDA_13, None)
    assert found.covered == {"H100": "yes", "L4": "partly", "B200": "no"}
    assert [file.covered["L4"] for file in found.files] == ["yes", "no"]


def test_code_for_the_other_vendor_alone_is_a_no() -> None:
    """A build for ROCm runs on no GPU of NVIDIA."""
    found = audit_package(torch_of(hip("gfx942")), (B200, MI300X), ROCM, None)
    assert found.covered == {"B200": "no", "MI300X": "yes"}


def test_a_package_without_device_code() -> None:
    """It is said to have none, and is judged as everything of its kind."""
    found = audit_package(distribution("numpy", library("numpy/_core.so")), (B200,), None, None)
    assert (found.covered, found.judged) == ({"B200": "none"}, True)
    assert [file.kind for file in found.files] == ["none"]


def test_a_vendors_package_is_shown_and_not_judged() -> None:
    """cuBLASLt has no target in all of its fat binaries, and works on each of these GPUs."""
    lt = library("nvidia/lib/libcublasLt.so.13", cuda("sm_80", "sm_90", "sm_100"))
    found = audit_package(distribution("nvidia-cublas", lt), (B200,), None, None)
    assert (found.covered, found.judged) == ({"B200": "partly"}, False)
    assert not found.files[0].judged


def test_a_vendors_library_inside_another_package_does_not_count() -> None:
    """Old wheels of torch carry cuDNN along: torch is judged by its own libraries."""
    cudnn = library("torch/lib/libcudnn_ops.so.8", cuda("sm_50"))
    found = audit_package(torch_of(cuda("sm_90"), cudnn), (H100,), None, None)
    assert (found.covered, found.judged) == ({"H100": "yes"}, True)


def test_of_code_objects_one_for_the_gpu_is_enough() -> None:
    """A package picks files of one target each by the GPU that it finds."""
    objects = [library(f"aiter/{name}/x.co", hip(name)) for name in ("gfx942", "gfx950")]
    found = audit_package(distribution("aiter", *objects), (MI300X, B200), None, None)
    assert found.covered == {"MI300X": "yes", "B200": "no"}


def test_code_that_could_not_be_read_is_no_code_for_another_gpu() -> None:
    """A damaged library of HIP says nothing of a GPU of NVIDIA, and little of one of AMD."""
    broken = distribution("x", library("x.so", DeviceLibrary(kind="hip", trouble="cut short")))
    found = audit_package(broken, (B200, MI300X), None, None)
    assert found.covered == {"B200": "none", "MI300X": "partly"}


def test_targets_are_listed_by_kind_and_number() -> None:
    """sm_90 comes before sm_100, and code before what must be compiled."""
    targets = frozenset({"compute_120", "sm_100", "sm_90a", "sm_90", "lto_75", "gfx942"})
    assert in_order(targets) == ("sm_90", "sm_90a", "sm_100", "compute_120", "lto_75", "gfx942")
