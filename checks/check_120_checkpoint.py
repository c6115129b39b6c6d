"""Stage checkpoint: written, restored in fresh processes, continued with the same losses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from preflight.harness import CannotLook, Result, Situation, at_most

STEPS = 3
"""Before the checkpoint, and again after it."""
WROTE = "wrote.json"
FAILED = (
    "do not start the campaign: a checkpoint written here is not one to come back to; the evidence "
    "names the rank and the file"
)


@pytest.mark.check(id="checkpoint.write", stage="checkpoint", deadline="180s")
def check_write(ranks: Any, result: Result, situation: Situation, checkpoint_folder: Path) -> None:
    """All ranks write one sharded checkpoint, and train on."""
    result.advise(FAILED)
    answers = ranks("checkpoints.write", **_asked(checkpoint_folder, situation))
    first = answers[0]
    (checkpoint_folder / WROTE).write_text(json.dumps(first), encoding="utf-8")
    _measure_throughput(result, "written", answers)
    _judge_losses(result, first, answers, share=1)
    result.attach(f"{first['files']} files below {checkpoint_folder}")
    result.note(f"{first['layout']}, {len(answers)} ranks, {first['bytes'] / 1e6:.2f} MB")


@pytest.mark.check(
    id="checkpoint.restore", stage="checkpoint", deadline="180s", needs=("checkpoint.write",)
)
def check_restore(
    ranks: Any, result: Result, situation: Situation, checkpoint_folder: Path
) -> None:
    """Fresh processes restore it and continue with the same losses."""
    _restore(ranks, ranks.count, result, situation, checkpoint_folder)


@pytest.mark.check(
    id="checkpoint.reshard", stage="checkpoint", deadline="180s", needs=("checkpoint.write",)
)
def check_reshard(
    ranks: Any, result: Result, situation: Situation, checkpoint_folder: Path
) -> None:
    """Another number of ranks restores it and continues with the same losses."""
    if ranks.count == 1:
        result.skip("one rank has no smaller number of ranks")
    _restore(ranks, ranks.count // 2, result, situation, checkpoint_folder)


def _asked(folder: Path, situation: Situation) -> dict[str, Any]:
    return {
        "folder": str(folder / "state"),
        "seed": situation.options.seed,
        "steps": STEPS,
        "more_steps": STEPS,
    }


def _restore(ranks: Any, count: int, result: Result, situation: Situation, folder: Path) -> None:
    result.advise(FAILED)
    try:
        wrote = json.loads((folder / WROTE).read_text(encoding="utf-8"))
    except OSError as error:
        raise CannotLook(f"what was written is not known: {error}") from error
    answers = ranks.afresh("checkpoints.restore", count=count, **_asked(folder, situation))
    _measure_throughput(result, "read", answers)
    _judge_losses(result, wrote, answers, share=2)
    steps = sorted({answer["step"] for answer in answers})
    if steps != [wrote["step"]]:
        result.fail(f"the checkpoint is of step {wrote['step']}, restored as {steps}")
    same = all(answer["losses"] == wrote["losses"] for answer in answers)
    equal = "equal to the bit" if same else "equal within the bound"
    result.note(f"{wrote['world']} to {count} ranks, {STEPS} losses {equal}")


def _judge_losses(
    result: Result, wrote: dict[str, Any], answers: list[dict[str, Any]], *, share: int
) -> None:
    """Compare every rank's losses after the checkpoint; ``share`` bounds apart at most.

    Just after writing they are held against one process that never stopped, after a restore
    against those of the ranks that wrote.
    """
    expected = wrote["reference_losses" if share == 1 else "losses"]
    ratios: list[float] = []
    infinite: list[int] = []
    for rank, answer in enumerate(answers):
        rows = list(zip(answer["losses"], expected, wrote["bounds"], strict=True))
        result.attach(f"rank {rank}: " + ", ".join(f"{a} against {b}" for a, b, _ in rows))
        if any(found is None for found, _, _ in rows):
            infinite.append(rank)
        else:
            ratios.append(max(abs(a - b) / (share * bound) for a, b, bound in rows))
    if infinite:
        alone = len(infinite) == 1 and len(answers) > 1  # many share what one has broken
        ranks = ", ".join(map(str, infinite))
        result.fail(f"a loss is not finite on rank {ranks}", rank=infinite[0] if alone else None)
        return
    apart = [rank for rank, ratio in enumerate(ratios) if ratio > 1]
    if len(apart) == 1 and len(answers) > 1:
        bounds = f"{ratios[apart[0]]:.3g} times the bound"
        result.fail(f"the losses of rank {apart[0]} are off by {bounds}", rank=apart[0])
    result.measure(
        "loss difference over bound", max(ratios), "1", limit=at_most(1, wrote["source"])
    )


def _measure_throughput(result: Result, verb: str, answers: list[dict[str, Any]]) -> None:
    seconds = max(answer["seconds"] for answer in answers)
    num_bytes = answers[0]["bytes"]
    result.measure(f"{verb}", num_bytes / 1e9, "GB")
    result.measure(f"seconds until {verb}", seconds, "s")
    result.measure(f"rate {verb}", num_bytes / seconds / 1e9, "GB/s")
