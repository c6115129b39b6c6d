"""What is to be said of libraries and modules before any of them is loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from preflight.compat.alternatives import loaded
from preflight.compat.audit import Finding
from preflight.compat.cards import few
from preflight.compat.dynamic import glibc_floor
from preflight.compat.installed import (
    NO_DISTRIBUTION,
    Copies,
    Distribution,
    DoublyOwned,
    Installed,
    Library,
    Shadow,
)
from preflight.compat.vendor_libraries import is_of_vendor, normal_name
from preflight.facts import Absence

LOADER = "ld.so(8)"
_OF_IMPORT = re.compile(
    r"lib(torch(_cpu|_cuda|_hip|_python|_global_deps)?|c10(_cuda|_hip)?|shm)\.so"
)
"""Libraries that ``import torch`` loads; others, such as libtorch_nvshmem, are opened when used."""
_MOST_NAMED = 4
_MOST_LACKING = 3
"""How many findings about missing libraries a distribution may have, before they become one."""


def loader_findings(installed: Installed) -> Iterator[Finding]:
    """Findings that hold whatever the GPU."""
    for distribution in installed.distributions:
        for library in distribution.libraries:
            yield from _of_file(distribution, library)
        yield from _of_loading(installed, distribution)
    yield from map(_shadow, installed.shadows)
    yield from map(_copies, installed.copies)
    yield from map(_doubly_owned, installed.doubly_owned)
    if installed.is_complete and installed.torch is None:
        yield Finding(status="warn", reason="torch is not installed here", action="install it")


def _of_file(distribution: Distribution, library: Library) -> Iterator[Finding]:
    """A file that is not what its name says."""
    again = f"install {distribution.name} again"
    if distribution.name == NO_DISTRIBUTION:
        again = "remove it, or put it there again"
    if library.absence is not None:
        yield Finding(
            status="error" if library.absence.reason in ("no permission", "failed") else "warn",
            package=distribution.name,
            file=library.path,
            reason=f"cannot be read: {library.absence.detail or library.absence.reason}",
            action="let this user read it" if library.absence.reason == "no permission" else again,
        )
        return
    is_cut = library.recorded_bytes is not None and library.num_bytes != library.recorded_bytes
    if library.device.trouble:
        size = f" (it has {library.num_bytes} bytes, RECORD says {library.recorded_bytes})"
        yield Finding(
            status="fail" if is_cut else "warn",
            package=distribution.name,
            file=library.path,
            reason=library.device.trouble + (size if is_cut else ""),
            action=again,
        )
    elif library.device.is_unlinked:
        yield Finding(
            status="warn",
            package=distribution.name,
            file=library.path,
            reason="its device code is relocatable and was never linked: none of its kernels "
            "can be launched",
            action="link it with nvcc, or with nvcc -dlink before another linker",
            source="nvcc, Using Separate Compilation in CUDA",
        )


def _of_loading(installed: Installed, distribution: Distribution) -> Iterator[Finding]:
    """What the loader will refuse or take from elsewhere, among libraries that will be loaded."""
    libraries = loaded(distribution.libraries, installed.torch)
    theirs = [one for one in libraries if is_of_vendor(distribution.name, _name(one))]
    ours = [one for one in libraries if not is_of_vendor(distribution.name, _name(one))]
    yield from _missing(distribution, ours, is_judged=True)
    yield from _missing(distribution, theirs, is_judged=False)
    for library in ours:
        yield from _unresolved(installed, distribution, library)
        yield from _conflicts(distribution, library)
    yield from _too_new(installed, distribution, libraries)


def _missing(
    distribution: Distribution, libraries: Sequence[Library], *, is_judged: bool
) -> Iterator[Finding]:
    users: dict[str, list[str]] = {}
    for library in _without_spares(libraries):
        for name in library.missing:
            users.setdefault(name, []).append(library.path)
    lacking: dict[tuple[str, ...], list[str]] = {}
    for name, paths in users.items():
        lacking.setdefault(tuple(paths), []).append(name)
    if len(lacking) > _MOST_LACKING:
        every = tuple(dict.fromkeys(path for paths in lacking for path in paths))
        lacking = {every: list(users)}
    for needing, names in lacking.items():
        yield _lacks(distribution, needing, names, is_judged=is_judged)


def _without_spares(libraries: Sequence[Library]) -> Iterator[Library]:
    """Without siblings that a complete one replaces, such as those for other releases of FFmpeg.

    ``libtorchcodec_core7.so`` is one of six whose names differ in a number alone.
    """
    families: dict[str, list[Library]] = {}
    for library in libraries:
        families.setdefault(re.sub(r"\d+", "#", library.path), []).append(library)
    for family in families.values():
        complete = [library for library in family if not library.missing]
        yield from complete if len(family) > 2 and complete else family


def _lacks(
    distribution: Distribution, paths: Sequence[str], names: Sequence[str], *, is_judged: bool
) -> Finding:
    files = [_last(path) for path in paths]
    is_torch = normal_name(distribution.name) == "torch"
    is_needed = is_torch and any(_OF_IMPORT.fullmatch(name) for name in files)
    what, its = (names[0], "its") if len(names) == 1 else ("them", "their")
    return Finding(
        status="skip" if not is_judged else "fail" if is_needed else "warn",
        package=distribution.name,
        file=paths[0],
        reason=f"{few(files, _MOST_NAMED)} {'needs' if len(paths) == 1 else 'need'} {few(names)}, "
        "which nothing here provides",
        action=f"install what brings {what}, or put {its} folder on LD_LIBRARY_PATH",
        source=LOADER,
    )


def _unresolved(
    installed: Installed, distribution: Distribution, library: Library
) -> Iterator[Finding]:
    if not library.unresolved or installed.torch is None:
        return
    first = library.unresolved[0]
    more = len(library.unresolved) - 1
    yield Finding(
        status="fail",
        package=distribution.name,
        file=library.path,
        reason=f"it was built against another torch: {first}"
        + (f" and {more} more symbols are" if more else " is")
        + f" not in torch {installed.torch.version}, so its import ends in undefined symbol",
        action=f"install a {distribution.name} built for torch {installed.torch.version}, or build "
        "it here with --no-build-isolation",
        source=LOADER,
    )


def _conflicts(distribution: Distribution, library: Library) -> Iterator[Finding]:
    for conflict in library.conflicts:
        mend = {
            "LD_LIBRARY_PATH": "take its folder out of LD_LIBRARY_PATH",
        }.get(conflict.because, "build it without that path, or remove that copy")
        yield Finding(
            status="warn",
            package=distribution.name,
            file=library.path,
            reason=f"{conflict.because} makes it load {conflict.taken} in place of {conflict.own}",
            action=mend,
            source=LOADER,
        )


def _too_new(
    installed: Installed, distribution: Distribution, libraries: tuple[Library, ...]
) -> Iterator[Finding]:
    if isinstance(installed.glibc, Absence):
        return
    here = tuple(int(part) for part in installed.glibc.split("."))
    newer = []
    for library in libraries:
        needed = glibc_floor(library.dynamic.needed_versions) if library.dynamic else None
        if needed is not None and needed > here:
            newer.append((needed, library.path))
    if newer:
        (major, minor), path = max(newer)
        yield Finding(
            status="fail",
            package=distribution.name,
            file=path,
            reason=f"it needs glibc {major}.{minor}, and {installed.glibc} is here",
            action=f"take an image with glibc {major}.{minor} or newer, or a {distribution.name} "
            "built for an older one",
            source=LOADER,
        )


def _shadow(shadow: Shadow) -> Finding:
    taken = f" ({shadow.taken})" if shadow.taken else ""
    return Finding(
        status="warn",
        package=shadow.hidden,
        file=shadow.path,
        reason=f"import {shadow.module} takes {shadow.path}{taken} from {shadow.place} in place of "
        f"{shadow.hidden} {shadow.hidden_version}",
        action=_UNSHADOW.get(shadow.place, "remove one of the two"),
        source="Python, sys.path",
    )


_UNSHADOW = {
    "the working folder": "start Python in another folder, or rename what lies there",
    "PYTHONPATH": "take its folder out of PYTHONPATH",
    "the user site": "set PYTHONNOUSERSITE=1, or uninstall it there",
}


def _copies(copies: Copies) -> Finding:
    what = "versions" if len(copies.sonames) > 1 else "copies"
    return Finding(
        status="warn",
        reason=f"{len(copies.places)} {what} of {copies.family} "
        f"({', '.join(copies.sonames)}): {few(copies.places, _MOST_NAMED)}",
        action="uninstall those that this torch does not need; a process that loads two of them "
        "can end in wrong results or symbol errors",
        source=LOADER,
    )


def _doubly_owned(owned: DoublyOwned) -> Finding:
    first, *others = owned.distributions
    return Finding(
        status="warn",
        file=owned.files[0],
        reason=f"{first} and {', '.join(others)} have written the same files ("
        f"{few([_last(path) for path in owned.files], _MOST_NAMED)}): those of the later one are "
        "there",
        action=f"uninstall both, and install again the one that this torch requires: {first} "
        f"or {' or '.join(others)}",
        source="RECORD of both",
    )


def _name(library: Library) -> str:
    return _last(library.path)


def _last(path: str) -> str:
    return path.rpartition("/")[2]
