"""Takes the inventory in a child process, for a driver may block for ever."""

from __future__ import annotations

import contextlib
import os
import sys
import tempfile

import msgspec

from preflight.events import Inventory
from preflight.facts import Absence
from preflight.hardware.host import read_host
from preflight.hardware.inventory import take_inventory
from preflight.harness.children import run_child
from preflight.harness.own_python import own_command
from preflight.probes.lifeline import PARENT_VARIABLE, die_with_parent
from preflight.records import Node

INVENTORY_DEADLINE_S = 20.0
"""Without persistence mode NVML wakes each card first: seconds; a sick one never answers."""
ACCELERATOR_VARIABLE = "PREFLIGHT_ACCELERATOR"
ANSWER_VARIABLE = "PREFLIGHT_ANSWER_FD"


def main() -> None:
    """Write the inventory to the file that the parent holds open."""
    die_with_parent()
    inventory = take_inventory(os.environ[ACCELERATOR_VARIABLE])
    with os.fdopen(int(os.environ[ANSWER_VARIABLE]), "wb") as answer:
        answer.write(msgspec.json.encode(inventory))
    sys.exit(0)


def look_at_machine(accelerator: str, *, run_variables: dict[str, str]) -> Inventory:
    """Inventory taken in a child; where that hangs or dies, one that says so.

    ``run_variables`` mark the child as part of a run.
    """
    with tempfile.TemporaryFile() as answer:
        end = run_child(
            own_command("preflight.harness.inventory_child"),
            deadline_s=INVENTORY_DEADLINE_S,
            environment={
                **os.environ,
                **run_variables,
                ACCELERATOR_VARIABLE: accelerator,
                ANSWER_VARIABLE: str(answer.fileno()),
                PARENT_VARIABLE: str(os.getpid()),
            },
            give=(answer.fileno(),),
        )
        answer.seek(0)
        data = answer.read()
    with contextlib.suppress(msgspec.DecodeError):  # nothing, or what it wrote before it died
        return msgspec.json.decode(data, type=Inventory)
    host = read_host()
    return Inventory(
        host=host,
        nodes=(Node(name=host.name),),
        looked_for=(f"the driver's own library: the process that asked it {end.sentence()}",),
        absences=(
            Absence(
                what="inventory",
                reason="deadline" if end.timed_out else "failed",
                detail=end.output[-2000:],
            ),
        ),
    )
