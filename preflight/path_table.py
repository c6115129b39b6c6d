"""The path as text, for ``preflight list``."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from preflight.harness.contract import CheckSpec
from preflight.quantities import format_duration
from preflight.stages import STAGES, Stage

WIDTH = 96


def path_table(specs: Sequence[CheckSpec]) -> str:
    """Every stage with what it proves and blocks, and its checks with their deadlines."""
    return "\n".join(_section(stage, specs) for stage in STAGES)


def _section(stage: Stage, specs: Sequence[CheckSpec]) -> str:
    mine = [spec for spec in specs if spec.stage == stage.name]
    blocks = ", ".join(stage.blocks) if stage.blocks else "nothing"
    scope = {"host": "once", "device": "per device", "node": "once a node"}[stage.scope]
    lines = [f"{stage.name} ({scope}): {stage.proves}", f"    a failure blocks: {blocks}"]
    for spec in mine:
        notes = "" if spec.required else ", not required"
        head = f"    {spec.id:<26} "
        tail = f"{spec.title} [{format_duration(spec.deadline_s)}{notes}]"
        lines += textwrap.wrap(tail, WIDTH, initial_indent=head, subsequent_indent=" " * 31)
    return "\n".join(lines) + "\n"
