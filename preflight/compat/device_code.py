"""What device code a shared library carries, fat binary by fat binary."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from preflight.compat.buffers import Buffer
from preflight.compat.code_object import code_object_target
from preflight.compat.fatbin import (
    MAGIC_BYTES,
    MOST_FATBINS,
    Fatbin,
    FatbinError,
    read_fatbin,
    read_fatbins,
)
from preflight.compat.hip_bundle import COMPRESSED, PLAIN, BundleError, read_bundles
from preflight.compat.sections import NoLibraryError, Section, SectionError, read_sections

LINKED = frozenset({".nv_fatbin", ".nv_fatb"})
"""Code that runs; PE cuts names to eight letters."""
RELOCATABLE = frozenset({"__nv_relfatbin", "__nv_rel"})
"""Code that the device linker has already put into LINKED (``nvcc -rdc=true``)."""
WRAPPERS = frozenset({".nvFatBinSegment", ".nvFatBi"})
HIP = frozenset({".hip_fatbin", ".hip_fat"})
AS_DATA = frozenset({".ldata"})
"""Where libcufft 12.0 keeps 23983 of its 23984 fat binaries, each of one target, out of the sight
of cuobjdump, and picks among them at run time."""
MOST_OTHER_DATA = 32 * 1024 * 1024
"""How much of AS_DATA is looked through for them: in libcufft 11 MiB of other things lie between
two of them."""
_WRAPPER = struct.Struct("<IIQQ")
_WRAPPER_MAGIC = 0x466243B1
_LINKED_BY_NVCC = 2
"""Version of a wrapper whose fat binary is the device linker's output."""


class DeviceLibrary(msgspec.Struct, frozen=True, kw_only=True):
    """The device code of one file."""

    kind: Literal["cuda", "hip", "none"]
    """``none``: it has no code of its own; it may call libraries that have."""
    fatbins: dict[tuple[str, ...], int] = {}
    """How many fat binaries or bundles have which targets: {("sm_90a", "compute_120"): 3}."""
    isas: tuple[str, ...] = ()
    """Versions of the PTX in it, which a driver must know to compile it."""
    has_code_as_data: bool = False
    """Some of it lies among the library's data: the library itself picks what to load."""
    is_unlinked: bool = False
    """Its code is relocatable and was never linked, so that no kernel of it can be launched."""
    is_library: bool = True
    """False for a file that only has the name of one, such as a linker's script."""
    trouble: str = ""
    """Why it could not be read to its end; what was read before stands above."""

    @property
    def num_fatbins(self) -> int:
        """Fat binaries or bundles that can hold kernels."""
        return sum(self.fatbins.values())

    @property
    def in_all(self) -> frozenset[str]:
        """Targets that every fat binary has."""
        return (
            frozenset.intersection(*map(frozenset, self.fatbins)) if self.fatbins else frozenset()
        )

    @property
    def in_some(self) -> frozenset[str]:
        """Targets that at least one has."""
        return frozenset(target for fatbin in self.fatbins for target in fatbin)


NO_LIBRARY = DeviceLibrary(kind="none", is_library=False)


def read_device_code(
    data: Buffer, sections: tuple[Section, ...] | SectionError | None = None
) -> DeviceLibrary:
    """The device code of a library, a code object or a bundle; never raises for what it holds.

    ``sections`` is what ``read_sections`` gave or raised, for a caller who has asked it before.
    """
    target = code_object_target(data)
    if target is not None:
        return DeviceLibrary(kind="hip", fatbins={(target,): 1})
    if data[: len(PLAIN)] == PLAIN or data[: len(COMPRESSED)] == COMPRESSED:
        return _hip(data, [Section(name="", offset=0, num_bytes=len(data))])
    if sections is None:
        sections = sections_or_error(data)
    if isinstance(sections, NoLibraryError):
        return NO_LIBRARY
    if isinstance(sections, SectionError):
        return DeviceLibrary(kind="none", trouble=str(sections))
    return _of_sections(data, sections)


def sections_or_error(data: Buffer) -> tuple[Section, ...] | SectionError:
    """The sections, or why there are none."""
    try:
        return read_sections(data)
    except SectionError as error:
        return error


