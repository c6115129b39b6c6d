"""Messages whose meaning is known, in ``signatures.toml``: found in any text in linear time.

Words are looked for first, a few at a time over a whole block; the pattern is tried only on a line
that holds one. Patterns have no nested repetition, and lines are bounded.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

import msgspec

from preflight.compat.dumps.text import Line

_toml: Any = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

DATA = Path(__file__).with_name("signatures.toml")
LONGEST_QUOTE = 160
"""Characters of a line that are shown."""
MOST_HITS = 8
"""Lines kept of one signature: the first ones tell the cause, the others repeat it."""

Status = Literal["pass", "warn", "fail", "unknown"]


class Verdict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a message says of one more stage."""

    stage: str
    status: Status
    reason: str


class Signature(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A message, what it means, and what to do."""

    id: str
    """``cuda.no_kernel_image``."""
    words: tuple[str, ...]
    """In lower case; a line that holds none of them is never looked at."""
    pattern: str
    """Regular expression; case does not matter."""
    unless: str = ""
    """Regular expression of lines that look like it and are not."""
    stage: str
    status: Status = "fail"
    cause: str
    action: str
    also: tuple[Verdict, ...] = ()
    proves: tuple[str, ...] = ()
    """Stages that must have passed for the message to be printed at all."""
    general: bool = False
    """Says that something failed, not what: dropped where another one is on all of its lines."""
    cleared_by: tuple[str, ...] = ()
    """Ids of signatures whose presence shows that this one did no harm."""
    prose: bool = False
    """What people write about a fault, not what a program prints."""
    source: str
    standing: Literal["verified", "partly verified", "unverified"]


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A signature that was found."""

    signature: Signature
    lines: tuple[int, ...]
    text: str
    """The first line that it was found in, shortened."""
    quotes: dict[int, str]


class _Compiled(msgspec.Struct, frozen=True, kw_only=True):
    signature: Signature
    pattern: re.Pattern[str]
    unless: re.Pattern[str] | None


@cache
def signatures() -> tuple[Signature, ...]:
    """The table in its order: what is more specific stands first."""
    return decode_signatures(DATA.read_text(encoding="utf-8"))


def decode_signatures(text: str) -> tuple[Signature, ...]:
    """Signatures of a TOML text.

    Raises ValueError that names the entry, for the table is ours and not the user's.
    """
    tree = _toml.loads(text)
    sources = tree.get("sources", {})
    found = []
    for entry in tree.get("signature", []):
        name = entry.get("id", "an entry without an id")
        if entry.get("source") not in sources:
            raise ValueError(f"signatures: {name}: source: {entry.get('source')!r} is unknown")
        try:
            found.append(msgspec.convert({**entry, "source": sources[entry["source"]]}, Signature))
        except msgspec.ValidationError as error:
            raise ValueError(f"signatures: {name}: {error}") from error
    if len({one.id for one in found}) != len(found):
        raise ValueError("signatures: an id stands twice")
    return tuple(found)


@cache
def _compiled() -> tuple[_Compiled, ...]:
    return tuple(
        _Compiled(
            signature=one,
            pattern=re.compile(one.pattern, re.IGNORECASE),
            unless=re.compile(one.unless, re.IGNORECASE) if one.unless else None,
        )
        for one in signatures()
    )


class Scanner:
    """Looks for signatures in block after block."""

    def __init__(self) -> None:
        self._found: dict[str, dict[int, str]] = {}
        self._open = list(_compiled())

    def scan(self, lines: Sequence[Line]) -> None:
        """Look in some lines; a signature that has enough hits is not looked for any more."""
        if not lines:
            return
        lowered = "\n".join([line.text for line in lines]).lower()
        full = False
        for one in self._open:
            for word in one.signature.words:
                if word in lowered:
                    full |= self._try(one, word, lowered, lines)
        if full:
            done = {name for name, hits in self._found.items() if len(hits) >= MOST_HITS}
            self._open = [one for one in self._open if one.signature.id not in done]

    def _try(self, one: _Compiled, word: str, lowered: str, lines: Sequence[Line]) -> bool:
        """Try the pattern on each line that holds a word; whether it has enough hits now."""
        hits = self._found.get(one.signature.id, {})
        for index in _lines_with(word, lowered):
            line = lines[index]
            found = None if line.number in hits else one.pattern.search(line.text)
            if found and (one.unless is None or not one.unless.search(line.text)):
                hits = self._found.setdefault(one.signature.id, {})
                hits[line.number] = _around(line.text, found.start())
                if len(hits) >= MOST_HITS:
                    return True
        return False

    def hits(self) -> tuple[Hit, ...]:
        """What was found, in the order of the table."""
        return _without_general(
            Hit(
                signature=one,
                lines=tuple(sorted(quotes)),
                text=quotes[min(quotes)],
                quotes=quotes,
            )
            for one in signatures()
            if (quotes := self._found.get(one.id))
        )


def _around(text: str, position: int) -> str:
    """The part of a long line that matters: a little before the words, and what follows."""
    start = max(0, position - 40) if len(text) > LONGEST_QUOTE else 0
    return f"{'…' if start else ''}{text[start : start + LONGEST_QUOTE]}"


def _without_general(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    listed = tuple(hits)
    found = {one.signature.id for one in listed}
    listed = tuple(one for one in listed if not found & set(one.signature.cleared_by))
    told = {line for one in listed if not one.signature.general for line in one.lines}
    return tuple(one for one in listed if not (one.signature.general and told >= set(one.lines)))


def _lines_with(word: str, text: str) -> Iterator[int]:
    """Numbers, from 0, of the lines of ``text`` that hold ``word``."""
    position, index, counted = text.find(word), 0, 0
    while position >= 0:
        index += text.count("\n", counted, position)
        counted = position
        yield index
        end = text.find("\n", position)
        position = -1 if end < 0 else text.find(word, end)


def find_in(text: str) -> tuple[Hit, ...]:
    """Signatures in a short text, such as what a failed probe said."""
    scanner = Scanner()
    scanner.scan(_lines_of(text))
    return scanner.hits()


def _lines_of(text: str) -> list[Line]:
    return [Line(number, line[:8192]) for number, line in enumerate(text.splitlines(), 1)]


def printed(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """Those that a program printed, without what people write about faults."""
    return tuple(hit for hit in hits if not hit.signature.prose)
