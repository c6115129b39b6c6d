"""Where the checkpoint stage writes: on the disk that the plan names, and nothing stays there."""

from __future__ import annotations

import shutil
from pathlib import Path

from preflight.plan import Plan, resolve


def checkpoint_site(plan: Plan, plan_file: str | None, run_folder: Path) -> Path:
    """Folder for the checkpoints of a run; it does not exist yet.

    It lies in the plan's [checkpoint] path, in the nearest folder above that exists where that one
    does not, and without a plan inside the run's own folder.
    """
    if plan.checkpoint.path is None or plan_file is None:
        return run_folder / "scratch" / "checkpoint"
    wanted = resolve(plan.checkpoint.path, Path(plan_file))
    root = next(folder for folder in (wanted, *wanted.parents) if folder.is_dir())
    return root / f".preflight-{run_folder.name}"


def remove_site(plan: Plan, plan_file: str | None, run_folder: Path) -> None:
    """Remove what a run has written there, also after it was interrupted."""
    shutil.rmtree(checkpoint_site(plan, plan_file, run_folder), ignore_errors=True)
