"""Entry of the child process that takes the inventory, and its supervision."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from preflight.events import Absence, Inventory, Opened
from preflight.hardware.host import read_host
from preflight.hardware.inventory import take_inventory
from preflight.harness.children import run_child
from preflight.harness.journal import Journal, read_journal
from preflight.harness.own_python import own_command
from preflight.harness.sweep import RUN_VARIABLE
from preflight.probes.lifeline import PARENT_VARIABLE, die_with_parent
from preflight.records import Node

INVENTORY_DEADLINE_S = 20.0
"""Without persistence mode NVML wakes each card first: seconds; a sick one never answers."""


def main() -> None:
    """Append the inventory to the journal of PREFLIGHT_RUN."""
    die_with_parent()
    folder = Path(os.environ[RUN_VARIABLE])
    opened = read_journal(folder)[0]
    assert isinstance(opened, Opened), "the run is opened before its inventory"
    Journal(folder).append(take_inventory(opened.options.accelerator))
    sys.exit(0)


def record_inventory(folder: Path) -> None:
    """Take the inventory in a child; one that hangs or dies leaves an inventory that says so."""
    end = run_child(
        own_command("preflight.harness.inventory_child"),
        deadline_s=INVENTORY_DEADLINE_S,
        environment={
            **os.environ,
            RUN_VARIABLE: str(folder),
            PARENT_VARIABLE: str(os.getpid()),
        },
    )
    if any(isinstance(event, Inventory) for event in read_journal(folder)):
        return
    host = read_host()
    reason = "deadline" if end.timed_out else "failed"
    Journal(folder).append(
        Inventory(
            host=host,
            nodes=(Node(name=host.name),),
            looked_for=(f"the driver's own library: the process that asked it {end.sentence()}",),
            absences=(Absence(what="inventory", reason=reason, detail=end.output[-2000:]),),
        )
    )
