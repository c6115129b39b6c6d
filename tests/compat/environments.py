"""Environments as values: distributions with libraries of given device code."""

from __future__ import annotations

from collections import Counter
from typing import Any

from preflight.compat.audit import Gpu
from preflight.compat.device_code import DeviceLibrary
from preflight.compat.dynamic import Dynamic
from preflight.compat.installed import Distribution, Installed, Library, Torch

B200 = Gpu(
    name="B200",
    architecture="sm_100",
    products=("NVIDIA B200",),
    first_driver="570.133.20",
    first_toolkit="12.8",
    takes_compat_packages=True,
)
H100 = Gpu(name="H100", architecture="sm_90", first_driver="520", first_toolkit="11.8")
L4 = Gpu(name="L4", architecture="sm_89", first_driver="520", first_toolkit="11.8")
MI300X = Gpu(name="MI300X", architecture="gfx942", first_toolkit="6.0")
CUDA_13 = Torch(version="2.14.1+cu130", cuda="13.0")
CUDA_12 = Torch(version="2.8.0+cu126", cuda="12.6")
ROCM = Torch(version="2.9.1+rocm6.4", hip="6.4.43484-123eb5128")
CPU = Torch(version="2.13.0+cpu")


def cuda(*fatbins: str, isas: tuple[str, ...] = (), **more: Any) -> DeviceLibrary:
    """Device code of CUDA; each fat binary as its targets, ``sm_80 sm_90a``."""
    counted = Counter(tuple(fatbin.split()) for fatbin in fatbins)
    return DeviceLibrary(kind="cuda", fatbins=dict(counted), isas=isas, **more)


def hip(*bundles: str) -> DeviceLibrary:
    """Device code of HIP; each bundle as its targets."""
    return DeviceLibrary(kind="hip", fatbins=dict(Counter(tuple(b.split()) for b in bundles)))


def library(
    path: str,
    device: DeviceLibrary = DeviceLibrary(kind="none"),  # noqa: B008 - it is frozen
    *,
    needed: tuple[str, ...] = (),
    glibc: str = "",
    **more: Any,
) -> Library:
    """A library; ``glibc`` is what it needs: ``2.34``."""
    versions = (f"GLIBC_{glibc}",) if glibc else ()
    dynamic = Dynamic(needed=needed, needed_versions=versions)
    return Library(path=path, device=device, dynamic=dynamic, **more)


def distribution(name: str, *libraries: Library, version: str = "1.0") -> Distribution:
    """A distribution with these libraries."""
    return Distribution(name=name, version=version, libraries=libraries)


def torch_of(device: DeviceLibrary, *more: Library) -> Distribution:
    """torch with its main library."""
    name = "torch_hip" if device.kind == "hip" else "torch_cuda"
    main = library(f"torch/lib/lib{name}.so", device)
    return distribution("torch", main, *more, version="2.14.1")


def installed(
    *distributions: Distribution, torch: Torch | None = CUDA_13, **more: Any
) -> Installed:
    """An environment with these distributions."""
    return Installed(subject="env", distributions=distributions, torch=torch, **more)
