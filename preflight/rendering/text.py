"""The summary at the end of a run: one screen of a terminal, without colour codes.

``summary`` gives the lines in pieces with a style name each, for a command that colours them.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from preflight.records import Check, Record, Status
from preflight.rendering import wording
from preflight.rendering.escaping import clip, columns, one_line
from preflight.rendering.findings import (
    Problem,
    StageRow,
    place,
    problems,
    reason_of,
    spokesman,
    stage_rows,
    worst_check,
)
from preflight.rendering.quantities import SPACE

WIDTH = 100
NARROWEST = 60
"""Columns below which the columns of a stage's line have no room."""
HEIGHT = 24

_MOST_STAGES = 13
_MOST_MARKS = 16
_INDENT = 12
"""Columns before the text of a labelled line."""
_OF_CPP = re.compile(r"frame #\d+|Exception raised from |<omitting python frames>")
"""How the lines of a C++ stack begin that torch puts below its message."""
_LAST_REMARK = re.compile(r" \([^()]*\)$")


@dataclass(frozen=True)
class Piece:
    """Part of a line: safe text, and its style (a status, a tone, ``dim``, ``strong`` or none)."""

    text: str
    style: str = ""


Line = tuple[Piece, ...]


def render(record: Record) -> str:
    """The summary as plain text, at most 24 lines of at most 100 columns."""
    return plain(summary(record))


def plain(lines: Sequence[Line]) -> str:
    """Lines without their styles, with a final newline."""
    return "".join("".join(piece.text for piece in line).rstrip() + "\n" for line in lines)


def summary(
    record: Record, *, report: str = "", trouble: str = "", width: int = WIDTH
) -> tuple[Line, ...]:
    """The summary in styled pieces, in lines of at most ``width`` columns, 60 or more.

    ``report`` is the path of the report, shown whole whatever its length, as it is to be copied;
    ``trouble`` says what kept outputs from being written.
    """
    width = max(width, NARROWEST)
    lines = [_header(record, width), *_stages(record, width), (), *_verdict(record, width)]
    room = HEIGHT - len(lines) - bool(report)
    lines += _labelled("trouble", " ".join(trouble.split()), width, most=2 if room > 1 else 1)
    if report:
        lines.append((Piece("  report    ", "dim"), Piece(one_line(report))))
    return tuple(lines)


def stage_lines(record: Record, *, width: int = WIDTH) -> tuple[Line, ...]:
    """One line a stage, for a progress display that prints them as they come."""
    marks, width = _marks_width(record), max(width, NARROWEST)
    return tuple(_stage(record, row, marks, width) for row in stage_rows(record))


def _header(record: Record, width: int) -> Line:
    run = record.run
    parts = [
        f"preflight {clip(run.tool_version, 20)}",
        clip(wording.reference(record.order), 30),
        clip(wording.devices_in_short(record), 32),
        run.level,
    ]
    # The note stays whole where the rest is cut: without it a rehearsal looks like a run.
    note = clip(wording.flags(run), 36)
    note = f"   {note}" if note else ""
    clock = _clock(run.duration_s)
    room = width - columns(clock) - 3
    left = clip("   ".join(parts), room - columns(note)) + note
    gap = " " * (width - columns(left) - columns(clock))
    return (Piece(left, "strong"), Piece(gap), Piece(clock, "dim"))


def _clock(seconds: float | None) -> str:
    if seconds is None:
        return "unfinished"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes:02d}:{rest:02d}"


def _stages(record: Record, width: int) -> list[Line]:
    lines = list(stage_lines(record, width=width))
    if len(lines) <= _MOST_STAGES:
        return lines
    left = len(lines) - _MOST_STAGES + 1
    return [*lines[: _MOST_STAGES - 1], (Piece(f"  and {left} more stages", "dim"),)]


def _marks_width(record: Record) -> int:
    count = len(record.devices)
    return 0 if count < 2 else min(count, _MOST_MARKS)


def _stage(record: Record, row: StageRow, marks: int, width: int) -> Line:
    seconds = "" if row.duration_s is None else clip(f"{row.duration_s:.1f} s", 10)
    head = [
        Piece(f"  {_padded(row.name, 11)}"),
        Piece(_padded(wording.SHORT[row.status], 6), row.status),
    ]
    if marks:
        head.append(Piece(f"{_marks(record, row):<{marks}}  ", row.status))
    used = sum(columns(piece.text) for piece in head)
    room = width - used - 11
    fact = clip(_fact(record, row), room)
    gap = " " * (width - used - columns(fact) - len(seconds))
    style = "" if row.status in ("fail", "error", "warn") else "dim"
    return (*head, Piece(fact, style), Piece(gap), Piece(seconds, "dim"))


