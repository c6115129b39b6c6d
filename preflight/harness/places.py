"""Folders of this machine that matter to a run, for the look at the disks below them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from preflight.hardware.disks import Purpose
from preflight.plan import Plan, resolve


def places_of(plan: Plan, plan_file: str | None, out: Path) -> dict[Purpose, str]:
    """Absolute path by purpose (``facts.Disk.purpose``); an address of a bucket is no path."""
    found: dict[Purpose, str] = {
        "output": str(out.absolute()),
        "temporary": tempfile.gettempdir(),
    }
    named: dict[Purpose, str | None] = {"checkpoint": plan.checkpoint.path, "data": plan.data.path}
    for purpose, text in named.items():
        if plan_file is not None and text is not None and "://" not in text:
            found[purpose] = str(resolve(text, Path(plan_file)))
    return found
