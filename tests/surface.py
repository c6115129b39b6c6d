"""What scripts rely on: commands with their flags, stages, check ids and the files of a run.

``python tests/surface.py > tests/data/surface.json`` after a deliberate change, which also has a
line in CHANGELOG.md.
"""

from __future__ import annotations

import json
from typing import Any

import click

from preflight.cli import program
from preflight.folders import checks_folder
from preflight.harness.listing import list_checks
from preflight.rendering.protocol import FILES
from preflight.stages import STAGE_NAMES


def surface() -> dict[str, Any]:
    """The surface as the code has it."""
    return {
        "commands": {name: parameters(program.commands[name]) for name in sorted(program.commands)},
        "stages": list(STAGE_NAMES),
        "checks": [spec.id for spec in list_checks([checks_folder()])],
        "files": sorted(FILES.values()),
    }


def parameters(command: click.Command) -> dict[str, list[str] | None]:
    """Flags and arguments of a command, with the words that they take where these are fixed."""
    return {
        ", ".join(p.opts): list(p.type.choices) if isinstance(p.type, click.Choice) else None
        for p in sorted(command.params, key=lambda p: p.opts)
    }


if __name__ == "__main__":
    print(json.dumps(surface(), indent=1))
