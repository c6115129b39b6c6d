"""Columns of an audit's table: one for each architecture, fewer where they do not fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from preflight.compat.audit import AuditedPackage, Gpu
from preflight.rendering.escaping import clip

LEAST_WIDTH = 9
"""``(partly)`` and a blank."""
MOST_TITLE = 18


@dataclass(frozen=True, kw_only=True)
class Column:
    """GPUs for which every package has the same word."""

    gpus: tuple[Gpu, ...]
    title: str
    subtitle: str = ""
    legend: str = ""
    """What the title leaves out."""

    @property
    def width(self) -> int:
        """Columns of the terminal, a blank to the next one included."""
        return max(LEAST_WIDTH, len(self.title) + 2, len(self.subtitle) + 2)


def columns_of(
    gpus: Sequence[Gpu], packages: Sequence[AuditedPackage], room: int
) -> tuple[Column, ...]:
    """A column for each architecture; where they need more than ``room``, equal ones as one."""
    by_architecture: dict[str, list[Gpu]] = {}
    for gpu in gpus:
        by_architecture.setdefault(gpu.architecture, []).append(gpu)
    columns = [_column(mine) for mine in by_architecture.values()]
    if sum(column.width for column in columns) <= room:
        return tuple(columns)
    return tuple(_merged(columns, packages))


def _column(gpus: Sequence[Gpu]) -> Column:
    names = ", ".join(gpu.name for gpu in gpus)
    architecture = gpus[0].architecture
    if names == architecture:
        return Column(gpus=tuple(gpus), title=architecture)
    title = clip(names, MOST_TITLE)
    return Column(
        gpus=tuple(gpus),
        title=title,
        subtitle=architecture,
        legend="" if title == names else f"{architecture}: {names}",
    )


def _merged(columns: Sequence[Column], packages: Sequence[AuditedPackage]) -> Iterator[Column]:
    equal: dict[tuple[str, ...], list[Column]] = {}
    for column in columns:
        gpu = column.gpus[0]
        words = tuple(package.covered[gpu.name] for package in packages)
        equal.setdefault((gpu.kind, *words), []).append(column)
    for same in equal.values():
        first, more = same[0], same[1:]
        if not more:
            yield first
            continue
        gpus = tuple(gpu for column in same for gpu in column.gpus)
        title = f"{first.gpus[0].architecture} +{len(more)}"
        names = ", ".join(dict.fromkeys(_called(gpu) for gpu in gpus))
        yield replace(first, gpus=gpus, title=title, subtitle="", legend=f"{title}: {names}")


def _called(gpu: Gpu) -> str:
    if gpu.name == gpu.architecture:
        return gpu.name
    return f"{gpu.name} ({gpu.architecture})"


def blocks(columns: Sequence[Column], room: int) -> Iterator[tuple[Column, ...]]:
    """Columns in tables that fit ``room``, one below the other."""
    block: list[Column] = []
    for column in columns:
        if block and sum(one.width for one in block) + column.width > room:
            yield tuple(block)
            block = []
        block.append(column)
    if block:
        yield tuple(block)
