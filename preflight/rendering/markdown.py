"""``summary.md``: the page that a CI job shows, in GitHub's Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from preflight.records import Check, Record
from preflight.rendering import wording
from preflight.rendering.escaping import last_part, one_line, shorten, visible
from preflight.rendering.findings import Problem, problems, reason_of, spokesman, stage_rows
from preflight.rendering.findings import place as place_of
from preflight.rendering.machine_tables import machines_in_short
from preflight.rendering.quantities import duration

_MOST_PROBLEMS = 10
_CELL = 300
_SENTENCE = 2000
_EVIDENCE = 3000

_PUNCTUATION = re.compile(r"([\\`*_\[\]!|~$])")
# What Markdown reads as a list, a heading or a rule where a paragraph begins.
_AT_LINE_START = re.compile(r"\d+(?=[.)](\s|$))|(?=[-+](\s|$|-))|(?=[#=])")


def render(record: Record) -> str:
    """Verdict, stages, what to do first, the other findings, the order and the versions."""
    blocks = [
        _verdict(record),
        _facts(record),
        _stages(record),
        _first(record),
        _others(record),
        _versions(record),
        _footer(record),
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def escaped(text: str, limit: int = _SENTENCE) -> str:
    """Text as Markdown that shows just its characters: no markup, no HTML, one line."""
    line = shorten(one_line(text), limit)
    start = _AT_LINE_START.match(line)
    if start is None:
        return _inline(line)
    return f"{_inline(line[: start.end()])}\\{_inline(line[start.end() :])}"


def _inline(line: str) -> str:
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _PUNCTUATION.sub(r"\\\1", line)


def prose(text: str) -> str:
    """Text as Markdown in which only words between single backticks are code, as checks write."""
    parts = shorten(one_line(text), _SENTENCE).split("`")
    if len(parts) % 2 == 0 or "" in parts[1::2]:
        return escaped(text)
    return "".join(f"`{part}`" if index % 2 else _inline(part) for index, part in enumerate(parts))


def fenced(text: str) -> str:
    """A code block whose fence is longer than any run of backticks inside."""
    safe = visible(last_part(text, _EVIDENCE)).rstrip()
    longest = max((len(run) for run in re.findall("`+", safe)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{safe}\n{fence}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are already escaped."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _verdict(record: Record) -> str:
    title = (
        f"# {wording.WORDS[record.verdict.word]}: {escaped(wording.reference(record.order), 200)}"
    )
    sentences = wording.verdict_sentences(record)
    lines = [title, *(f"**{escaped(notice)}**" for notice in wording.notices(record.run))]
    lines.append(escaped(sentences[0]))
    return "\n\n".join(lines)


def _facts(record: Record) -> str:
    run, order = record.run, record.order
    rows = [
        ("Bought", wording.bought(order) or "not told"),
        ("Found", wording.found(record)),
        *machines_in_short(record),
        ("Rented", wording.rented(order)),
        ("Host", record.host.name),
        ("Run", f"{wording.moment(run.started)}, {run.level}, {duration(run.duration_s)}"),
        ("Checks", wording.tally(record)),
    ]
    cells = [(term, escaped(value, _CELL)) for term, value in rows if value]
    return _table(("", ""), cells)


def _stages(record: Record) -> str:
    rows = []
    for row in stage_rows(record):
        check = spokesman(row)
        fact = "" if check is None else _fact(record, check)
        label = f"{wording.GLYPHS[row.status]} {wording.LABELS[row.status]}"
        seconds = "" if row.duration_s is None else duration(row.duration_s)
        rows.append((escaped(row.name, 60), label, escaped(fact, _CELL), seconds))
    return "## The path\n\n" + _table(("stage", "result", "", "time"), rows) if rows else ""


def _fact(record: Record, check: Check) -> str:
    where, reason = place_of(record, check), reason_of(check)
    if not where or check.status in ("pass", "skip"):
        return reason
    return f"{where}: {reason}"


def _first(record: Record) -> str:
    found = problems(record)
    if not found:
        return ""
    check = found[0].check
    lines = ["## What to do first", _headline(found[0])]
    if check.action:
        lines.append(f"**Do:** {prose(check.action)}")
    if check.evidence.strip():
        lines.append(fenced(check.evidence))
    return "\n\n".join(lines)


def _headline(problem: Problem) -> str:
    check = problem.check
    where = f" on **{escaped(problem.where, _CELL)}**" if problem.places else ""
    name = f"**{escaped(check.id, 120)}** {wording.LABELS[check.status]}{where}"
    return f"{name}: {escaped(reason_of(check))}"


def _others(record: Record) -> str:
    others = problems(record)[1:]
    if not others:
        return ""
    lines = [f"- {_headline(problem)}" for problem in others[:_MOST_PROBLEMS]]
    if len(others) > _MOST_PROBLEMS:
        lines.append(f"- and {len(others) - _MOST_PROBLEMS} more, in the report")
    return "## Also found\n\n" + "\n".join(lines)


def _versions(record: Record) -> str:
    rows = [(term, escaped(value, 120)) for term, value in wording.environment(record.versions)]
    return "## Versions\n\n" + _table(("", ""), rows) if rows else ""


def _footer(record: Record) -> str:
    run = record.run
    parts = (f"preflight {run.tool_version}", record.schema, run.id)
    return "<sub>" + ", ".join(escaped(part, 200) for part in parts) + "</sub>"
