"""CUDA toolkits, architectures and compatibility packages: data of ``toolkits.toml``."""

from __future__ import annotations

from functools import cache

from packaging.version import InvalidVersion, Version

from preflight.compat.tables import Entry, entries, read_table


class Toolkit(Entry, frozen=True, kw_only=True):
    """One CUDA toolkit."""

    version: str
    """``12.8``."""
    driver: str
    """Linux driver that came with it: what all of its features need, PTX of its own among them."""
    ptx: str | None = None
    """Newest PTX that it writes: ``8.7``."""


class Architecture(Entry, frozen=True, kw_only=True):
    """One compute capability."""

    name: str
    """``sm_100``."""
    generation: str
    """``Blackwell``."""
    first_cuda: str | None = None
    """First toolkit that compiles for it; None where it is older than all that matter here."""
    last_cuda: str | None = None
    """Last toolkit that compiles for it; None while there is none."""
    first_driver: str | None = None
    """Oldest Linux driver that knows the chip."""
    last_branch: str | None = None
    """Last driver branch that serves it: ``580``."""


class Package(Entry, frozen=True, kw_only=True):
    """A forward compatibility package (cuda-compat)."""

    cuda: str
    """``12.8`` of cuda-compat-12-8."""
    bases: tuple[str, ...]
    """Driver branches that it works on."""
    native: str
    """Branch from which on it is not needed."""


@cache
def toolkits() -> tuple[Toolkit, ...]:
    """Every toolkit in the table, oldest first."""
    return entries(read_table("toolkits.toml"), "toolkit", Toolkit)


@cache
def architectures() -> tuple[Architecture, ...]:
    """Every NVIDIA architecture in the table."""
    return entries(read_table("toolkits.toml"), "architecture", Architecture)


@cache
def packages() -> tuple[Package, ...]:
    """Every compatibility package in the table."""
    return entries(read_table("toolkits.toml"), "package", Package)


def toolkit(version: str) -> Toolkit | None:
    """The toolkit of a version such as ``12.8`` or ``12.8.93``; None for one that is not known."""
    minor = minor_of(version)
    return next((one for one in toolkits() if one.version == minor), None)


def toolkit_of_ptx(isa: str) -> Toolkit | None:
    """The first toolkit that writes a version of PTX such as ``8.7``; None for an unknown one."""
    return next((one for one in toolkits() if one.ptx == isa), None)


def architecture(name: str) -> Architecture | None:
    """What is known of ``sm_100``; None for what the table does not have, AMD's among them."""
    return next((one for one in architectures() if one.name == name), None)


def compiles_for(version: str, name: str) -> bool | None:
    """Whether a toolkit, or its assembler, knows an architecture; None where nobody can say."""
    known = architecture(name)
    if known is None:
        return None
    try:
        ours = Version(minor_of(version))
    except InvalidVersion:
        return None
    if known.first_cuda and ours < Version(known.first_cuda):
        return False
    return not (known.last_cuda and ours > Version(known.last_cuda))


def minor_of(version: str) -> str:
    """``12.8`` of ``12.8.93``."""
    return ".".join(version.split(".")[:2])
