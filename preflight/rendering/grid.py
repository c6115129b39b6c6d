"""The path as a grid of stages and devices, a block for every node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from preflight.records import Check, Device, Record, Status
from preflight.rendering.findings import StageRow, reason_of, stage_rows, worst_check
from preflight.rendering.wording import GLYPHS, LABELS

_MOST_COLUMNS = 16
_FEW = 2

Anchors = Mapping[int, str]
"""``id()`` of a check to the anchor of its details."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """The worst of the checks that meet in a place of the grid."""

    status: Status | None
    """None where no check was meant for this place."""
    glyph: str
    label: str
    """The whole cell in words, for a screen reader and as a tooltip."""
    text: str = ""
    href: str = ""
    span: int = 1
    whole: bool = False
    """Whether it is the only cell of its row."""


@dataclass(frozen=True, kw_only=True)
class GridRow:
    """A stage; one with checks on devices and on the whole has a second row for the latter."""

    name: str
    again: bool
    """Whether this is the stage's second row."""
    cells: tuple[Cell, ...]


@dataclass(frozen=True, kw_only=True)
class Block:
    """Devices side by side."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[GridRow, ...]


def blocks(record: Record, anchors: Anchors) -> tuple[Block, ...]:
    """The grid: a block a node (of 16 devices at most), and one for what spans all nodes."""
    stages = stage_rows(record)
    several = len(record.nodes) > 1
    found = []
    for node in dict.fromkeys([*(n.name for n in record.nodes), *(d.node for d in record.devices)]):
        devices = [d for d in record.devices if d.node == node]
        mine: set[str | None] = {node} if several else {node, None, *_unknown_nodes(record)}
        for first in range(0, max(1, len(devices)), _MOST_COLUMNS):
            part = devices[first : first + _MOST_COLUMNS]
            rows = _rows(stages, part, {d.name for d in devices}, mine, anchors)
            found.append(_block(node if several or first else "", part, rows))
    if several or not found:
        rows = _rows(stages, [], set(), {None, *_unknown_nodes(record)}, anchors)
        found.append(_block("all nodes" if several else "", [], rows))
    return tuple(block for block in found if block.rows)


def _unknown_nodes(record: Record) -> set[str | None]:
    """Nodes that only checks name: their rows must not get lost."""
    known = {n.name for n in record.nodes} | {d.node for d in record.devices}
    return {check.node for check in record.checks} - known


def _block(caption: str, devices: Sequence[Device], rows: tuple[GridRow, ...]) -> Block:
    return Block(caption=caption, columns=tuple(d.name for d in devices), rows=rows)


def _rows(
    stages: Sequence[StageRow],
    devices: Sequence[Device],
    known: set[str],
    nodes: set[str | None],
    anchors: Anchors,
) -> tuple[GridRow, ...]:
    rows = []
    names = {device.name for device in devices}
    for stage in stages:
        here = [check for check in stage.checks if check.node in nodes]
        single = [check for check in here if check.device in names]
        whole = [check for check in here if check.device not in known]
        if single:
            cells = tuple(_cell(stage.name, d.name, single, anchors, len(devices)) for d in devices)
            rows.append(GridRow(name=stage.name, again=False, cells=cells))
        if whole:
            cell = _wide(stage.name, whole, max(1, len(devices)), anchors)
            rows.append(GridRow(name=stage.name, again=bool(single), cells=(cell,)))
    return tuple(rows)


def _cell(stage: str, device: str, checks: Sequence[Check], anchors: Anchors, columns: int) -> Cell:
    """A device's cell; where there are few devices, with the reason in it."""
    mine = [check for check in checks if check.device == device]
    if not mine:
        return Cell(status=None, glyph="·", label=f"{stage}, {device}: no check here")
    check = worst_check(mine)
    return Cell(
        status=check.status,
        glyph=GLYPHS[check.status],
        label=f"{stage}, {device}: {_words(check)}",
        text=reason_of(check) if columns <= _FEW else "",
        href=anchors[id(check)],
        whole=columns == 1,
    )


def _wide(stage: str, checks: Sequence[Check], span: int, anchors: Anchors) -> Cell:
    check = worst_check(checks)
    text = reason_of(check) or (f"{len(checks)} checks" if len(checks) > 1 else check.title)
    return Cell(
        status=check.status,
        glyph=GLYPHS[check.status],
        label=f"{stage}: {_words(check)}",
        text=f"{check.device}: {text}" if check.device else text,
        href=anchors[id(check)],
        span=span,
        whole=True,
    )


def _words(check: Check) -> str:
    reason = reason_of(check)
    return f"{LABELS[check.status]}, {reason}" if reason else LABELS[check.status]
