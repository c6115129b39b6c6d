"""Which libraries are the vendors'."""

from __future__ import annotations

import pytest

from preflight.compat.vendor_libraries import (
    cuda_major,
    family_of,
    is_of_driver,
    is_of_vendor,
    is_steered,
    normal_name,
)


@pytest.mark.parametrize(
    ("distribution", "file"),
    [
        ("nvidia-cublas-cu12", "libcublas.so.12"),
        ("nvidia_cudnn_cu13", "libcudnn_engines_precompiled.so.9"),
        ("nvidia-nvshmem-cu13", "nvshmem_transport_ibrc.so.3"),
        ("triton", "libproton.so"),
        ("pytorch-triton-rocm", "libtriton.so"),
        ("rocm-sdk-libraries-gfx94x-dcgpu", "anything.so"),
        ("torch", "libcudart-e409450e.so.11.0"),
        ("torch", "libcudnn.so.9"),
        ("torch", "libMIOpen.so"),
        ("torch", "librocblas.so.4"),
        ("torch", "cudnn64_9.dll"),
        ("(no distribution)", "libnccl.so.2"),
    ],
)
def test_libraries_of_the_vendors(distribution: str, file: str) -> None:
    """By the distribution, or by the file where another distribution carries it along."""
    assert is_of_vendor(distribution, file)


@pytest.mark.parametrize(
    ("distribution", "file"),
    [
        ("torch", "libtorch_cuda.so"),
        ("torch", "libtorch_nvshmem.so"),
        ("bitsandbytes", "libbitsandbytes_rocm64.so"),
        ("flash-attn", "flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so"),
        ("cupy-cuda12x", "core.cpython-312-x86_64-linux-gnu.so"),
        ("xformers", "_C.so"),
    ],
)
def test_libraries_of_others(distribution: str, file: str) -> None:
    """Libraries that call the vendor's are not the vendor's."""
    assert not is_of_vendor(distribution, file)


def test_what_the_driver_brings_is_in_no_environment() -> None:
    """libcuda.so.1 comes with the driver, libcudart.so.13 does not."""
    assert is_of_driver("libcuda.so.1")
    assert is_of_driver("libnvidia-ml.so.1")
    assert not is_of_driver("libcudart.so.13")
    assert not is_of_driver("libcudadevrt.so")


def test_families_that_must_stand_once() -> None:
    """libcublas and libcublasLt are two libraries, and only the first is counted."""
    assert family_of("libcublas.so.13") == "libcublas"
    assert family_of("libcublasLt.so.13") is None
    assert family_of("libcudnn.so.9") == "libcudnn"
    assert family_of("libcudnn_ops.so.9") is None


def test_libraries_for_which_the_copy_matters() -> None:
    """Those of the vendors and of torch, not the C library."""
    assert all(map(is_steered, ("libcudnn.so.9", "libcublasLt.so.13", "libtorch_cuda.so")))
    assert not any(map(is_steered, ("libc.so.6", "libstdc++.so.6")))


@pytest.mark.parametrize(
    ("soname", "major"),
    [("libcudart.so.13", 13), ("libcudart.so.11.0", 11), ("libcublasLt.so.12", 12)],
)
def test_the_major_version_of_cuda_stands_in_a_soname(soname: str, major: int) -> None:
    """libcudart and its kin are numbered with the toolkit."""
    assert cuda_major(soname) == major


@pytest.mark.parametrize("soname", ["libcufft.so.12", "libcudnn.so.9", "libc.so.6"])
def test_other_libraries_are_numbered_by_themselves(soname: str) -> None:
    """libcufft.so.12 belongs to CUDA 13."""
    assert cuda_major(soname) is None


def test_names_are_compared_as_registries_do() -> None:
    """Case, dots and underscores do not matter."""
    assert normal_name("Flash_Attn.X") == "flash-attn-x"
