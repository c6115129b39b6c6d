"""From the tree that TOML gives to the tables of a plan, collecting every mistake on the way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
from msgspec import inspect

from preflight.plan.locations import KeyPath
from preflight.plan.tables import TABLES, Floor, Limits, Plan, Table
from preflight.plan.values import (
    ACCEPTED,
    ELEMENT_READERS,
    READERS,
    nearest,
    read_floor_name,
    read_variable,
    show_value,
)
from preflight.quantities import MOST_GPUS, parse_gpus

_MOST_GUESSES = 20


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """One thing that is wrong in a plan."""

    path: KeyPath
    """Where: ``("order", "gpus")``."""
    what: str
    mend: str
    """What is accepted."""


def read_tables(tree: dict[str, Any]) -> tuple[Plan, list[Mistake]]:
    """The plan of what could be read, and the mistakes in the order of the file.

    A faulty key is left out of the plan, so that the rules between keys can still be checked.
    """
    tables: dict[str, Any] = {}
    mistakes: list[Mistake] = []
    for name, content in tree.items():
        if name not in TABLES:
            mistakes.append(_unknown_table(name, content))
        elif not isinstance(content, dict):
            what = "an array of tables" if isinstance(content, list) else show_value(content)
            mend = f"accepted: the header [{name}] and keys below it"
            mistakes.append(Mistake(path=(name,), what=f"{what} is not a table", mend=mend))
        else:
            reader = _TableReader(name)
            tables[name] = reader.read(content)
            mistakes += reader.mistakes
    return Plan(**tables), mistakes


@cache
def accepted_keys(table: str) -> tuple[str, ...]:
    """Keys of a table as they are written, in the order of the plan."""
    if table == "limits":
        return ("performance",)
    return tuple(_types(table))


@cache
def _fields(table: str) -> dict[str, inspect.Field]:
    """What msgspec knows of each key."""
    info = inspect.type_info(TABLES[table])
    assert isinstance(info, inspect.StructType)
    return {field.encode_name: field for field in info.fields}


@cache
def _types(table: str) -> dict[str, Any]:
    """The annotation of each key, for msgspec to convert to."""
    return {field.encode_name: field.type for field in msgspec.structs.fields(TABLES[table])}


class _TableReader:
    """Reads one table, key by key."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.mistakes: list[Mistake] = []
        self._fields = _fields(name)
        self._types = _types(name)

    def read(self, content: dict[str, Any]) -> Table:
        """The table, without what is faulty."""
        if self.name == "limits":
            return self._limits(content)
        values: dict[str, Any] = {}
        for key, value in content.items():
            if key not in self._fields:
                # Guessing takes a millisecond, and nobody reads more guesses.
                hint = _hint(self.name, key) if len(self.mistakes) < _MOST_GUESSES else ""
                self._mistake((key,), f"unknown key{hint}", self._key_list())
                continue
            try:
                values[key] = self._value(key, value)
            except _FaultyError:
                continue
        if self.name == "order":
            self._settle_order(values)
        return TABLES[self.name](**values)

    def _value(self, key: str, value: Any) -> Any:
        """The value as the struct keeps it; notes the mistakes and raises _FaultyError."""
        known = f"{self.name}.{key}"
        value = _whole(value)
        if known in READERS:
            value = self._tried((key,), lambda: READERS[known](value), self._accepted(key))
        if known in ELEMENT_READERS and isinstance(value, list):
            value = self._elements(key, value)
        if known == "software.env" and isinstance(value, dict):
            self._variables(key, value)
        return self._converted((key,), value, self._types[key], key)

    def _elements(self, key: str, value: list[Any]) -> list[Any]:
        read = ELEMENT_READERS[f"{self.name}.{key}"]
        before = len(self.mistakes)
        elements = []
        for index, element in enumerate(value):
            try:
                elements.append(
                    self._tried((key, index), lambda e=element: read(e), self._accepted(key))
                )
            except _FaultyError:
                continue
        if len(self.mistakes) > before:
            raise _FaultyError
        return elements

    def _variables(self, key: str, value: dict[str, Any]) -> None:
        before = len(self.mistakes)
        for name, text in value.items():
            try:
                read_variable(name, text)
            except ValueError as error:
                self._mistake((key, name), str(error), self._accepted(key))
        if len(self.mistakes) > before:
            raise _FaultyError

    def _tried(self, path: KeyPath, read: Any, accepted: str) -> Any:
        try:
            return read()
        except ValueError as error:
            self._mistake(path, str(error), accepted)
            raise _FaultyError from error

    def _converted(self, path: KeyPath, value: Any, wanted: Any, key: str) -> Any:
        if isinstance(value, float) and not math.isfinite(value):
            self._mistake(path, f"{value} is not a finite number", self._accepted(key))
            raise _FaultyError
        try:
            return msgspec.convert(value, wanted)
        except msgspec.ValidationError as error:
            phrase = _phrase(self._fields[key].type) if key in self._fields else "a number from 0"
            what = f"{show_value(value)} is not {phrase}"
            self._mistake(path, what, self._accepted(key))
            raise _FaultyError from error

    def _settle_order(self, values: dict[str, Any]) -> None:
        """Bring the ways of giving the number of cards to one, in ``gpus``."""
        if "gpu" in values:
            try:
                count, values["gpu"] = parse_gpus(values["gpu"])
            except ValueError as error:
                self._mistake(("gpu",), str(error), self._accepted("gpu"))
                del values["gpu"]
                count = None
            if count is not None and values.setdefault("gpus", count) != count:
                what = f"{values['gpus']} contradicts the {count} cards of order.gpu"
                self._mistake(("gpus",), what, "give the same number in both, or leave one out")
        if "lots" in values and "gpus_per_lot" in values:
            lots, per_lot = values["lots"], values["gpus_per_lot"]
            cards = f"{lots} lots of {per_lot} are {lots * per_lot} cards"
            if lots * per_lot > MOST_GPUS:
                self._mistake(("lots",), cards, f"accepted: {MOST_GPUS} cards at most")
            elif values.setdefault("gpus", lots * per_lot) != lots * per_lot:
                self._mistake(
                    ("lots",),
                    f"{cards}, but the order is of {values['gpus']}",
                    "accepted: lots x gpus_per_lot equal to gpus",
                )

    def _limits(self, content: dict[str, Any]) -> Limits:
        values: dict[str, Any] = {}
        floors: dict[str, float] = {}
        for path, value in _leaves(content, ()):
            name = ".".join(path)
            try:
                if name == "performance":
                    values[name] = self._value(name, value)
                    continue
                self._tried(path, lambda n=name: read_floor_name(n), ACCEPTED["limits"])
                if isinstance(value, str) and (guess := nearest(name, ["performance"])):
                    what = f"unknown key; did you mean {guess}?"
                    self._mistake(path, what, f"accepted: {ACCEPTED['limits']}")
                    continue
                floors[name] = self._converted(path, value, Floor, name)
            except _FaultyError:
                continue
        return Limits(floors=floors, **values)

    def _accepted(self, key: str) -> str:
        known = ACCEPTED.get(f"{self.name}.{key}")
        if known is None and key in self._fields:
            known = _phrase_with_example(self._fields[key].type)
        return f"accepted: {known or ACCEPTED[self.name]}"

    def _key_list(self) -> str:
        return f"accepted in [{self.name}]: {', '.join(accepted_keys(self.name))}"

    def _mistake(self, path: KeyPath, what: str, mend: str) -> None:
        self.mistakes.append(Mistake(path=(self.name, *path), what=what, mend=mend))


