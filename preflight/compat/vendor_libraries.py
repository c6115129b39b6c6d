"""Libraries of the vendors: which they are, and which come with the driver.

They are looked at and never judged. cuBLASLt 13.1 spreads its kernels over 2782 fat binaries with
no target in all of them, cuDNN 9.24 over 1372; libcufft 12.0 has one fat binary for sm_75 where
cuobjdump looks, and 23983 more, of one target each, among its data. Each picks what it loads at
run time, compiles the rest, and the vendor says which GPUs a release serves.
"""

from __future__ import annotations

import re

_DISTRIBUTIONS = re.compile(
    r"nvidia-.*|cuda-.*|cupti.*|nvshmem.*|tensorrt.*|triton.*|pytorch-triton.*"
    r"|rocm|rocm-.*|amd-.*|amdsmi"
)
"""Normalised names of distributions that bring a vendor's libraries and nothing else."""
_LIBRARIES = re.compile(
    r"(lib)?(cublas|cudart|cudnn|cufft|cufile|cupti|curand|cusolver|cusparse|cutensor|nccl|npp"
    r"|nvblas|nvinfer|nvjitlink|nvjpeg|nvperf|nvrtc|nvshmem|nvtx|nvvm|checkpoint\.|pcsampling"
    r"|amdhip|amd_comgr|hipblas|hipdnn|hipfft|hiprand|hipsolver|hipsparse|hsa-runtime|magma"
    r"|miopen|rccl|rocblas|rocfft|rocm|rocrand|rocroller|rocsolver|rocsparse|roctracer|roctx).*",
    re.IGNORECASE,
)
"""Names of files, also where another distribution carries them along."""
_OF_THE_DRIVER = re.compile(
    r"lib(cuda|nvidia-[a-z0-9-]+|nvcuvid|nvoptix|cudadebugger|GLX_nvidia|EGL_nvidia)\.so(\.\d+)*"
)
FAMILIES = ("libnccl", "libcudnn", "libcublas", "librccl", "libamdhip64")
"""Libraries of which a process must have one copy: they keep state, and open what else they need
by name."""
_STEERED = re.compile(
    r"lib(cublas|cublasLt|cudart|cudnn|cufft|curand|cusolver|cusparse|nccl|nvrtc|nvJitLink"
    r"|amdhip64|hipblaslt|rccl|rocblas|MIOpen|c10|torch)[a-z_]*\.so(\.\d+)*"
)
"""Libraries that LD_LIBRARY_PATH and RPATH often take from a toolkit instead of the environment."""
_CUDA_MAJOR = re.compile(
    r"lib(?:cudart|cublas|cublasLt|nvrtc|nvJitLink|nvToolsExt)\.so\.(\d+)(\.0)?"
)


def normal_name(distribution: str) -> str:
    """A distribution's name as registries compare it: ``nvidia-cublas-cu12``."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def is_of_vendor(distribution: str, file_name: str) -> bool:
    """Whether a library is the vendor's: by its distribution, or by its own name."""
    if _DISTRIBUTIONS.fullmatch(normal_name(distribution)):
        return True
    return _LIBRARIES.fullmatch(file_name) is not None


def is_of_driver(soname: str) -> bool:
    """Whether the driver brings a library, so that no environment has it."""
    return _OF_THE_DRIVER.fullmatch(soname) is not None


def family_of(file_name: str) -> str | None:
    """``libcublas`` of ``libcublas.so.13``; None for what may stand several times."""
    stem = file_name.partition(".so")[0]
    return stem if stem in FAMILIES else None


def is_steered(soname: str) -> bool:
    """Whether it matters which copy of a library the loader takes."""
    return _STEERED.fullmatch(soname) is not None


def cuda_major(soname: str) -> int | None:
    """13 of ``libcudart.so.13`` and 11 of ``libcudart.so.11.0``; None for other libraries."""
    found = _CUDA_MAJOR.fullmatch(soname)
    return int(found[1]) if found else None
