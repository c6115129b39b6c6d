"""Which GPU runs a package: the words of its libraries, and which of them count."""

from __future__ import annotations

from preflight.compat.alternatives import chosen, groups
from preflight.compat.audit import AuditedFile, AuditedPackage, Gpu
from preflight.compat.coverage import Word, best, combined, cover
from preflight.compat.installed import Distribution, Library, Torch
from preflight.compat.vendor_libraries import is_of_vendor

CODE_OBJECTS = (".co", ".hsaco")
"""Files of one target each, which a package picks by the device that it finds."""


def audit_package(
    distribution: Distribution, gpus: tuple[Gpu, ...], torch: Torch | None, driver: str | None
) -> AuditedPackage:
    """A distribution against each GPU."""
    counted = judged(distribution)
    weighed = counted or with_code(distribution.libraries)
    return AuditedPackage(
        name=distribution.name,
        version=distribution.version,
        judged=bool(counted) or not weighed,
        files=tuple(_file(distribution, one, gpus, driver) for one in distribution.libraries),
        covered={gpu.name: package_word(weighed, gpu, torch, driver) for gpu in gpus},
    )


def with_code(libraries: tuple[Library, ...]) -> tuple[Library, ...]:
    """Those with device code."""
    return tuple(library for library in libraries if library.device.kind != "none")


def judged(distribution: Distribution) -> tuple[Library, ...]:
    """Libraries with device code that are not a vendor's."""
    return tuple(
        library
        for library in with_code(distribution.libraries)
        if not is_of_vendor(distribution.name, _name(library))
    )


def for_gpu(
    libraries: tuple[Library, ...], gpu: Gpu, torch: Torch | None
) -> tuple[tuple[Library, ...], ...]:
    """Libraries with code for the GPU's vendor, in groups of which one library is used.

    A package with code for both vendors loads that for the one it finds.
    """
    mine = tuple(library for library in libraries if library.device.kind == gpu.kind)
    objects = tuple(library for library in mine if library.path.endswith(CODE_OBJECTS))
    others = tuple(library for library in mine if not library.path.endswith(CODE_OBJECTS))
    found = [chosen(group, torch) for group in groups(others)]
    return tuple([*found, objects] if objects else found)


def package_word(
    libraries: tuple[Library, ...], gpu: Gpu, torch: Torch | None, driver: str | None
) -> Word:
    """The word for a package with these libraries, all of which have device code."""
    found = for_gpu(libraries, gpu, torch)
    if not found:
        return "no" if any(library.device.fatbins for library in libraries) else "none"
    return combined(group_word(group, gpu, driver) for group in found)


def group_word(group: tuple[Library, ...], gpu: Gpu, driver: str | None) -> Word:
    """The word for libraries of which one is used."""
    return best(cover(library.device, gpu.architecture, driver).word for library in group)


def _file(
    distribution: Distribution, library: Library, gpus: tuple[Gpu, ...], driver: str | None
) -> AuditedFile:
    device = library.device
    return AuditedFile(
        path=library.path,
        kind=device.kind,
        fatbins=device.num_fatbins,
        archs=in_order(device.in_some),
        archs_in_all=in_order(device.in_all),
        judged=not is_of_vendor(distribution.name, _name(library)),
        covered={gpu.name: cover(device, gpu.architecture, driver).word for gpu in gpus},
    )


def in_order(targets: frozenset[str]) -> tuple[str, ...]:
    """Targets by kind, then by number: sm_90, sm_90a, sm_100, compute_120."""
    kinds = ("sm", "compute", "lto")

    def key(target: str) -> tuple[int, int, str]:
        kind, _, number = target.partition("_")
        digits = number.rstrip("af")
        place = kinds.index(kind) if kind in kinds else len(kinds)
        return place, int(digits) if digits.isdigit() else 0, target

    return tuple(sorted(targets, key=key))


def _name(library: Library) -> str:
    return library.path.rpartition("/")[2]
