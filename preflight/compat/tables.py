"""Reads the tables of this folder: TOML beside the modules, each entry with sources and standing.

An entry's ``sources`` are keys of the table's own ``[sources]``, and are given out as their texts.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec

_toml: Any = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every entry of a table says of itself."""

    sources: tuple[str, ...]
    standing: Literal["verified", "partly verified", "unverified"]
    unverified: tuple[str, ...] = ()
    """Fields that no source was read for."""

    @property
    def source(self) -> str:
        """All sources in one text."""
        return "; ".join(self.sources)


Kind = TypeVar("Kind", bound=Entry)


def read_table(name: str) -> dict[str, Any]:
    """The tree of a table such as ``triton.toml``, with the texts of the sources in it."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    tree: dict[str, Any] = _toml.loads(text)
    sources: dict[str, str] = tree.pop("sources")
    for key, entries in tree.items():
        for entry in entries:
            _cite(entry, sources, f"{name}: {key}")
    return tree


def entries(tree: dict[str, Any], key: str, kind: type[Kind]) -> tuple[Kind, ...]:
    """The entries below ``[[key]]``, checked; raises ValueError that names table, key and place."""
    found = []
    for index, entry in enumerate(tree.get(key, ())):
        try:
            made = msgspec.convert(entry, kind)
        except msgspec.ValidationError as error:
            raise ValueError(f"{key}[{index}]: {error}") from error
        check_standing(made, f"{key}[{index}]")
        found.append(made)
    return tuple(found)


def check_standing(entry: Entry, where: str) -> None:
    """An entry has a source, and its standing agrees with the fields that it calls unverified."""
    if not entry.sources:
        raise ValueError(f"{where}: no source")
    if unknown := [key for key in entry.unverified if key not in entry.__struct_fields__]:
        raise ValueError(f"{where}: unverified: there is no field {unknown[0]!r}")
    if entry.standing == "verified" and entry.unverified:
        raise ValueError(f"{where}: verified, and {entry.unverified[0]!r} is not")


def _cite(entry: dict[str, Any], sources: dict[str, str], where: str) -> None:
    """Put the text of each source in place of its key, in nested entries too."""
    for value in entry.values():
        if isinstance(value, list):
            for one in value:
                if isinstance(one, dict):
                    _cite(one, sources, where)
    cited = entry.get("sources", [])
    if unknown := [key for key in cited if key not in sources]:
        raise ValueError(f"{where}: sources: {unknown[0]!r} is not in [sources]")
    entry["sources"] = [sources[key] for key in cited]
