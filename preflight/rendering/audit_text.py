"""An audit as text: a table of packages and GPUs, findings, and the drivers that will do."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from preflight.compat.audit import Audit, AuditedPackage, Finding, Gpu
from preflight.compat.coverage import Word
from preflight.facts import known
from preflight.rendering.audit_columns import Column, blocks, columns_of
from preflight.rendering.escaping import clip, one_line

WIDTH = 100
MOST_NAME = 34
"""Columns for a package and its version."""
MOST_WARNINGS = 20
_LABEL = 8
"""Columns before what stands beside a label."""
_NOTE = (
    "in brackets: libraries of NVIDIA or AMD, which pick their code at run time, compile it, or "
    "keep it elsewhere; not judged"
)


def render(audit: Audit) -> str:
    """The audit in lines of at most 100 columns."""
    parts = [_head(audit), *_tables(audit), _without_code(audit)]
    parts += [_findings(audit), _floors(audit)]
    return "\n".join("\n".join(part) + "\n" for part in parts if part)


def _head(audit: Audit) -> list[str]:
    facts = [f"Python {audit.python}" if audit.python else "", f"torch {audit.torch}"]
    rest = "   ".join(fact for fact in facts if fact and not fact.endswith("None"))
    subject = clip(audit.subject, WIDTH - len(rest) - 3) if rest else clip(audit.subject, WIDTH)
    lines = [f"{subject}   {rest}".rstrip()]
    if audit.gpus_from == "catalogue":
        lines.append("no GPU was named and none is here: all architectures that preflight knows")
    return lines


def _tables(audit: Audit) -> list[list[str]]:
    rows = sorted(filter(_has_code, audit.packages), key=lambda package: not package.judged)
    if not rows:
        return [["no device code in any library"]]
    titles = [clip(f"{one.name} {one.version}".strip(), MOST_NAME) for one in rows]
    width = max(map(len, titles)) + 2
    columns = columns_of(audit.gpus, rows, WIDTH - width)
    found = []
    for block in blocks(columns, WIDTH - width):
        lines = [" " * width + "".join(f"{c.title:<{c.width}}" for c in block)]
        if any(c.subtitle for c in block):
            lines.append(" " * width + "".join(f"{c.subtitle:<{c.width}}" for c in block))
        for title, package in zip(titles, rows, strict=True):
            cells = "".join(f"{_cell(package, c):<{c.width}}" for c in block)
            lines.append(f"{title:<{width}}{cells}")
        found.append([line.rstrip() for line in lines])
    notes = [line for c in columns if c.legend for line in _labelled("", c.legend, 0)]
    if not all(package.judged for package in rows):
        notes += _wrapped(_NOTE)
    return [*found, notes]


def _has_code(package: AuditedPackage) -> bool:
    return any(word != "none" for word in package.covered.values())


def _cell(package: AuditedPackage, column: Column) -> str:
    word: Word = package.covered[column.gpus[0].name]
    return word if package.judged else f"({word})"


def _without_code(audit: Audit) -> list[str]:
    """Packages with libraries and no device code by name, those without libraries as a number."""
    without = [package for package in audit.packages if not _has_code(package)]
    names = [package.name for package in without if package.files]
    rest = len(without) - len(names)
    if rest:
        names.append(f"{rest} {'package' if rest == 1 else 'packages'} without libraries")
    return _labelled("no device code: ", ", ".join(map(one_line, names)), 2) if names else []


@dataclass(frozen=True)
class _Said:
    """A finding, all GPUs that it holds for, and what to do for each."""

    finding: Finding
    gpus: tuple[str, ...]
    action: str


def _findings(audit: Audit) -> list[str]:
    versions = {package.name: package.version for package in audit.packages}
    told = [one for one in _grouped(audit.findings) if one.finding.status != "skip"]
    warnings = [one for one in told if one.finding.status == "warn"]
    lines: list[str] = []
    for one in [one for one in told if one.finding.status != "warn"] + warnings[:MOST_WARNINGS]:
        lines += _finding(one, versions)
    if len(warnings) > MOST_WARNINGS:
        lines.append(f"and {len(warnings) - MOST_WARNINGS} more warnings, which --json lists")
    unsaid = sum(finding.status == "skip" for finding in audit.findings)
    if unsaid:
        lines += _wrapped(
            f"not judged: libraries that optional parts of the vendors' packages lack ({unsaid}, "
            "which --json lists)"
        )
    if not told and _has_any_code(audit):
        lines.insert(0, "nothing speaks against it")
    return lines


def _has_any_code(audit: Audit) -> bool:
    return any(map(_has_code, audit.packages)) and audit.gpus_from != "catalogue"


def _grouped(findings: Sequence[Finding]) -> Iterator[_Said]:
    groups: dict[tuple[str, ...], list[Finding]] = {}
    for one in findings:
        groups.setdefault((one.status, one.package, one.file, one.reason), []).append(one)
    for same in groups.values():
        gpus = tuple(dict.fromkeys(one.gpu for one in same if one.gpu))
        yield _Said(same[0], gpus, _actions(same))


def _actions(same: Sequence[Finding]) -> str:
    """What to do, for each GPU where that differs."""
    gpus: dict[str, list[str]] = {}
    for one in same:
        gpus.setdefault(one.action, []).append(one.gpu)
    if len(gpus) == 1:
        return same[0].action
    return "; ".join(f"{', '.join(names)}: {action}" for action, names in gpus.items())


def _finding(one: _Said, versions: dict[str, str]) -> list[str]:
    finding = one.finding
    where = [finding.package, versions.get(finding.package, "")]
    if one.gpus:
        where.append(f"on {', '.join(one.gpus)}")
    if finding.file and finding.file.rpartition("/")[2] not in finding.reason:
        where.append(f"({finding.file})")
    place = " ".join(part for part in where if part)
    text = f"{place}: {finding.reason}" if place else finding.reason
    lines = _labelled(finding.status, text, _LABEL)
    return lines + (_labelled("  do", one.action, _LABEL) if one.action else [])


def _floors(audit: Audit) -> list[str]:
    lines: list[str] = []
    label = "driver"
    for names, text in _floor_texts(audit):
        lines += _labelled(label, f"{names}: {text}", _LABEL)
        label = ""
    if audit.glibc_floor:
        here = known(audit.glibc)
        lines += _labelled(
            "glibc",
            f"{audit.glibc_floor} or newer ({audit.glibc_floor_because})"
            + (f"; {here} is here" if here else ""),
            _LABEL,
        )
    return lines


def _floor_texts(audit: Audit) -> Iterator[tuple[str, str]]:
    """GPUs with the same floor for the same reason stand together."""
    groups: dict[str, list[str]] = {}
    for gpu in audit.gpus:
        groups.setdefault(_floor(audit, gpu), []).append(gpu.name)
    for text, names in groups.items():
        yield ", ".join(map(one_line, names)), text


def _floor(audit: Audit, gpu: Gpu) -> str:
    version = audit.driver_floor.get(gpu.name)
    if version is None:
        return "no floor is known" + (" for AMD's driver" if gpu.kind == "hip" else "")
    return f"{version} or newer: {audit.driver_floor_because[gpu.name]}"


def _labelled(label: str, text: str, indent: int) -> list[str]:
    first = f"{label:<{indent}}" if indent else label
    return _wrapped(one_line(text), first, " " * max(indent, 2))


def _wrapped(text: str, first: str = "", later: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=later, break_on_hyphens=False
    )
