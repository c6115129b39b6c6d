"""Takes the inventory in a child process, for a driver may block for ever."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from preflight.events import Inventory
from preflight.facts import Absence, Machine
from preflight.hardware.disks import Purpose
from preflight.hardware.files import Files
from preflight.hardware.inventory import take_inventory
from preflight.hardware.simulate import simulated_inventory
from preflight.harness.children import Exit, run_child
from preflight.harness.own_python import own_command
from preflight.harness.situation import UNANSWERED
from preflight.probes.lifeline import PARENT_VARIABLE, die_with_parent
from preflight.redaction import redact_facts

INVENTORY_DEADLINE_S = 20.0
"""Without persistence mode NVML wakes each card first: seconds; a sick one never answers."""
LOOK_VARIABLE = "PREFLIGHT_LOOK"
ANSWER_VARIABLE = "PREFLIGHT_ANSWER_FD"


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What the child is to look at."""

    accelerator: str
    simulate: str | None = None
    paths: dict[Purpose, str] = msgspec.field(default_factory=dict)


class Asking(msgspec.Struct, frozen=True, kw_only=True, tag="asking"):
    """The call or file that is asked next."""

    call: str


class Early(msgspec.Struct, frozen=True, kw_only=True, tag="early"):
    """What is known before any vendor's library is asked."""

    inventory: Inventory


class Whole(msgspec.Struct, frozen=True, kw_only=True, tag="whole"):
    """All of it."""

    inventory: Inventory


Word = Asking | Early | Whole


def main() -> None:
    """Write lines to the file that the parent holds open: what is asked, and what is known."""
    die_with_parent()
    look = msgspec.json.decode(os.environ[LOOK_VARIABLE], type=Look)
    with os.fdopen(int(os.environ[ANSWER_VARIABLE]), "wb", buffering=0) as answer:

        def tell(word: Word) -> None:
            answer.write(msgspec.json.encode(word) + b"\n")

        def say(call: str) -> None:
            tell(Asking(call=call))

        def early(inventory: Inventory) -> None:
            tell(Early(inventory=without_secrets(inventory)))

        if look.simulate is None:
            inventory = take_inventory(
                look.accelerator, files=Files(), say=say, early=early, paths=look.paths
            )
        else:
            with tempfile.TemporaryDirectory(prefix="preflight-simulated-") as folder:
                inventory = simulated_inventory(
                    look.simulate, Path(folder), say=say, early=early, paths=look.paths
                )
        tell(Whole(inventory=without_secrets(inventory)))
    sys.exit(0)


def without_secrets(inventory: Inventory) -> Inventory:
    """The facts as they may be kept: names of processes, lines of a log, sources of a mount."""
    if inventory.machine is None:
        return inventory
    kept = redact_facts(msgspec.to_builtins(inventory.machine))
    return msgspec.structs.replace(inventory, machine=msgspec.convert(kept, Machine))


def look_at_machine(
    accelerator: str,
    *,
    run_variables: Mapping[str, str],
    simulate: str | None = None,
    paths: Mapping[Purpose, str] | None = None,
) -> Inventory:
    """Inventory taken in a child; where that hangs or dies, one that names the unanswered call.

    ``run_variables`` mark the child as part of a run, ``simulate`` is a profile, ``paths`` are
    folders by purpose whose disks matter.
    """
    look = Look(accelerator=accelerator, simulate=simulate, paths=dict(paths or {}))
    with tempfile.TemporaryFile() as answer:
        end = run_child(
            own_command("preflight.harness.inventory_child"),
            deadline_s=INVENTORY_DEADLINE_S,
            environment={
                **os.environ,
                **run_variables,
                LOOK_VARIABLE: msgspec.json.encode(look).decode(),
                ANSWER_VARIABLE: str(answer.fileno()),
                PARENT_VARIABLE: str(os.getpid()),
            },
            give=(answer.fileno(),),
        )
        answer.seek(0)
        words = _words(answer.read())
    whole = next((word for word in words if isinstance(word, Whole)), None)
    return _unanswered(words, end) if whole is None else whole.inventory


def _words(data: bytes) -> list[Word]:
    """What the child said; a line that was cut short by its end says nothing."""
    lines = data.split(b"\n")[:-1]
    found: list[Word] = []
    for line in lines:
        try:
            found.append(msgspec.json.decode(line, type=Word))
        except msgspec.MsgspecError:  # a library that wrote into our pipe, or half a line
            continue
    return found


def _unanswered(words: list[Word], end: Exit) -> Inventory:
    """The host as far as it is known, and an absence that says what was asked last."""
    asked = next((word.call for word in reversed(words) if isinstance(word, Asking)), None)
    who = f"{asked} has not answered" if asked else "the driver's own library"
    absence = Absence(
        what=UNANSWERED,
        reason="deadline" if end.timed_out else "failed",
        detail=end.output[-2000:],
    )
    early = next((word.inventory for word in words if isinstance(word, Early)), None)
    known = early or take_inventory("none", files=Files())
    return msgspec.structs.replace(
        known,
        looked_for=(f"{who}: the process that asked it {end.sentence()}",),
        absences=(absence,),
    )
