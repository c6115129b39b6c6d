"""Libraries of which a package loads one."""

from __future__ import annotations

import pytest

from preflight.compat.alternatives import chosen, groups, loaded, possible, variant

from .environments import CPU, CUDA_12, CUDA_13, ROCM, library

BITSANDBYTES = [
    library(f"bitsandbytes/libbitsandbytes_{name}.so")
    for name in ("cpu", "cuda118", "cuda126", "cuda130", "rocm64", "rocm70", "xpu2025", "xpu2026")
]


@pytest.mark.parametrize(
    ("path", "kind", "version"),
    [
        ("bitsandbytes/libbitsandbytes_cuda130.so", "cuda", "130"),
        ("bitsandbytes/libbitsandbytes_cuda118_nocublaslt.so", "cuda", "118"),
        ("bitsandbytes/libbitsandbytes_rocm64.so", "rocm", "64"),
        ("bitsandbytes/libbitsandbytes_cuda130.dll", "cuda", "130"),
        ("kernels/_ops_cu128.abi3.so", None, None),
        ("torch/lib/libtorch_cuda.so", "cuda", ""),
        ("x/_C.cpython-312-x86_64-linux-gnu.so", None, None),
        ("x/module", None, None),
    ],
)
def test_a_name_tells_what_a_library_is_built_for(
    path: str, kind: str | None, version: str | None
) -> None:
    """The kind and its version stand at the end of the name, where they stand at all."""
    found = variant(path)
    assert (found and found.kind, found and found.version) == (kind, version)


def test_siblings_are_grouped_by_kind() -> None:
    """Those for CUDA replace one another, those for ROCm too, and the one for the CPU is alone."""
    assert [len(group) for group in groups(BITSANDBYTES)] == [1, 3, 2, 2]


def test_libraries_of_other_names_are_alone() -> None:
    """libtorch_cuda.so and libc10_cuda.so are used together, as are all without a version."""
    names = ["lib/libtorch_cuda.so", "lib/libc10_cuda.so", "lib/libtorch_cpu.so", "a/_C.so"]
    assert len(groups([library(name) for name in names])) == 4


@pytest.mark.parametrize(
    ("torch", "cuda", "rocm"),
    [
        (CUDA_13, ["cuda130"], []),
        (CUDA_12, ["cuda126"], []),
        (ROCM, [], ["rocm64"]),
        (CPU, [], []),
        (None, ["cuda118", "cuda126", "cuda130"], ["rocm64", "rocm70"]),
    ],
)
def test_the_one_that_is_named_after_torchs_version_is_loaded(
    torch: object, cuda: list[str], rocm: list[str]
) -> None:
    """13.0 takes cuda130, 6.4.43484 rocm64; without a torch any of them."""
    _, of_cuda, of_rocm, of_xpu = groups(BITSANDBYTES)

    def names(group: object) -> list[str]:
        assert isinstance(group, tuple)
        return [one.path.rpartition("_")[2].removesuffix(".so") for one in possible(group, torch)]

    assert (names(of_cuda), names(of_rocm), names(of_xpu)) == (cuda, rocm, [])


def test_where_none_is_meant_for_this_torch_any_counts() -> None:
    """A package is judged by what it has; nobody knows what it falls back on."""
    _, of_cuda, _, _ = groups(BITSANDBYTES)
    assert len(chosen(of_cuda, ROCM)) == 3
    assert len(chosen(of_cuda, CUDA_13)) == 1


def test_what_will_be_loaded() -> None:
    """What has no siblings, and of siblings the one that is meant."""
    assert [one.path for one in loaded(BITSANDBYTES, CUDA_13)] == [
        "bitsandbytes/libbitsandbytes_cpu.so",
        "bitsandbytes/libbitsandbytes_cuda130.so",
    ]
    assert [one.path for one in loaded(BITSANDBYTES, None)] == [
        "bitsandbytes/libbitsandbytes_cpu.so"
    ]
