"""Looks at the machine once and shows it; no check runs, and nothing is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
from rich.console import Console

from preflight.errors import UsageError
from preflight.events import Inventory
from preflight.facts import Machine
from preflight.hardware.disks import Purpose
from preflight.hardware.profiles import read_profile
from preflight.harness.inventory_child import look_at_machine
from preflight.harness.places import places_of
from preflight.harness.situation import UNANSWERED
from preflight.plan import Plan
from preflight.rendering.machine_text import WIDEST, machine_lines
from preflight.rendering.text import NARROWEST, WIDTH
from preflight.summary import print_lines


@dataclass(frozen=True)
class Inspection:
    """What was found, and how it is told."""

    inventory: Inventory
    notice: str = ""
    """What keeps it from being a real machine: ``SIMULATED 2xB200``; empty for a real one."""

    @property
    def trouble(self) -> str:
        """Why the look did not come to its end, and what to do; empty where it did."""
        if all(absence.what != UNANSWERED for absence in self.inventory.absences):
            return ""
        looked = "; ".join(self.inventory.looked_for) or "the driver did not answer"
        return f"{looked}\n  ask the seller to reset the card or the node, then look again"

    @property
    def exit_code(self) -> int:
        """0 when the machine was looked at, 3 where its driver did not answer."""
        return 3 if self.trouble else 0

    @property
    def json(self) -> str:
        """The inventory as indented JSON, with a final newline; variables by name."""
        return (
            msgspec.json.format(msgspec.json.encode(_sorted(self.inventory)), indent=1).decode()
            + "\n"
        )

    def print_to(self, console: Console) -> None:
        """Print it as wide as the terminal, from 60 to 160 columns; a file or pipe gets 100."""
        width = WIDTH
        if console.is_terminal:
            width = min(max(console.width, NARROWEST), WIDEST)
        print_lines(machine_lines(self.inventory, notice=self.notice, width=width), console)


def inspect_machine(accelerator: str, *, simulate: str | None = None) -> Inspection:
    """Look for ``auto``, ``cuda``, ``hip`` or ``cpu``, or at the profile of a machine.

    Raises UsageError where both a profile and a device are named, and for an unknown profile.
    """
    if simulate is None:
        return Inspection(look_at_machine(accelerator, run_variables={}, paths=_places()))
    if accelerator != "auto":
        raise UsageError(
            "a simulated machine brings its own devices",
            where="--device and --simulate",
            mend="drop --device",
        )
    profile = read_profile(simulate, where="--simulate")
    found = look_at_machine(profile.kind, run_variables={}, simulate=profile.text, paths=_places())
    return Inspection(found, notice=f"SIMULATED {profile.text}")


def _places() -> dict[Purpose, str]:
    """Folders whose disks are shown: where reports would go, and the temporary one."""
    return places_of(Plan(), None, Path.cwd())


def _sorted(inventory: Inventory) -> Inventory:
    """The same with its variables in the order of their names, so that it can be compared."""
    machine: Machine | None = inventory.machine
    if machine is None:
        return inventory
    variables = dict(sorted(machine.environment.items()))
    machine = msgspec.structs.replace(machine, environment=variables)
    return msgspec.structs.replace(inventory, machine=machine)
