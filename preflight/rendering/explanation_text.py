"""What a pasted text proves, as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from preflight.compat.dumps.facts import Facts
from preflight.compat.dumps.judging import CANNOT_TELL, NOT_REACHED, Answer, Cause
from preflight.rendering.escaping import clip
from preflight.rendering.text import Line, Piece, wrapped

_NAME = 12
_STATUS = 9
_MOST_QUOTES = 3


def explanation_lines(
    stages: Mapping[str, Answer],
    cause: Cause | None,
    quotes: Mapping[int, str],
    facts: Facts,
    *,
    width: int,
) -> tuple[Line, ...]:
    """What was read, an entry for each stage, and the first cause; lines have ``width`` columns."""
    told = {name: one for name, one in stages.items() if one.status != "unknown" or one.lines}
    blocked = [n for n, one in stages.items() if one.reason.startswith(NOT_REACHED)]
    silent = [name for name in stages if name not in told and name not in blocked]
    lines: list[Line] = [(Piece(clip(_read(facts), width), "strong"),), ()]
    for name, answer in told.items():
        lines += _stage(name, answer, quotes, width)
    if blocked:
        lines += _unknown(f"{stages[blocked[0]].reason}:", ", ".join(blocked), width)
    for name in silent:
        lines += _unknown(f"{CANNOT_TELL}; what can:", stages[name].action, width, name)
    lines.append(())
    lines += _conclusion(cause, stages, width)
    return tuple(lines)


def _read(facts: Facts) -> str:
    """``read: torch 2.6.0+cu126, CUDA 12.6, driver 570.124.04, 2 cards``."""
    values = facts.summary()
    parts = [f"{key} {values[key]}" for key in ("torch", "cuda", "hip", "driver") if values[key]]
    if values["gpus"]:
        names = {gpu["name"] for gpu in values["gpus"]}
        parts.append(f"{len(values['gpus'])} x {' / '.join(sorted(names))}")
    if facts.collectives.lines:
        parts.append(f"{facts.collectives.lines} lines of NCCL or RCCL")
    return "read: " + (", ".join(parts) or "no version and no card")


def _stage(name: str, answer: Answer, quotes: Mapping[int, str], width: int) -> Iterator[Line]:
    head = (Piece(f"  {name:<{_NAME}}"), Piece(f"{answer.status:<{_STATUS}}", answer.status))
    room = width - 2 - _NAME - _STATUS
    first, *rest = wrapped(answer.reason, room, room, most=4)
    yield (*head, Piece(first))
    indent = " " * (2 + _NAME + _STATUS)
    for line in rest:
        yield (Piece(indent + line),)
    if answer.action and answer.status != "pass":
        for line in wrapped(f"do: {answer.action}", room, room, most=4):
            yield (Piece(indent + line, "strong" if answer.status == "fail" else ""),)
    if answer.status in ("warn", "fail"):
        for number in [line for line in answer.lines if line in quotes][:_MOST_QUOTES]:
            quote = clip(f"line {number}: {quotes[number]}", room)
            yield (Piece(indent + quote, "dim"),)


def _unknown(reason: str, text: str, width: int, name: str = "") -> Iterator[Line]:
    """A stage, or those behind a failure, that the text says nothing of."""
    head = (Piece(f"  {name:<{_NAME}}"), Piece(f"{'unknown':<{_STATUS}}", "unknown"))
    room = width - 2 - _NAME - _STATUS
    for index, line in enumerate(wrapped(f"{reason} {text}", room, room, most=3)):
        before = head if index == 0 else (Piece(" " * (2 + _NAME + _STATUS)),)
        yield (*before, Piece(line, "dim"))


def _entry(label: str, text: str, width: int, *, style: str = "") -> Iterator[Line]:
    room = width - 2 - _NAME
    for index, line in enumerate(wrapped(text, room, room, most=4)):
        mark = label if index == 0 else ""
        yield (Piece(f"  {mark:<{_NAME}}", "unknown" if mark else ""), Piece(line, style))


def _conclusion(cause: Cause | None, stages: Mapping[str, Answer], width: int) -> Iterator[Line]:
    if cause is not None:
        yield (Piece(f"first cause: {cause.stage}", "bad"),)
        yield from _entry("", cause.reason, width)
        yield from _entry("do", cause.action, width)
        return
    warned = [name for name, answer in stages.items() if answer.status == "warn"]
    passed = [name for name, answer in stages.items() if answer.status == "pass"]
    if warned:
        yield (Piece(f"no failure is proved; likely trouble: {', '.join(warned)}", "caution"),)
    elif passed:
        words = f"nothing in the text is wrong; it proves {', '.join(passed)} and no more"
        yield (Piece(clip(words, width), "good"),)
    else:
        yield (Piece("nothing can be told from this text", "unknown"),)
