"""What each release of torch carries: its wheels by index and host, their code and libraries.

The data stand in ``torch_builds.toml`` beside this module.
"""

from __future__ import annotations

import re
from functools import cache

from packaging.version import InvalidVersion, Version

from preflight.compat.tables import Entry, check_standing, entries, read_table

INDEX = "https://download.pytorch.org/whl/"
"""PyTorch's own indexes, one a variant."""
_CUDA = re.compile(r"cu(\d+)(\d)")


class Wheel(Entry, frozen=True, kw_only=True):
    """The wheels of one release on one index for one processor of the host."""

    variant: str
    """``cu126``, ``rocm6.2.4``: the index, and the local part of the version."""
    machine: str = "x86_64"
    """``x86_64`` or ``aarch64``."""
    architectures: tuple[str, ...]
    """What ``torch.cuda.get_arch_list()`` says."""
    doubtful: tuple[str, ...] = ()
    """Architectures that may be in it and may be not."""
    cudnn: str | None = None
    """As required by the wheel."""
    nccl: str | None = None
    glibc: str | None = None
    """Where it needs another one than its release."""

    @property
    def toolkit(self) -> str | None:
        """``12.6`` of cu126; None for ROCm."""
        return toolkit_of(self.variant)

    @property
    def rocm(self) -> str | None:
        """``6.2.4`` of rocm6.2.4; None for CUDA."""
        return rocm_of(self.variant)

    @property
    def index(self) -> str:
        """Address for ``--index-url``."""
        return INDEX + self.variant


class Release(Entry, frozen=True, kw_only=True):
    """One minor release."""

    version: str
    """``2.7``."""
    date: str
    """Year and month."""
    default: dict[str, str]
    """Variant of a plain ``pip install torch`` from PyPI on Linux, by processor of the host."""
    pythons: tuple[str, ...]
    """``3.12``; ``3.13t`` is the free-threaded one."""
    glibc: str
    """Oldest glibc that its wheels run on."""
    triton: dict[str, str]
    """Triton that each patch release requires: ``{"2.7.1": "3.3.1"}``, in their order."""
    wheel: tuple[Wheel, ...]

    @property
    def newest(self) -> str:
        """Its newest patch release."""
        return list(self.triton)[-1]

    def wheel_of(self, variant: str, machine: str) -> Wheel | None:
        """The wheel of an index, if there is one with device code."""
        fitting = (one for one in self.wheel if one.variant == variant and one.machine == machine)
        return next(fitting, None)

    def glibc_of(self, wheel: Wheel | None) -> str:
        """Oldest glibc of a wheel of this release."""
        return wheel.glibc if wheel is not None and wheel.glibc else self.glibc


def toolkit_of(variant: str) -> str | None:
    """``12.6`` of ``cu126``; None of what is no CUDA."""
    match = _CUDA.fullmatch(variant)
    return f"{match[1]}.{match[2]}" if match else None


def rocm_of(variant: str) -> str | None:
    """``6.2.4`` of ``rocm6.2.4``; None of what is no ROCm."""
    return variant.removeprefix("rocm") if variant.startswith("rocm") else None


@cache
def releases() -> tuple[Release, ...]:
    """Every release in the table, oldest first."""
    found = entries(read_table("torch_builds.toml"), "release", Release)
    for release in found:
        for wheel in release.wheel:
            check_standing(wheel, f"torch {release.version}: {wheel.variant} {wheel.machine}")
    return found


def release_of(version: str) -> Release | None:
    """The release of a version such as ``2.7.1``; None where the table has none."""
    try:
        major, minor = Version(version).release[:2]
    except (InvalidVersion, ValueError):
        return None
    return next((one for one in releases() if one.version == f"{major}.{minor}"), None)
