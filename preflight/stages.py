"""The ordered path: stages, what each proves, and what a failure in it blocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Phase = Literal["host", "devices", "compare", "node"]
PHASES: tuple[Phase, ...] = ("host", "devices", "compare", "node")


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One step of the path."""

    name: str
    """Lower-case word used in check ids, flags and the record: ``kernel``."""
    scope: Literal["host", "device", "node"]
    """What one result of the stage speaks of."""
    phase: Phase
    """The pytest session that runs it."""
    proves: str
    """One sentence for ``preflight list`` and the report."""
    blocks: tuple[str, ...] = ()
    """Stages that are skipped when a gating check of this one fails or errors."""


STAGES: tuple[Stage, ...] = (
    Stage(
        name="order",
        scope="host",
        phase="host",
        proves="count, product, memory and link of the cards are as bought",
    ),
    Stage(
        name="driver",
        scope="device",
        phase="host",
        proves="a driver is there that can serve this torch",
        blocks=("kernel",),
    ),
    Stage(
        name="system",
        scope="host",
        phase="host",
        proves="cards, links and host are healthy, and let the later stages run",
    ),
    Stage(
        name="arch",
        scope="device",
        phase="host",
        proves="torch's own build has code for this device",
    ),
    Stage(
        name="import",
        scope="node",
        phase="host",
        proves="torch, numpy and each extension of the plan import in a fresh process",
        blocks=("kernel",),
    ),
    Stage(
        name="kernel",
        scope="device",
        phase="devices",
        proves="the first kernel launches and its numbers are right, per dtype",
        blocks=("forward", "collective", "strategy", "checkpoint"),
    ),
    Stage(
        name="forward",
        scope="device",
        phase="devices",
        proves="a transformer and a convolution agree with float64",
        blocks=("backward",),
    ),
    Stage(
        name="backward",
        scope="device",
        phase="devices",
        proves="gradients agree with float64 and an optimizer step lowers the loss",
        blocks=("compile",),
    ),
    Stage(
        name="compile",
        scope="device",
        phase="devices",
        proves="torch.compile works; compilation is told apart from the steady step",
    ),
    Stage(
        name="collective",
        scope="node",
        phase="node",
        proves="every collective gives exact values; bandwidth by size",
        blocks=("strategy", "checkpoint"),
    ),
    Stage(
        name="strategy",
        scope="node",
        phase="node",
        proves="the sharded layouts train a small model like one process",
    ),
    Stage(
        name="checkpoint",
        scope="node",
        phase="node",
        proves="a checkpoint is written, restored in fresh processes, and continues",
    ),
    Stage(
        name="soak",
        scope="node",
        phase="node",
        proves="load for a stated time (reserved: it comes in a later version)",
    ),
)

STAGE_NAMES: tuple[str, ...] = tuple(stage.name for stage in STAGES)
BY_NAME: dict[str, Stage] = {stage.name: stage for stage in STAGES}

STATIC_STAGES = ("order", "driver", "system", "arch")
"""Stages that judge facts and run nothing of the user's; a simulation brings its own facts."""
COLLECTION = "checks"
"""Stage of results that speak of a check file which could not be collected."""


def position_of(stage: str) -> int:
    """Place of a stage on the path, from 0; what is not on it comes last."""
    return STAGE_NAMES.index(stage) if stage in BY_NAME else len(STAGE_NAMES)