def _of_sections(data: Buffer, sections: tuple[Section, ...]) -> DeviceLibrary:
    linked = [section for section in sections if section.name in LINKED]
    relocatable = [section for section in sections if section.name in RELOCATABLE]
    if linked or relocatable:
        return _cuda(data, linked, relocatable, sections)
    hip = [section for section in sections if section.name in HIP]
    return _hip(data, hip) if hip else DeviceLibrary(kind="none")


def _cuda(
    data: Buffer,
    linked: Sequence[Section],
    relocatable: Sequence[Section],
    sections: Sequence[Section],
) -> DeviceLibrary:
    found: list[Fatbin] = []
    trouble = ""
    try:
        for section in linked or relocatable:
            found.extend(read_fatbins(data, section.offset, section.end))
    except FatbinError as error:
        trouble = str(error)
    if not relocatable:
        found = _without_dummies(found, _wrapper_versions(data, sections))
    as_data = [f for s in sections if s.name in AS_DATA for f in _among_data(data, s)]
    found += as_data
    codes = [code for fatbin in found for code in fatbin.codes]
    return DeviceLibrary(
        kind="cuda" if codes or trouble else "none",
        fatbins=Counter(tuple(c.target for c in f.codes) for f in found if f.codes),
        isas=tuple(sorted({code.isa for code in codes if code.isa is not None}, key=_in_order)),
        has_code_as_data=bool(as_data),
        is_unlinked=bool(codes) and not linked,
        trouble=trouble,
    )


def _in_order(isa: str) -> tuple[int, ...]:
    return tuple(map(int, isa.split(".")))


def _among_data(data: Buffer, section: Section) -> Iterator[Fatbin]:
    """Fat binaries among other data, of which at most MOST_OTHER_DATA is looked through."""
    at, left = section.offset, MOST_OTHER_DATA
    for _ in range(MOST_FATBINS):
        found = _next_magic(data, at, min(section.end, at + left))
        if found is None:
            return
        left -= found - at
        try:
            fatbin = read_fatbin(data, found, section.end)
        except FatbinError:  # any data may hold these four bytes
            at = found + len(MAGIC_BYTES)
            continue
        yield fatbin
        at = fatbin.offset + fatbin.num_bytes


def _next_magic(data: Buffer, at: int, end: int) -> int | None:
    """Where the next fat binary may begin: close by as a rule, so little is read at first."""
    step, overlap = 64, len(MAGIC_BYTES) - 1
    while at < end:
        found = data[at : min(at + step + overlap, end)].find(MAGIC_BYTES)
        if found >= 0:
            return at + found
        at += step
        step = min(2 * step, 1024 * 1024)
    return None


def _wrapper_versions(data: Buffer, sections: Sequence[Section]) -> list[int]:
    """Version of every wrapper, in the order in which the linker has laid the fat binaries."""
    versions = []
    for section in sections:
        if section.name not in WRAPPERS:
            continue
        num_wrappers = min(section.num_bytes // _WRAPPER.size, MOST_FATBINS)
        raw = data[section.offset : section.offset + num_wrappers * _WRAPPER.size]
        for magic, version, _, _ in _WRAPPER.iter_unpack(raw):
            if magic == _WRAPPER_MAGIC:
                versions.append(version)
    return versions


def _without_dummies(found: list[Fatbin], versions: list[int]) -> list[Fatbin]:
    """Without what nvcc's device linker adds to a library that has nothing to link.

    It holds no kernel, yet with ``-arch=sm_90a`` it can hold PTX. Wrappers and fat binaries come
    from the same objects in the same order; where their numbers differ, nothing is left out.
    """
    if len(versions) != len(found):
        return found
    return [f for f, version in zip(found, versions, strict=True) if version != _LINKED_BY_NVCC]


def _hip(data: Buffer, sections: Sequence[Section]) -> DeviceLibrary:
    targets: list[tuple[str, ...]] = []
    trouble = ""
    try:
        for section in sections:
            bundles = read_bundles(data, section.offset, section.end)
            targets.extend(bundle.targets for bundle in bundles if bundle.targets)
    except BundleError as error:
        trouble = str(error)
    kind: Literal["hip", "none"] = "hip" if targets or trouble else "none"
    return DeviceLibrary(kind=kind, fatbins=Counter(targets), trouble=trouble)
