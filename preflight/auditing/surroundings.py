"""What each library finds around it: libraries, their copies, and torch's symbols."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import msgspec

from preflight.auditing.file_bytes import FileBytes, open_bytes
from preflight.auditing.loader import Loader
from preflight.auditing.roots import printable
from preflight.compat.dynamic import Dynamic, DynamicError
from preflight.compat.installed import Conflict, Library
from preflight.compat.sections import Section, SectionError, read_sections
from preflight.compat.symbols import OF_TORCH, SymbolTable, undefined_symbols
from preflight.compat.vendor_libraries import is_of_driver, is_steered, normal_name

_NEEDS_TORCH = re.compile(r"lib(c10|torch)(_[a-z]+)*\.so")
_BEFORE = ("RPATH", "LD_LIBRARY_PATH", "RUNPATH")
"""What leads the loader away from libraries that torch has already loaded."""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """A library that was looked at, and where it lies."""

    owner: int | None
    """Number of its distribution among those that were found."""
    distribution: str
    path: Path
    real: Path
    """With every link followed."""
    library: Library

    @property
    def soname(self) -> str:
        """What others call it."""
        dynamic = self.library.dynamic
        return dynamic.soname if dynamic and dynamic.soname else self.path.name


def with_surroundings(
    wanted: Sequence[Seen], every: Sequence[Seen], loader: Loader, *, has_torch: bool
) -> list[Seen]:
    """The ``wanted`` libraries with what of theirs is missing, unresolved or taken from elsewhere.

    Packages load libraries of each other by path before those that need them, so that whatever
    stands in the environment counts as found.
    """
    by_name: dict[str, Seen] = {}
    for one in every:
        if one.library.absence is None and one.library.device.is_library:
            by_name.setdefault(one.soname, one)
            by_name.setdefault(one.path.name, one)
    with Symbols(every) as symbols:
        return [
            _with(one, _around(one, one.library.dynamic, by_name, loader, symbols, has_torch))
            if one.library.dynamic is not None
            else one
            for one in wanted
        ]


@dataclass(frozen=True, kw_only=True)
class _Around:
    missing: tuple[str, ...]
    conflicts: tuple[Conflict, ...]
    unresolved: tuple[str, ...]


def _with(one: Seen, around: _Around) -> Seen:
    library = msgspec.structs.replace(
        one.library,
        missing=around.missing,
        conflicts=around.conflicts,
        unresolved=around.unresolved,
    )
    return Seen(
        owner=one.owner,
        distribution=one.distribution,
        path=one.path,
        real=one.real,
        library=library,
    )


def _around(
    one: Seen,
    dynamic: Dynamic,
    by_name: dict[str, Seen],
    loader: Loader,
    symbols: Symbols,
    has_torch: bool,
) -> _Around:
    missing: list[str] = []
    conflicts: list[Conflict] = []
    for name in dynamic.needed:
        found, own = loader.find(name, one.path, dynamic), by_name.get(name)
        if found is None and own is None and not is_of_driver(name):
            missing.append(name)
        if found is not None and own is not None and is_steered(name):
            conflicts += _conflict(name, found, own, loader)
    needs_torch = any(_NEEDS_TORCH.fullmatch(name) for name in dynamic.needed)
    is_torch = normal_name(one.distribution) == "torch"
    unresolved: tuple[str, ...] = ()
    if has_torch and needs_torch and not is_torch:
        unresolved = symbols.unresolved(one, [by_name[n] for n in dynamic.needed if n in by_name])
    return _Around(missing=tuple(missing), conflicts=tuple(conflicts), unresolved=tuple(unresolved))


def _conflict(name: str, found: tuple[Path, str], own: Seen, loader: Loader) -> Iterator[Conflict]:
    """A copy outside of the environment that comes before its own."""
    path, because = found
    real = loader.root.real(path)
    if because in _BEFORE and real != own.real and not loader.is_same(real, own.real):
        yield Conflict(
            soname=name,
            taken=printable(loader.root.shown(path)),
            own=own.library.path,
            because=because,
        )


class Symbols:
    """Which symbols of torch's are defined in an environment; open files while it is entered."""

    def __init__(self, every: Sequence[Seen]) -> None:
        self._every = tuple(every)
        self._stack = ExitStack()
        self._tables: dict[Path, SymbolTable | None] = {}
        self._defined: set[str] = set()

    def __enter__(self) -> Symbols:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def unresolved(self, one: Seen, needed: Sequence[Seen]) -> tuple[str, ...]:
        """Symbols that neither torch, nor what it needs, nor its own distribution defines."""
        left = [name for name in self._undefined(one) if name not in self._defined]
        wanted = set(left)
        for place in self._definers(one, needed):
            if not left:
                break
            left = self._missing(place, left)
        self._defined |= wanted - set(left)
        return tuple(left)

    def _undefined(self, one: Seen) -> tuple[str, ...]:
        try:
            with open_bytes(one.real) as data:
                return undefined_symbols(data, read_sections(data), OF_TORCH)
        except (OSError, SectionError, DynamicError):
            return ()  # read before without these tables: it has its finding, or is gone by now

    def _definers(self, one: Seen, needed: Sequence[Seen]) -> Iterator[Seen]:
        for other in self._every:
            if normal_name(other.distribution) == "torch" and _NEEDS_TORCH.fullmatch(other.soname):
                yield other
        yield from needed
        for other in self._every:
            if other.owner == one.owner and other is not one and other.library.dynamic is not None:
                yield other

    def _missing(self, place: Seen, names: Iterable[str]) -> list[str]:
        table = self._table(place)
        if table is None:
            return list(names)
        try:
            return list(table.missing(names))
        except (OSError, DynamicError):
            return list(names)  # a table that lies defines nothing

    def _table(self, place: Seen) -> SymbolTable | None:
        if place.real not in self._tables:
            self._tables[place.real] = self._read(place)
        return self._tables[place.real]

    def _read(self, place: Seen) -> SymbolTable | None:
        try:
            data: FileBytes = self._stack.enter_context(open_bytes(place.real))
            sections: tuple[Section, ...] = read_sections(data)
            return SymbolTable(data, sections)
        except (OSError, SectionError, DynamicError):
            return None  # without a table it defines nothing that we could find