def _padded(text: str, width: int) -> str:
    """Text clipped to one column less than ``width`` and filled up to it."""
    short = clip(text, width - 1)
    return short + " " * (width - columns(short))


def _marks(record: Record, row: StageRow) -> str:
    """One sign a device in the record's order; with many devices, how many passed."""
    if not any(check.device for check in row.checks):
        return ""
    statuses = [_status_on(row.checks, d.node, d.name) for d in record.devices]
    if len(statuses) <= _MOST_MARKS:
        return "".join(" " if status is None else wording.MARKS[status] for status in statuses)
    good = sum(status in ("pass", "warn") for status in statuses)
    return f"{good} of {len(statuses)}"


def _status_on(checks: Sequence[Check], node: str, device: str) -> Status | None:
    mine = [c for c in checks if c.device == device and c.node in (None, node)]
    return worst_check(mine).status if mine else None


def _fact(record: Record, row: StageRow) -> str:
    check = spokesman(row)
    if check is None:
        return ""
    where, reason = place(record, check), reason_of(check)
    if not where or check.status in ("pass", "skip") or reason.startswith(where):
        return reason
    return f"{where}: {reason}"


def _verdict(record: Record, width: int) -> list[Line]:
    word = wording.WORDS[record.verdict.word]
    tone = wording.TONES[record.verdict.word]
    sentence = wording.verdict_sentences(record)[0]
    first, *rest = wrapped(sentence, width - len(word) - 3, width - _INDENT, most=2)
    lines: list[Line] = [(Piece(word, tone), Piece(f"   {first}", "strong"))]
    lines += [(Piece(f"            {line}", "strong"),) for line in rest]
    found = problems(record)
    if found:
        lines += _labelled("do", found[0].check.action, width, most=3)
        lines += _labelled("because", _because(found[0].check, sentence), width, most=1)
        lines += _labelled("also", _also(found[1:], width - _INDENT), width, most=1)
    return lines


def _because(check: Check, sentence: str) -> str:
    """The reason, else the last line of evidence; empty where the verdict says the same already."""
    said = " ".join(sentence.split())
    if check.reason and " ".join(check.reason.split()) not in said:
        return check.reason
    lines = [line.strip() for line in check.evidence[-20_000:].splitlines()]
    told = [line for line in lines if line and not _OF_CPP.match(line)]
    if not told:
        return ""
    core = _LAST_REMARK.sub("", " ".join(told[-1].split()))
    return "" if core in said else told[-1]


def _also(others: Sequence[Problem], width: int) -> str:
    if not others:
        return ""
    check = others[0].check
    where = f" on {others[0].where}" if others[0].where else ""
    more = f" (and {len(others) - 1} more)" if len(others) > 1 else ""
    return clip(f"{check.id}{where}: {reason_of(check)}", width - len(more)) + more


def _labelled(label: str, text: str, width: int, *, most: int) -> list[Line]:
    if not text.strip():
        return []
    first, *rest = wrapped(text, width - _INDENT, width - _INDENT, most=most)
    lines: list[Line] = [(Piece(f"  {label:<10}", "dim"), Piece(first))]
    return lines + [(Piece(f"            {line}"),) for line in rest]


def wrapped(text: str, first: int, later: int, *, most: int) -> list[str]:
    """Safe text in at most ``most`` lines, the first of ``first`` columns, others of ``later``."""
    room = first + later * (most - 1)
    safe = one_line(text[: 2 * room])
    if columns(safe) != len(safe):  # Wide or combining characters: textwrap counts them wrongly.
        return [clip(text, first)]
    lines = textwrap.wrap(safe, later, initial_indent=" " * (later - first) if most > 1 else "")
    if len(lines) > most:
        lines = [
            *lines[: most - 1],
            clip(" ".join(lines[most - 1 :]), later if most > 1 else first),
        ]
    lines = [line.strip(" ") for line in lines] or [""]
    return [line.replace(SPACE, " ") for line in lines]
