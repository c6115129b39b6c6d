"""The oldest driver that an environment needs."""

from __future__ import annotations

import pytest

from preflight.compat.audit import Gpu
from preflight.compat.driver_needs import driver_findings, driver_needs
from preflight.compat.installed import Installed

from .environments import (
    B200,
    CPU,
    CUDA_12,
    CUDA_13,
    H100,
    MI300X,
    cuda,
    distribution,
    installed,
    library,
    torch_of,
)

TORCH = torch_of(cuda("sm_90 sm_100"))


def floor(environment: Installed, gpu: Gpu) -> tuple[str, str]:
    """Driver and reason that decide."""
    need = driver_needs(environment, gpu)[0]
    return need.driver, need.because


def test_the_cuda_of_torch_decides_where_it_is_the_newest() -> None:
    """By minor version compatibility any driver of its major version serves."""
    because = "CUDA 13.0 of torch 2.14.1+cu130"
    assert floor(installed(TORCH), B200) == ("580.65.06", because)
    assert floor(installed(TORCH), H100) == ("580.65.06", because)


def test_the_gpu_decides_where_torch_is_old() -> None:
    """CUDA 12 asks for 525.60.13, a driver that has never heard of a B200."""
    environment = installed(TORCH, torch=CUDA_12)
    assert floor(environment, B200) == ("570.133.20", "older ones do not know B200 (sm_100)")
    assert floor(environment, H100) == ("525.60.13", "CUDA 12.6 of torch 2.8.0+cu126")


def test_ptx_decides_where_it_is_all_there_is() -> None:
    """A driver of the same major version does not compile the PTX of a newer toolkit."""
    package = distribution("x", library("x.so", cuda("compute_90", isas=("8.8",))))
    assert floor(installed(package, torch=CUDA_12), H100) == (
        "575.51.03",
        "PTX 8.8, which is all that x has for sm_90",
    )


def test_ptx_beside_code_asks_for_nothing() -> None:
    """Nothing has to be compiled where there is code for the GPU."""
    package = distribution("x", library("x.so", cuda("sm_90 compute_90", isas=("9.2",))))
    assert floor(installed(package, torch=CUDA_12), H100)[0] == "525.60.13"


def test_the_runtime_decides_where_there_is_no_torch() -> None:
    """nvidia-cuda-runtime has the version of its toolkit."""
    runtime = distribution("nvidia-cuda-runtime-cu12", version="12.8.90")
    assert floor(installed(runtime, torch=None), H100) == (
        "525.60.13",
        "CUDA 12.8 of nvidia-cuda-runtime-cu12 12.8.90",
    )


def test_libraries_name_the_cuda_that_they_link_against() -> None:
    """A package for CUDA 13 beside a torch for CUDA 12 asks for the driver of CUDA 13."""
    package = distribution("x", library("x.so", needed=("libcudart.so.13", "libc.so.6")))
    assert floor(installed(package, torch=CUDA_12), H100) == (
        "580.65.06",
        "CUDA 13 that x links against",
    )


def test_siblings_for_another_cuda_ask_for_nothing() -> None:
    """libb_cuda130.so is not loaded beside a torch for CUDA 12.6."""
    package = distribution(
        "b",
        library("libb_cuda126.so", needed=("libcudart.so.12",)),
        library("libb_cuda130.so", needed=("libcudart.so.13",)),
    )
    assert floor(installed(package, torch=CUDA_12), H100)[0] == "525.60.13"
    assert floor(installed(package, torch=None), H100)[0] == "520"


def test_a_vendors_library_asks_for_nothing_by_itself() -> None:
    """libcublas.so.13 needs libcublasLt.so.13, and is not needed by a torch for CUDA 12."""
    blas = distribution("nvidia-cublas", library("libcublas.so.13", needed=("libcublasLt.so.13",)))
    assert floor(installed(blas, torch=CUDA_12), H100)[0] == "525.60.13"


def test_no_floor_is_known_for_amd() -> None:
    """AMD lists pairs of releases, and no floor."""
    assert driver_needs(installed(TORCH), MI300X) == ()


def test_nothing_asks_for_a_driver_where_nothing_is_known() -> None:
    """A GPU without a known driver and a torch for the CPU have no floor."""
    assert driver_needs(installed(torch=CPU), Gpu(name="sm_75", architecture="sm_75")) == ()


@pytest.mark.parametrize(
    ("driver", "gpu", "action"),
    [
        (
            "570.133.20",
            B200,
            "install driver 580.65.06 or newer, or the package cuda-compat-13-0, or a torch built "
            "for an older CUDA",
        ),
        ("550.54", H100, "install driver 580.65.06 or newer, or a torch built for an older CUDA"),
        ("550.54", B200, "install driver 580.65.06 or newer"),
    ],
)
def test_an_old_driver_fails(driver: str, gpu: Gpu, action: str) -> None:
    """What can be done depends on whether it knows the GPU, and on what the GPU allows."""
    (found,) = driver_findings(installed(TORCH, torch=CUDA_13), (gpu,), driver)
    assert (found.status, found.gpu, found.action) == ("fail", gpu.name, action)
    assert found.reason == (
        f"driver {driver} is older than 580.65.06: CUDA 13.0 of torch 2.14.1+cu130"
    )
    assert found.source


def test_a_driver_that_is_new_enough_is_no_finding() -> None:
    """Neither is one that nobody has named, nor one that only PTX would want newer."""
    ptx = distribution("x", library("x.so", cuda("compute_90", isas=("8.8",))))
    assert not list(driver_findings(installed(TORCH), (B200, MI300X), "580.65.06"))
    assert not list(driver_findings(installed(TORCH), (B200,), None))
    assert not list(driver_findings(installed(ptx, torch=CUDA_12), (H100,), "550.54"))
