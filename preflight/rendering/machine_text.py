"""A machine as text for a terminal: headings, pairs, and tables that never wrap."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from preflight.events import Inventory
from preflight.facts import Card, Machine
from preflight.rendering.escaping import clip, columns
from preflight.rendering.machine_cards import accelerators, products
from preflight.rendering.machine_parts import Column, Entry, Pair, Part, Table
from preflight.rendering.machine_tables import machine_parts
from preflight.rendering.text import NARROWEST, WIDTH, Line, Piece, plain, wrapped

WIDEST = 160
"""Columns beyond which the eye loses its row."""

_INDENT = 2
_GAP = 2
_LEAST_REST = 24
"""Columns that a column of sentences needs; with fewer it goes below."""
_MOST_LINES = 6
_MOST_ABOVE = 3


def render_machine(inventory: Inventory, *, notice: str = "", width: int = WIDTH) -> str:
    """The machine as plain text in lines of at most ``width`` columns, 60 to 160."""
    return plain(machine_lines(inventory, notice=notice, width=width))


def machine_lines(
    inventory: Inventory, *, notice: str = "", width: int = WIDTH
) -> tuple[Line, ...]:
    """The same in styled pieces; ``notice`` says what keeps it from being an ordinary machine."""
    width = min(max(width, NARROWEST), WIDEST)
    machine = inventory.machine or Machine(
        node=inventory.host.name,
        cards=tuple(Card(device=device.name) for device in inventory.devices),
    )
    parts = machine_parts(
        machine,
        devices=inventory.devices,
        host=inventory.host,
        hidden=inventory.hidden,
        absences=inventory.absences,
    )
    lines = [*_header(machine, inventory, notice, width)]
    for part in parts:
        lines += [(), *_part(part, width)]
    return tuple(lines)


def _header(machine: Machine, inventory: Inventory, notice: str, width: int) -> Iterator[Line]:
    """What it is, and where accelerators were looked for."""
    note = f"   {clip(notice, width // 2)}" if notice else ""
    found = products(accelerators(machine, inventory.devices)) or "no accelerator"
    name = clip(f"{clip(machine.node, 40)}   {found}", width - columns(note))
    yield (Piece(name, "strong"), *([Piece(note, "caution")] if note else []))
    looked = Entry("; ".join(inventory.looked_for))
    yield from _term("looked for", looked, 12, width, most=_MOST_ABOVE)


def _part(part: Part, width: int) -> Iterator[Line]:
    title = f"{part.title}   " if part.note else part.title
    note = clip(part.note, width - len(title)) if part.note else ""
    yield (Piece(title, "strong"), *([Piece(note)] if note else []))
    yield from _pairs(part.pairs, width)
    is_first = not part.pairs
    for table in part.tables:
        for sheet in _sheets(table, width - _INDENT):
            if not is_first:
                yield ()
            is_first = False
            yield from _table(sheet)
    if part.tables and part.remarks and part.remarks[0].tone != "dim":
        yield ()
    for remark in part.remarks:
        yield from _term("", remark, 0, width, most=_MOST_LINES)


def _pairs(pairs: Sequence[Pair], width: int) -> Iterator[Line]:
    longest = max((columns(clip(term, width // 2)) for term, _ in pairs), default=0)
    for term, entry in pairs:
        yield from _term(term, entry, longest + _GAP, width, most=_MOST_LINES)


def _term(term: str, entry: Entry, taken: int, width: int, *, most: int) -> Iterator[Line]:
    """A term and its words, which hang below themselves where they need several lines."""
    room = width - _INDENT - taken
    label = _filled(clip(term, width // 2), taken) if taken else ""
    if not entry.text.strip():
        return
    first, *rest = wrapped(entry.text, room, room, most=most)
    yield (Piece(" " * _INDENT), Piece(label, "dim"), Piece(first, entry.tone))
    for line in rest:
        yield (Piece(" " * (_INDENT + taken)), Piece(line, entry.tone))


def _filled(text: str, width: int, *, on_the_left: bool = False) -> str:
    blanks = " " * (width - columns(text))
    return blanks + text if on_the_left else text + blanks


def _sheets(table: Table, room: int) -> Iterator[tuple[tuple[Column, int], ...]]:
    """The table in pieces that fit side by side, each with the names of the rows before it.

    A sheet is columns with their widths.
    """
    key, *others = table.columns
    names = (key, min(_wide(key), room // 3))
    sheet, used = [names], names[1]
    for one in others:
        most = room - names[1] - _GAP
        want = min(_wide(one), most)
        least = min(want, _LEAST_REST) if one.takes_rest else want
        if used + _GAP + least > room and len(sheet) > 1:
            yield tuple(sheet)
            sheet, used = [names], names[1]
        width = min(want, room - used - _GAP)
        sheet.append((one, width))
        used += _GAP + width
    yield tuple(sheet)


def _wide(one: Column) -> int:
    texts: Iterable[str] = (one.title, *(entry.text for entry in one.entries))
    return max(columns(clip(text, WIDEST)) for text in texts)


def _table(sheet: Sequence[tuple[Column, int]]) -> Iterator[Line]:
    titles = [(one, width, Entry(one.title, "dim")) for one, width in sheet]
    yield _row(titles)
    for place in range(len(sheet[0][0].entries)):
        yield _row([(one, width, one.entries[place]) for one, width in sheet])


def _row(cells: Sequence[tuple[Column, int, Entry]]) -> Line:
    pieces = [Piece(" " * _INDENT)]
    for place, (one, width, entry) in enumerate(cells):
        text = clip(entry.text, width)
        if one.is_number or place < len(cells) - 1:  # no blanks at the end of a line
            text = _filled(text, width, on_the_left=one.is_number)
        pieces += [Piece(" " * _GAP)] if place else []
        pieces.append(Piece(text, entry.tone))
    return tuple(pieces)
