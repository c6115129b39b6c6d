"""Symbols that a library lacks and that another one has, looked up as the loader does it.

Source: System V ABI, "Symbol Table"; the GNU hash table as GNU ld and glibc write and read it. A
table of a hundred thousand names is asked by its hash, not read.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable

from preflight.compat.buffers import Buffer
from preflight.compat.dynamic import MOST_TEXT_BYTES, DynamicError, text_at
from preflight.compat.sections import Section, section

_SYMBOL = struct.Struct("<IBBHQQ")
"""Name, kind and binding, visibility, section (0 where it is undefined), value, size."""
_HASH = struct.Struct("<IIII")
"""Number of buckets, first symbol that is hashed, words of the Bloom filter, its shift."""
_WORD = struct.Struct("<I")
_WEAK = 2
MOST_SYMBOLS = 2_000_000
MOST_NAMES_BYTES = 64 * 1024 * 1024
MOST_STEPS = 10_000
"""Symbols of one bucket; a table that works has a handful."""

OF_TORCH = re.compile(r"_Z(?:T[IVS]|GV)?(?:N[VK]*)?(?:3c10|2at|5torch)|aoti_torch_")
"""How names begin that torch's libraries define: in c10, at and torch, and its C interface."""


def undefined_symbols(
    data: Buffer, sections: tuple[Section, ...], like: re.Pattern[str]
) -> tuple[str, ...]:
    """Names that others must define and that begin like ``like``; weak ones may stay undefined.

    Raises DynamicError for tables that lie.
    """
    table, texts = section(sections, ".dynsym"), section(sections, ".dynstr")
    if table is None or texts is None:
        return ()
    count = min(_first_hashed(data, sections), table.num_bytes // _SYMBOL.size, MOST_SYMBOLS)
    raw = data[table.offset : table.offset + count * _SYMBOL.size]
    offsets = [
        name
        for name, info, _, index, _, _ in _SYMBOL.iter_unpack(raw)
        if index == 0 and name and info >> 4 != _WEAK
    ]
    return tuple(name for name in _names(data, texts, offsets) if like.match(name))


def _first_hashed(data: Buffer, sections: tuple[Section, ...]) -> int:
    """Index of the first symbol that is hashed: all that are undefined come before it."""
    table = section(sections, ".gnu.hash")
    if table is None or table.num_bytes < _HASH.size:
        return MOST_SYMBOLS
    _, first, _, _ = _HASH.unpack(data[table.offset : table.offset + _HASH.size])
    return int(first)


def _names(data: Buffer, texts: Section, offsets: list[int]) -> list[str]:
    """Texts of a string table; those at its begin, where they nearly always lie, by one reading."""
    if not offsets:
        return []
    start = texts.offset + min(offsets)
    stop = min(texts.offset + max(offsets) + MOST_TEXT_BYTES, texts.end, start + MOST_NAMES_BYTES)
    raw = data[start:stop]
    found = []
    for offset in offsets:
        at = texts.offset + offset - start
        name = raw[at : at + MOST_TEXT_BYTES].partition(b"\0")[0]
        found.append(name.decode("utf-8", "replace"))
    return found


class SymbolTable:
    """The symbols that one library defines."""

    def __init__(self, data: Buffer, sections: tuple[Section, ...]) -> None:
        """Raises DynamicError for a library without a table, or with one that lies."""
        symbols, texts = section(sections, ".dynsym"), section(sections, ".dynstr")
        table = section(sections, ".gnu.hash")
        if symbols is None or texts is None or table is None or table.num_bytes < _HASH.size:
            raise DynamicError("it has no hash table of symbols")
        head = data[table.offset : table.offset + _HASH.size]
        self._num_buckets, self._first, num_bloom, _ = _HASH.unpack(head)
        self._buckets = table.offset + _HASH.size + 8 * num_bloom
        self._chains = self._buckets + 4 * self._num_buckets
        if not self._num_buckets or self._chains > table.end:
            raise DynamicError("its hash table of symbols reaches outside its section")
        self._data, self._symbols, self._texts, self._end = data, symbols, texts, table.end

    def defines(self, name: str) -> bool:
        """Whether the loader would find ``name`` here."""
        wanted = gnu_hash(name)
        index = self._word(self._buckets + 4 * (wanted % self._num_buckets))
        if index < self._first:
            return False
        for _ in range(MOST_STEPS):
            found = self._word(self._chains + 4 * (index - self._first))
            if found | 1 == wanted | 1 and self._name(index) == name:
                return True
            if found & 1:
                return False
            index += 1
        return False

    def missing(self, names: Iterable[str]) -> tuple[str, ...]:
        """Those of ``names`` that are not here."""
        return tuple(name for name in names if not self.defines(name))

    def _word(self, at: int) -> int:
        if at + _WORD.size > self._end:
            raise DynamicError("its hash table of symbols points outside itself")
        return int(_WORD.unpack(self._data[at : at + _WORD.size])[0])

    def _name(self, index: int) -> str:
        at = self._symbols.offset + index * _SYMBOL.size
        if at + _SYMBOL.size > self._symbols.end:
            raise DynamicError("its hash table of symbols points outside the symbols")
        (offset,) = _WORD.unpack(self._data[at : at + _WORD.size])
        return text_at(self._data, self._texts, offset)


def gnu_hash(name: str) -> int:
    """The hash that GNU ld gives to a name."""
    value = 5381
    for byte in name.encode():
        value = value * 33 + byte & 0xFFFFFFFF
    return value
