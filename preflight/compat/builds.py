"""Which build of torch a version text names: pure reading of ``torch.__version__``.

Forms met: ``2.7.0`` (PyPI), ``2.7.0+cu126``, ``2.7.0+rocm6.3``, ``2.7.0+cpu`` (PyTorch's indexes),
``2.8.0.dev20250408+cu128`` (nightly), ``2.6.0a0+ecf3bae40a.nv25.01`` (NVIDIA's containers),
``2.9.1+git8907517`` (AMD's containers, and builds from source).
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec
from packaging.version import InvalidVersion, Version

from preflight.compat.torch_builds import Release, Wheel, release_of, rocm_of, toolkit_of

_VARIANT = re.compile(r"cpu|xpu|cu\d{3}|rocm\d+(\.\d+)+")
_NVIDIA = re.compile(r"nv\d+\.\d+")

Maker = Literal["release", "nightly", "NVIDIA", "source"]


class Build(msgspec.Struct, frozen=True, kw_only=True):
    """One build of torch."""

    text: str
    """As torch says it."""
    patch: str
    """``2.7.0``, without what stands before or behind."""
    maker: Maker
    variant: str | None = None
    """``cu126``, ``rocm6.3``, ``cpu``; None where the text does not tell it."""
    machine: str = "x86_64"

    @property
    def release(self) -> Release | None:
        """What the table has of its release; None for one that it does not know."""
        return release_of(self.patch)

    @property
    def wheel(self) -> Wheel | None:
        """What is known of its code; None for all but releases of PyTorch's own."""
        if self.maker != "release" or self.release is None or self.variant is None:
            return None
        return self.release.wheel_of(self.variant, self.machine)

    @property
    def toolkit(self) -> str | None:
        """CUDA that it was built with, as far as the text tells."""
        return toolkit_of(self.variant) if self.variant else None

    @property
    def rocm(self) -> str | None:
        """ROCm that it was built with, as far as the text tells."""
        return rocm_of(self.variant) if self.variant else None

    @property
    def triton(self) -> str | None:
        """Triton that a release requires; None for all others."""
        return self.release.triton.get(self.patch) if self.is_known and self.release else None

    @property
    def is_known(self) -> bool:
        """Whether the table speaks of it: a release of PyTorch's own."""
        return self.maker == "release" and self.release is not None


def build_of(text: str, *, machine: str = "x86_64") -> Build | None:
    """The build that a version names, on Linux; None for a text that is no version.

    A release without a local part is PyPI's, whose variant depends on ``machine``.
    """
    try:
        version = Version(text.strip())
    except InvalidVersion:
        return None
    patch = ".".join(str(part) for part in (*version.release, 0, 0)[:3])
    local = version.local or ""
    variant = _variant(local)
    maker = _maker(version, local, variant)
    release = release_of(patch)
    if maker == "release" and not local:
        variant = release.default.get(machine) if release else None
    return Build(text=text.strip(), patch=patch, maker=maker, variant=variant, machine=machine)


def _variant(local: str) -> str | None:
    """``cu121`` of ``cu121.with.pypi.cudnn``, ``cpu`` of ``cpu.cxx11.abi``."""
    match = _VARIANT.match(local)
    return match[0] if match else None


def _maker(version: Version, local: str, variant: str | None) -> Maker:
    if _NVIDIA.search(local):
        return "NVIDIA"
    if version.is_devrelease:
        return "nightly"
    if version.is_prerelease or version.is_postrelease or (local and variant is None):
        return "source"
    return "release"
