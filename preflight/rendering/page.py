"""What the HTML report shows, in the order in which it shows it; the templates only place it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from preflight.records import Check, Device, Record, Status
from preflight.rendering import constraints, wording
from preflight.rendering.compilation import Compilation, compilation
from preflight.rendering.curves import LineChart, line_charts
from preflight.rendering.findings import Problem, StageRow, in_path_order, problems, stage_rows
from preflight.rendering.findings import place as place_of
from preflight.rendering.grid import Block, blocks
from preflight.rendering.heatmaps import HeatMap, heat_maps
from preflight.rendering.machine_tables import NodeParts, nodes_of
from preflight.rendering.quantities import duration
from preflight.rendering.tables import MeasuredRow, measured_rows
from preflight.stages import BY_NAME

_OPEN_AT_FIRST = 6
_ALSO = 8


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A term and what is known of it."""

    term: str
    value: str
    note: str = ""
    wrong: bool = False
    """Whether a check of the order failed on it."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A problem with the way to its details."""

    problem: Problem
    anchor: str
    identity: str
    """What tells the device apart for its seller: UUID and PCI address."""


@dataclass(frozen=True, kw_only=True)
class Detail:
    """One check in full."""

    check: Check
    anchor: str
    where: str
    open: bool


@dataclass(frozen=True, kw_only=True)
class StageDetails:
    """The checks of one stage in full."""

    stage: StageRow
    proves: str
    details: tuple[Detail, ...]


@dataclass(frozen=True, kw_only=True)
class Page:
    """Everything on the page."""

    record: Record
    title: str
    word: str
    tone: wording.Tone
    sentences: tuple[str, ...]
    notices: tuple[str, ...]
    tally: str
    facts: tuple[Fact, ...]
    machine: tuple[tuple[str, str], ...]
    nodes: tuple[NodeParts, ...]
    """What is known of each machine; empty for a record that was written before there was any."""
    first: Finding | None
    also: tuple[Finding, ...]
    more: int
    """Findings beyond those listed."""
    grid: tuple[Block, ...]
    line_charts: tuple[LineChart, ...]
    heat_maps: tuple[HeatMap, ...]
    compilation: Compilation | None
    measured: tuple[MeasuredRow, ...]
    environment: tuple[tuple[str, str], ...]
    constraints: str
    constraints_file: str
    stages: tuple[StageDetails, ...]
    command: str
    anchors: Mapping[int, str]

    @property
    def lists_devices(self) -> bool:
        """Whether the devices need a table of their own: some node says no more of them."""
        told = {one.node for one in self.nodes}
        return not self.nodes or any(device.node not in told for device in self.record.devices)


def page_of(record: Record) -> Page:
    """The page of a record."""
    anchors = _anchors(record)
    findings = tuple(_finding(record, problem, anchors) for problem in problems(record))
    word = wording.WORDS[record.verdict.word]
    return Page(
        record=record,
        title=f"{word}: {wording.reference(record.order)} on {record.host.name}",
        word=word,
        tone=wording.TONES[record.verdict.word],
        sentences=wording.verdict_sentences(record),
        notices=wording.notices(record.run),
        tally=wording.tally(record),
        facts=_facts(record),
        machine=wording.machine(record.host),
        nodes=nodes_of(record),
        first=findings[0] if findings else None,
        also=findings[1 : 1 + _ALSO],
        more=max(0, len(findings) - 1 - _ALSO),
        grid=blocks(record, anchors),
        line_charts=line_charts(record),
        heat_maps=heat_maps(record),
        compilation=compilation(record),
        measured=measured_rows(record, anchors),
        environment=wording.environment(record.versions),
        constraints=constraints.render(record),
        constraints_file=constraints.file_name(record),
        stages=_details(record, anchors),
        command=shlex.join(record.run.argv),
        anchors=anchors,
    )


def _anchors(record: Record) -> dict[int, str]:
    """An anchor for each check: its id and place where they make a unique slug."""
    found: dict[int, str] = {}
    taken: set[str] = set()
    for index, check in enumerate(in_path_order(record)):
        words = " ".join(filter(None, (check.id, check.node, check.device)))
        slug = re.sub(r"[^a-z0-9.]+", "-", words[:120].lower()).strip("-")
        anchor = f"check-{slug}"
        if not slug or anchor in taken:
            anchor = f"{anchor}-{index}"
        taken.add(anchor)
        found[id(check)] = anchor
    return found


def _finding(record: Record, problem: Problem, anchors: Mapping[int, str]) -> Finding:
    check = problem.check
    device = next(
        (d for d in record.devices if d.name == check.device and check.node in (None, d.node)), None
    )
    alone = device is not None and len(problem.places) == 1
    return Finding(
        problem=problem,
        anchor=anchors[id(check)],
        identity=_identity(device) if alone and device is not None else "",
    )


def _identity(device: Device) -> str:
    return ", ".join(part for part in (device.product, device.uuid, device.pci) if part)


def _facts(record: Record) -> tuple[Fact, ...]:
    run, versions = record.run, record.versions
    failed = any(c.stage == "order" and c.status == "fail" for c in record.checks)
    runtime = [
        f"{term} {value}"
        for term, value in wording.environment(versions)
        if term in ("CUDA", "HIP", "NCCL", "Python")
    ]
    host = record.host
    below = (host.distribution, f"driver {versions.driver}" if versions.driver else None)
    bought = wording.bought(record.order)
    return (
        Fact(
            term="Order", value=wording.reference(record.order), note=wording.rented(record.order)
        ),
        Fact(term="Bought", value=bought or "not told"),
        Fact(term="Found", value=wording.found(record), wrong=failed),
        Fact(term="Host", value=host.name, note=", ".join(part for part in below if part)),
        Fact(
            term="Environment",
            value=f"torch {versions.torch}" if versions.torch else "no torch was seen",
            note=", ".join(runtime),
        ),
        Fact(
            term="Run",
            value=wording.moment(run.started),
            note=f"{run.level} level, {duration(run.duration_s)}",
        ),
    )


def _details(record: Record, anchors: Mapping[int, str]) -> tuple[StageDetails, ...]:
    opened = [c for c in in_path_order(record) if c.status in ("fail", "error")][:_OPEN_AT_FIRST]
    ids = {id(check) for check in opened}
    return tuple(
        StageDetails(
            stage=row,
            proves=BY_NAME[row.name].proves if row.name in BY_NAME else "",
            details=_stage_details(record, row.checks, anchors, ids),
        )
        for row in stage_rows(record)
    )


def _stage_details(
    record: Record, checks: Sequence[Check], anchors: Mapping[int, str], opened: set[int]
) -> tuple[Detail, ...]:
    return tuple(
        Detail(
            check=check,
            anchor=anchors[id(check)],
            where=place_of(record, check),
            open=id(check) in opened,
        )
        for check in checks
    )


STATUS_LEGEND: tuple[tuple[Status, str, str], ...] = tuple(
    (status, wording.GLYPHS[status], wording.LABELS[status])
    for status in ("pass", "warn", "fail", "error", "skip")
)
"""Status, glyph and word, for the key below the grid."""
