"""The path as text, for ``preflight list``."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from preflight.harness.contract import CheckSpec
from preflight.stages import STAGES, Stage

WIDTH = 96


def path_table(specs: Sequence[CheckSpec]) -> str:
    """Every stage with what it proves and blocks, and its checks with their deadlines."""
    return "\n".join(_section(stage, specs) for stage in STAGES)


def _section(stage: Stage, specs: Sequence[CheckSpec]) -> str:
    mine = [spec for spec in specs if spec.stage == stage.name]
    blocks = ", ".join(stage.blocks) if stage.blocks else "nothing"
    scope = {"host": "once", "device": "per device", "node": "once a node"}[stage.scope]
    lines = [f"{stage.name} ({scope}): {stage.proves}", f"  a failure blocks: {blocks}"]
    for spec in mine:
        title = spec.title if spec.required else f"{spec.title} (not required)"
        head = f"  {spec.id:<26} {spec.deadline_s:>4.0f} s  "
        lines += textwrap.wrap(title, WIDTH, initial_indent=head, subsequent_indent=" " * len(head))
    return "\n".join(lines) + "\n"