class _FaultyError(Exception):
    """The value was refused, and the mistake is noted."""


def _unknown_table(name: str, content: Any) -> Mistake:
    kind = "table" if isinstance(content, dict) else "key"
    guess = nearest(name, TABLES)
    homes = [table for table in TABLES if name in accepted_keys(table)]
    if homes and kind == "key":
        hint = f"; did you mean {homes[0]}.{name}, below the header [{homes[0]}]?"
    else:
        hint = f"; did you mean [{guess}]?" if guess else ""
    tables = ", ".join(f"[{table}]" for table in TABLES)
    return Mistake(path=(name,), what=f"unknown {kind}{hint}", mend=f"accepted: {tables}")


def _hint(table: str, key: str) -> str:
    """The key that was probably meant: one of this table, or the same word in another."""
    if guess := nearest(key, accepted_keys(table)):
        return f"; did you mean {guess}?"
    homes = [other for other in TABLES if key in accepted_keys(other)]
    return f"; did you mean {homes[0]}.{key}?" if homes else ""


def _whole(value: Any) -> Any:
    """An integral float as an integer (70e9), so that it may stand where one is wanted."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _leaves(content: dict[str, Any], path: tuple[str, ...]) -> list[tuple[tuple[str, ...], Any]]:
    """Key paths and values below nested tables, as ``collective.x = 1`` makes them in TOML."""
    found: list[tuple[tuple[str, ...], Any]] = []
    for key, value in content.items():
        if isinstance(value, dict):
            found += _leaves(value, (*path, key))
        else:
            found.append(((*path, key), value))
    return found


def _phrase_with_example(kind: inspect.Type) -> str:
    """What is accepted, with the example and the meaning that the struct gives."""
    for part in kind.types if isinstance(kind, inspect.UnionType) else (kind,):
        if isinstance(part, inspect.Metadata) and part.extra_json_schema:
            example = msgspec.json.encode(part.extra_json_schema["examples"][0]).decode()
            return f"{_phrase(part)}, such as {example} ({part.extra_json_schema['description']})"
    return _phrase(kind)


def _phrase(kind: inspect.Type) -> str:
    """A type in words: ``a whole number from 1 to 100000``."""
    if isinstance(kind, inspect.Metadata):
        return _phrase(kind.type)
    if isinstance(kind, inspect.UnionType):
        parts = [part for part in kind.types if not isinstance(part, inspect.NoneType)]
        return " or ".join(map(_phrase, parts))
    if isinstance(kind, inspect.IntType):
        return f"a whole number from {kind.ge} to {kind.le}"
    if isinstance(kind, inspect.FloatType):
        return f"a number above {kind.gt:g} and up to {kind.le:g}" if kind.le else "a number from 0"
    if isinstance(kind, inspect.StrType):
        return f"text of 1 to {kind.max_length} characters" if kind.max_length else "text"
    if isinstance(kind, inspect.BoolType):
        return "true or false"
    if isinstance(kind, inspect.LiteralType):
        return "one of " + ", ".join(f'"{value}"' for value in kind.values)
    return "a list" if isinstance(kind, inspect.VarTupleType) else "a table"
