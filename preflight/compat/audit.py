"""What an audit says: packages against GPUs, findings, and the oldest driver that will do."""

from __future__ import annotations

from typing import Literal

import msgspec

from preflight.compat.coverage import Word
from preflight.facts import Text

SCHEMA = "preflight.audit/1"
Severity = Literal["fail", "error", "warn", "skip"]
"""As of a check: ``error`` is a file that we were stopped from looking at, ``skip`` something seen
that is not judged."""
SEVERITIES: tuple[Severity, ...] = ("fail", "error", "warn", "skip")


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """What an audit asks for: a product, several of one architecture, or an architecture."""

    name: str
    """As it was asked for; the column of the table and the key of ``covered``."""
    architecture: str
    """``sm_100`` or ``gfx942``."""
    products: tuple[str, ...] = ()
    """Products of the catalogue that it stands for."""
    first_driver: str | None = None
    """Oldest driver that knows it; None for AMD, and where the catalogue knows none."""
    first_toolkit: str | None = None
    """Oldest CUDA or ROCm that builds for it."""
    takes_compat_packages: bool = False
    """Whether CUDA's forward compatibility packages work on it."""

    @property
    def kind(self) -> Literal["cuda", "hip"]:
        """Kind of device code that it executes."""
        return "hip" if self.architecture.startswith("gfx") else "cuda"


class AuditedFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file that has, or could have, device code."""

    path: str
    kind: Literal["cuda", "hip", "none"]
    fatbins: int
    """Fat binaries of CUDA, or bundles and code objects of HIP."""
    archs: tuple[str, ...]
    """Targets that at least one of them has."""
    archs_in_all: tuple[str, ...]
    """Targets that all of them have."""
    judged: bool
    """False for a vendor's library, which picks among its fat binaries at run time."""
    covered: dict[str, Word]
    """By name of the GPU."""


class AuditedPackage(msgspec.Struct, frozen=True, kw_only=True):
    """One distribution."""

    name: str
    version: str
    judged: bool
    """False where all its device code is a vendor's library's."""
    files: tuple[AuditedFile, ...]
    covered: dict[str, Word]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something to know or to do."""

    status: Severity
    package: str = ""
    """Empty where it is of no package."""
    file: str = ""
    gpu: str = ""
    """Name of the GPU; empty where it holds for all."""
    reason: str
    action: str = ""
    source: str = ""


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """The whole answer, as ``preflight audit --json`` writes it."""

    schema: str = SCHEMA
    tool_version: str
    subject: str
    python: str | None
    torch: str | None
    driver: str | None
    gpus: tuple[Gpu, ...]
    gpus_from: Literal["flags", "machine", "catalogue"]
    """``catalogue``: nobody asked for a GPU and none is here, so that missing code fails nobody."""
    packages: tuple[AuditedPackage, ...]
    findings: tuple[Finding, ...]
    driver_floor: dict[str, str | None]
    """Oldest driver by name of the GPU; null where none is known, as for AMD."""
    driver_floor_because: dict[str, str]
    """What decides it."""
    glibc_floor: str | None
    """Newest glibc that a library asks for."""
    glibc_floor_because: str
    glibc: Text
    """What the C library of this machine or image has."""

    @property
    def exit_code(self) -> int:
        """1 with a failure, 3 where only an error keeps it from being fine, else 0."""
        found = {finding.status for finding in self.findings}
        return 1 if "fail" in found else 3 if "error" in found else 0
