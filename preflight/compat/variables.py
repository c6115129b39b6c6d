"""Variables of the environment that close a path or slow it down; data in ``variables.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal

import msgspec

DATA = Path(__file__).with_name("variables.toml")

_NOTHING = ("", "-1", "NoDevFiles")
"""Values by which a list of visible devices holds none; the last is CUDA's own."""


class Variable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A variable and the values that matter; the fields are explained in ``variables.toml``."""

    name: str
    when: Literal["on", "off", "set", "empty"] | tuple[str, ...]
    status: Literal["fail", "warn", "note"]
    about: Literal["cards", "program"]
    does: str
    mend: str
    source: str

    def matters(self, value: str) -> bool:
        """Whether this value does what the entry says."""
        plain = value.strip()
        if self.when == "empty":
            return plain in _NOTHING
        if self.when == "set":
            return bool(plain)
        if self.when == "on":
            return _number(plain) not in (None, 0)
        if self.when == "off":
            return _number(plain) == 0
        return plain.lower() in {word.lower() for word in self.when}


class _Table(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sources: dict[str, str]
    variable: tuple[Variable, ...]


@cache
def variables() -> tuple[Variable, ...]:
    """Every entry, its source written out."""
    table = msgspec.toml.decode(DATA.read_bytes(), type=_Table)
    return tuple(
        msgspec.structs.replace(entry, source=table.sources[entry.source])
        for entry in table.variable
    )


def steering(environment: Mapping[str, str]) -> tuple[Variable, ...]:
    """The entries that an environment meets, in the order of the table."""
    return tuple(
        entry
        for entry in variables()
        if entry.name in environment and entry.matters(environment[entry.name])
    )


def _number(text: str) -> int | None:
    """The number that a switch is set to; words that people write for it count too."""
    words = {"true": 1, "yes": 1, "on": 1, "false": 0, "no": 0, "off": 0}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return int(text, 0)
    except ValueError:
        return None
