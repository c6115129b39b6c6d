"""The oldest driver that an environment needs on a GPU, and what decides it: pure judgement."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from packaging.version import InvalidVersion, Version

from preflight.compat.alternatives import loaded
from preflight.compat.audit import Finding, Gpu
from preflight.compat.coverage import cover
from preflight.compat.drivers import driver_floor, floor_source, is_at_least
from preflight.compat.installed import Distribution, Installed, Library
from preflight.compat.package_coverage import for_gpu, judged
from preflight.compat.ptx import SOURCE as PTX_SOURCE
from preflight.compat.ptx import newest, ptx_driver
from preflight.compat.vendor_libraries import cuda_major, is_of_vendor, normal_name

_RUNTIME = "nvidia-cuda-runtime"
CATALOGUE = "catalogue of accelerators"


class Need(msgspec.Struct, frozen=True, kw_only=True):
    """One reason for a driver not to be older."""

    driver: str
    because: str
    source: str
    is_ptx: bool = False
    """Whether only PTX asks for it: an older driver loads everything else."""
    toolkit: str | None = None
    """The CUDA that asks for it."""


def driver_needs(installed: Installed, gpu: Gpu) -> tuple[Need, ...]:
    """Every reason, the one that decides first; () for GPUs of AMD, whose floors nobody lists."""
    if gpu.kind == "hip":
        return ()
    found = [*_of_gpu(gpu), *_of_cuda(installed), *_of_ptx(installed, gpu)]
    return tuple(sorted(found, key=lambda need: _version(need.driver), reverse=True))


def driver_findings(
    installed: Installed, gpus: tuple[Gpu, ...], driver: str | None
) -> Iterator[Finding]:
    """A driver that is too old. What only PTX asks for is said where the PTX is."""
    if driver is None:
        return
    for gpu in gpus:
        needs = [need for need in driver_needs(installed, gpu) if not need.is_ptx]
        if needs and is_at_least(driver, needs[0].driver) is False:
            yield Finding(
                status="fail",
                gpu=gpu.name,
                reason=f"driver {driver} is older than {needs[0].driver}: {needs[0].because}",
                action=_mend(gpu, needs, driver),
                source=needs[0].source,
            )


def _mend(gpu: Gpu, needs: list[Need], driver: str) -> str:
    install = f"install driver {needs[0].driver} or newer"
    knows_gpu = gpu.first_driver is None or is_at_least(driver, gpu.first_driver)
    if not knows_gpu or needs[0].toolkit is None:
        return install
    major, _, minor = needs[0].toolkit.partition(".")
    if gpu.takes_compat_packages:
        install += f", or the package cuda-compat-{major}-{minor or '0'}"
    return f"{install}, or a torch built for an older CUDA"


def _of_gpu(gpu: Gpu) -> Iterator[Need]:
    if gpu.first_driver is not None:
        yield Need(
            driver=gpu.first_driver,
            because=f"older ones do not know {gpu.name}"
            + ("" if gpu.name == gpu.architecture else f" ({gpu.architecture})"),
            source=CATALOGUE,
        )


def _of_cuda(installed: Installed) -> Iterator[Need]:
    """torch's CUDA, else the runtime that is installed; then what libraries link against."""
    torch = installed.torch
    if torch is not None and torch.cuda:
        yield from _of_toolkit(torch.cuda, f"of torch {torch.version}")
    else:
        for distribution in installed.distributions:
            if normal_name(distribution.name).startswith(_RUNTIME):
                name = f"of {distribution.name} {distribution.version}"
                yield from _of_toolkit(distribution.version, name)
    for distribution in installed.distributions:
        majors = {major for one in _ours(installed, distribution) for major in _majors(one)}
        for major in sorted(majors, reverse=True)[:1]:
            yield from _of_toolkit(str(major), f"that {distribution.name} links against")


def _ours(installed: Installed, distribution: Distribution) -> tuple[Library, ...]:
    return tuple(
        library
        for library in loaded(distribution.libraries, installed.torch)
        if not is_of_vendor(distribution.name, library.path.rpartition("/")[2])
    )


def _majors(library: Library) -> Iterator[int]:
    for soname in library.dynamic.needed if library.dynamic else ():
        major = cuda_major(soname)
        if major is not None:
            yield major


def _of_toolkit(version: str, whose: str) -> Iterator[Need]:
    toolkit = ".".join(version.split(".")[:2])
    floor = driver_floor(toolkit)
    if floor is not None:
        yield Need(
            driver=floor,
            because=f"CUDA {toolkit} {whose}",
            source=floor_source(toolkit),
            toolkit=toolkit,
        )


def _of_ptx(installed: Installed, gpu: Gpu) -> Iterator[Need]:
    for distribution in installed.distributions:
        for group in for_gpu(judged(distribution), gpu, installed.torch):
            needs = [need for library in group for need in _of_library(distribution, library, gpu)]
            if len(needs) == len(group):  # else one of them does without
                yield min(needs, key=lambda need: _version(need.driver))


def _of_library(distribution: Distribution, library: Library, gpu: Gpu) -> Iterator[Need]:
    isa = newest(library.device.isas)
    floor = ptx_driver(isa) if isa else None
    if isa and floor and cover(library.device, gpu.architecture).num_through_ptx:
        yield Need(
            driver=floor,
            because=f"PTX {isa}, which is all that {distribution.name} has for {gpu.architecture}",
            source=PTX_SOURCE,
            is_ptx=True,
        )


def _version(text: str) -> Version:
    try:
        return Version(text)
    except InvalidVersion:
        return Version("0")
