"""Modules that Python finds before those of the distributions: in which folders, and whose."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from preflight.auditing.distributions import Found
from preflight.auditing.library_names import module_name
from preflight.auditing.places import USER_SITE, Place
from preflight.auditing.roots import printable
from preflight.compat.installed import Shadow
from preflight.compat.vendor_libraries import normal_name


def find_shadows(
    place: Place, found: list[Found], only: frozenset[str] = frozenset()
) -> tuple[Shadow, ...]:
    """Modules of distributions that an earlier folder also has.

    A folder without an ``__init__.py`` hides nothing: Python goes on and takes the package.
    """
    before = [(path, name, _modules(path)) for path, name in place.before]
    for site in place.sites:
        name = USER_SITE if site == place.user_site else "another site"
        before.append((site, name, {}))
    return tuple(
        shadow
        for one in found
        if not only or normal_name(one.name) in only
        for shadow in _of(one, place, before, found)
    )


def _of(
    one: Found,
    place: Place,
    before: list[tuple[Path, str, dict[str, Path]]],
    found: list[Found],
) -> Iterator[Shadow]:
    """At most one for a folder, though a distribution may have several modules."""
    for folder, name, modules in before:
        if folder == one.site:
            return
        if folder in place.sites:
            path, taken = _of_site(one, folder, found)
        else:
            path, taken = _of_folder(one, modules), ""
        if path is not None and not _is_its_own(path, one):
            yield Shadow(
                module=path.name.partition(".")[0],
                path=printable(place.root.shown(path)),
                place=name,
                taken=taken,
                hidden=one.name,
                hidden_version=one.version,
            )


def _of_site(one: Found, site: Path, found: list[Found]) -> tuple[Path | None, str]:
    """A module of another distribution, or of the same in another version."""
    for other in found:
        common = sorted(one.modules & other.modules)
        if other.site == site and common:
            return site / common[0], f"{other.name} {other.version}"
    return None, ""


def _of_folder(one: Found, modules: dict[str, Path]) -> Path | None:
    return next((modules[name] for name in sorted(one.modules) if name in modules), None)


def _is_its_own(path: Path, one: Found) -> bool:
    """Whether it is the source of an editable installation, which is meant to be found."""
    return one.checkout is not None and path.resolve().is_relative_to(one.checkout.resolve())


def _modules(folder: Path) -> dict[str, Path]:
    """What can be imported from a folder, with what makes it so."""
    found = {}
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        return {}  # Python, too, passes over a folder that it cannot read
    for path in entries:
        name = path.name if (path / "__init__.py").is_file() else module_name(path.name)
        if name is not None:
            found[name] = path
    return found
