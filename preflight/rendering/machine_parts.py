"""What the terminal and the report show of a machine: parts made of tables, pairs and remarks.

Nothing here is markup, and no string is made safe yet: that is up to who shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

UNKNOWN = "–"

_NUMBERED = re.compile(r"([^0-9]*)([0-9]{1,9})")

Tone = Literal["", "strong", "caution", "dim"]
"""``caution`` is worth a look; it is no judgement, which the checks alone pass."""


@dataclass(frozen=True)
class Entry:
    """A few words and how they are to stand out."""

    text: str
    tone: Tone = ""


NOTHING = Entry(UNKNOWN, "dim")
"""Stands where a value is not known; the part ``Not known`` says why."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table, an entry a row."""

    title: str
    entries: tuple[Entry, ...]
    is_number: bool = False
    takes_rest: bool = False
    """Whether it holds sentences, to be cut or wrapped where there is no room."""


@dataclass(frozen=True)
class Table:
    """Columns side by side; the first names the rows."""

    columns: tuple[Column, ...]

    @property
    def rows(self) -> tuple[tuple[Entry, ...], ...]:
        """Entries row by row, in the order of the columns."""
        return tuple(zip(*(one.entries for one in self.columns), strict=True))


Pair = tuple[str, Entry]
"""A term and what is known of it."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One heading and what stands below it: pairs, then tables, then remarks."""

    title: str
    note: str = ""
    """All of it in a few words, beside the heading; may be enough alone."""
    pairs: tuple[Pair, ...] = ()
    tables: tuple[Table, ...] = ()
    remarks: tuple[Entry, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing below the heading and nothing beside it."""
        return not (self.note or self.pairs or self.tables or self.remarks)

    @property
    def is_worth_a_look(self) -> bool:
        """Whether anything in it stands out."""
        cells = (entry for table in self.tables for row in table.rows for entry in row)
        entries = (*cells, *self.remarks, *(entry for _, entry in self.pairs))
        return any(entry.tone == "caution" for entry in entries)


def column(
    title: str,
    values: Iterable[Entry | str | None],
    *,
    is_number: bool = False,
    takes_rest: bool = False,
) -> Column:
    """A column of values, None where one is not known."""
    entries = tuple(
        NOTHING if value is None else Entry(value) if isinstance(value, str) else value
        for value in values
    )
    return Column(title=title, entries=entries, is_number=is_number, takes_rest=takes_rest)


def tables(key: Column, *others: Column) -> tuple[Table, ...]:
    """One table of those columns that hold a value; none where only the names are left."""
    kept = tuple(one for one in others if any(entry != NOTHING for entry in one.entries))
    return (Table((key, *kept)),) if key.entries and kept else ()


def pairs(*given: tuple[str, Entry | str | None]) -> tuple[Pair, ...]:
    """Those of the pairs whose value is known and not empty."""
    return tuple(
        (term, Entry(value) if isinstance(value, str) else value)
        for term, value in given
        if value is not None and value != ""
    )


def listed(*words: str | None) -> str:
    """Words that are known, with commas between them."""
    return ", ".join(word for word in words if word)


def warned(text: str, is_odd: bool) -> Entry:
    """An entry that stands out where it is odd."""
    return Entry(text, "caution" if is_odd else "")


def among(names: Sequence[str], everyone: Sequence[str]) -> str:
    """Names in short: ``each card`` for all of several, else ``gpu0 to gpu3, gpu5``."""
    if len(everyone) > 1 and len(names) == len(everyone):
        return "each card"
    return ", ".join(_span(run) for run in _runs(names))


def _runs(names: Sequence[str]) -> list[list[str]]:
    """Names in groups of consecutive numbers: ``gpu0, gpu1, gpu2`` and ``gpu5``."""
    runs: list[list[str]] = []
    for name in names:
        if runs and _follows(runs[-1][-1], name):
            runs[-1].append(name)
        else:
            runs.append([name])
    return runs


def _span(run: Sequence[str]) -> str:
    return ", ".join(run) if len(run) < 3 else f"{run[0]} to {run[-1]}"


def _follows(first: str, second: str) -> bool:
    before, after = _NUMBERED.fullmatch(first), _NUMBERED.fullmatch(second)
    if before is None or after is None or before[1] != after[1]:
        return False
    return int(after[2]) == int(before[2]) + 1


def over(now: str | None, most: str | None) -> str | None:
    """``71/700``: a value and the most it can be, as far as they are known."""
    if most is None:
        return now
    return f"{now or UNKNOWN}/{most}"


def gib(value: float) -> str:
    """Gibibytes as a number: ``0.6``, ``79.6``, ``1511``."""
    return f"{value:.0f}" if abs(value) >= 999.5 else f"{value:.1f}"
