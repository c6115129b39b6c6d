"""Looks at an environment: from its folders to what stands there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from preflight.auditing.distributions import (
    Found,
    FoundFile,
    find_distributions,
    linked_folders,
    walk_libraries,
)
from preflight.auditing.glibc import read_glibc
from preflight.auditing.library_files import read_library
from preflight.auditing.loader import Loader
from preflight.auditing.places import Place, pth_folders
from preflight.auditing.roots import printable
from preflight.auditing.shadows import find_shadows
from preflight.auditing.surroundings import Seen, with_surroundings
from preflight.compat.installed import (
    NO_DISTRIBUTION,
    Copies,
    Distribution,
    DoublyOwned,
    Installed,
    Library,
    Torch,
)
from preflight.compat.vendor_libraries import family_of, normal_name

_SAYS = re.compile(r"^(__version__|cuda|hip)\b[^=\n]*=\s*['\"]([^'\"\n]+)['\"]", re.MULTILINE)
_MOST_VERSION_BYTES = 64 * 1024


def look_at(place: Place, only: frozenset[str] = frozenset()) -> Installed:
    """What stands at a place. ``only`` names distributions, normalised; all where it is empty.

    Distributions that are left out are still searched for what the others need.
    """
    found = _distributions(place)
    seen = _see(place, found)
    loader = Loader(place.root, place.library_path)
    torch = _torch(place, found)
    wanted = [one for one in seen if not only or normal_name(one.distribution) in only]
    full = with_surroundings(wanted, seen, loader, has_torch=torch is not None)
    return Installed(
        subject=printable(place.subject),
        python=place.python,
        pip=printable(place.pip),
        distributions=tuple(_assembled(found, full, only)),
        names=tuple(one.name for one in found),
        torch=torch,
        glibc=read_glibc(loader),
        copies=_copies(seen),
        doubly_owned=_doubly_owned(place, found),
        shadows=find_shadows(place, found, only),
    )


def _distributions(place: Place) -> list[Found]:
    """Distributions in the order of the search, those that another one hides at the end."""
    folders = list(place.sites)
    for site in place.sites:
        folders += [folder for folder in pth_folders(site, place.root) if folder not in folders]
    return [one for folder in folders for one in find_distributions(folder, place.root)]


def _see(place: Place, found: list[Found]) -> list[Seen]:
    """Every library once: by its distribution, else as one of none."""
    taken: set[Path] = set()
    seen = []
    for owner, file in _files(place, found):
        real = place.root.real(file.path)
        if real in taken:
            continue
        taken.add(real)
        library = read_library(
            real,
            shown=_shown(place, file.path),
            recorded_bytes=file.recorded_bytes,
            is_link=file.path.is_symlink(),
        )
        name = found[owner].name if owner is not None else NO_DISTRIBUTION
        seen.append(
            Seen(owner=owner, distribution=name, path=file.path, real=real, library=library)
        )
    return seen


def _files(place: Place, found: list[Found]) -> Iterator[tuple[int | None, FoundFile]]:
    """Recorded files before others, and real ones before links to them."""
    recorded = [(owner, file) for owner, one in enumerate(found) for file in one.files]
    yield from sorted(recorded, key=lambda pair: pair[1].path.is_symlink())
    for site in place.sites:
        for top in [site, *linked_folders(site, place.root)]:
            for path in sorted(walk_libraries(top), key=lambda path: path.is_symlink()):
                yield None, FoundFile(path=path)


def _shown(place: Place, path: Path) -> str:
    for site in place.sites:
        if path.is_relative_to(site):
            return printable(str(path.relative_to(site)))
    return printable(place.root.shown(path))


def _assembled(
    found: list[Found], seen: list[Seen], only: frozenset[str]
) -> Iterator[Distribution]:
    """Distributions as Python sees them: the first of a name."""
    libraries: dict[int | None, list[Library]] = {}
    for each in seen:
        libraries.setdefault(each.owner, []).append(each.library)
    names: set[str] = set()
    for owner, one in enumerate(found):
        name = normal_name(one.name)
        if name in names or (only and name not in only):
            continue
        names.add(name)
        mine = tuple(libraries.get(owner, ()))
        yield Distribution(name=one.name, version=one.version, libraries=mine)
    if None in libraries:
        yield Distribution(name=NO_DISTRIBUTION, libraries=tuple(libraries[None]))


def _torch(place: Place, found: list[Found]) -> Torch | None:
    """What torch/version.py says; its lines are read, not run."""
    for one in found:
        if normal_name(one.name) != "torch":
            continue
        folder = one.checkout or one.site
        try:
            with place.root.real(folder / "torch" / "version.py").open("rb") as stream:
                text = stream.read(_MOST_VERSION_BYTES).decode("utf-8", "replace")
        except OSError:
            return Torch(version=one.version)
        said = dict(_SAYS.findall(text))
        return Torch(
            version=said.get("__version__", one.version),
            cuda=said.get("cuda"),
            hip=said.get("hip"),
        )
    return None


def _copies(seen: list[Seen]) -> tuple[Copies, ...]:
    families: dict[str, list[Seen]] = {}
    for one in seen:
        family = family_of(one.path.name)
        if family and one.library.absence is None:
            families.setdefault(family, []).append(one)
    return tuple(
        Copies(
            family=family,
            places=tuple(f"{one.library.path} ({one.distribution})" for one in several),
            sonames=tuple(sorted({one.soname for one in several})),
        )
        for family, several in sorted(families.items())
        if len(several) > 1
    )


def _doubly_owned(place: Place, found: list[Found]) -> tuple[DoublyOwned, ...]:
    owners: dict[Path, list[str]] = {}
    for one in found:
        for file in one.files:
            owners.setdefault(file.path, []).append(f"{one.name} {one.version}")
    pairs: dict[tuple[str, ...], list[str]] = {}
    for path, names in owners.items():
        if len(names) > 1:
            pairs.setdefault(tuple(names), []).append(_shown(place, path))
    return tuple(
        DoublyOwned(distributions=names, files=tuple(files)) for names, files in pairs.items()
    )
