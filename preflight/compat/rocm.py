"""Which ROCm serves which AMD processor, and which amdgpu driver serves which ROCm.

The data stand in ``rocm.toml``. A driver before ROCm 7.0 has ROCm's own number (6.4), later ones
have their own (30.10); the kernel module says a third one (6.12.12), which ``drivers_of`` reads.
"""

from __future__ import annotations

from functools import cache

from packaging.version import InvalidVersion, Version

from preflight.compat.finding import Finding
from preflight.compat.tables import Entry, entries, read_table
from preflight.compat.toolkits import minor_of


class Processor(Entry, frozen=True, kw_only=True):
    """One processor of AMD."""

    name: str
    """``gfx942``."""
    official: str
    """First ROCm whose compatibility matrix lists it; code for it may be older."""


class RocmRelease(Entry, frozen=True, kw_only=True):
    """One minor release of ROCm's user space."""

    version: str
    """``6.4``."""
    drivers: tuple[str, ...]
    """Driver releases that AMD lists for it, oldest first: ``6.3``, ``30.10``."""
    rccl: str | None = None


class Module(Entry, frozen=True, kw_only=True):
    """What the packaged kernel module calls itself."""

    version: str
    """Begin of /sys/module/amdgpu/version: ``6.12``."""
    drivers: tuple[str, ...]
    """Driver releases that it may be."""


@cache
def processors() -> tuple[Processor, ...]:
    """Every processor in the table."""
    return entries(read_table("rocm.toml"), "processor", Processor)


@cache
def rocm_releases() -> tuple[RocmRelease, ...]:
    """Every release of ROCm in the table, oldest first."""
    return entries(read_table("rocm.toml"), "release", RocmRelease)


@cache
def modules() -> tuple[Module, ...]:
    """Every kernel module in the table, oldest first."""
    return entries(read_table("rocm.toml"), "module", Module)


def drivers_of(module: str) -> tuple[str, ...]:
    """Driver releases that a kernel module such as ``6.12.12`` may be; () for an unknown one."""
    return next((one.drivers for one in modules() if one.version == minor_of(module)), ())


def judge_rocm(architecture: str, rocm: str, *, module: str | None = None) -> Finding:
    """Whether a ROCm serves a processor, and whether the kernel's driver serves that ROCm.

    ``module`` is what /sys/module/amdgpu/version says; the driver in the kernel's own tree says
    nothing there, and None is not judged.
    """
    processor = architecture.partition(":")[0]
    listed = next((one for one in processors() if one.name == processor), None)
    if listed is None:
        return Finding(status="unknown", reason=f"no ROCm is known to list {processor}")
    if _is_older(rocm, listed.official):
        return Finding(
            status="warn",
            reason=f"ROCm {rocm} does not list {processor}, which AMD supports from "
            f"{listed.official} on",
            action=f"take a torch of ROCm {listed.official} or newer",
            source=listed.source,
        )
    return _judge_driver(rocm, module) or Finding(
        status="pass", reason=f"ROCm {rocm} lists {processor}", source=listed.source
    )


def _judge_driver(rocm: str, module: str | None) -> Finding | None:
    """What to say of the kernel's driver; None where it is listed, or tells nothing."""
    if module is None:
        return None
    release = next((one for one in rocm_releases() if one.version == minor_of(rocm)), None)
    drivers = drivers_of(module)
    if release is None or not drivers:
        return Finding(
            status="unknown", reason=f"whether amdgpu {module} serves ROCm {rocm} is in no table"
        )
    if any(driver in release.drivers for driver in drivers):
        return None
    names = " or ".join(drivers)
    if all(Version(driver) < Version(release.drivers[0]) for driver in drivers):
        return Finding(
            status="warn",
            reason=f"amdgpu {module} (driver {names}) is older than {release.drivers[0]}, the "
            f"first that AMD lists for ROCm {rocm}",
            action=f"update the amdgpu driver of the host to {release.drivers[-1]}, or take a "
            "torch of an older ROCm",
            source=release.source,
        )
    return Finding(
        status="unknown",
        reason=f"AMD does not list driver {names} (amdgpu {module}) for ROCm {rocm}; from ROCm 6.4 "
        "on, releases within a year of each other work",
        source=release.source,
    )


def _is_older(version: str, floor: str) -> bool:
    try:
        return Version(version) < Version(floor)
    except InvalidVersion:
        return False
