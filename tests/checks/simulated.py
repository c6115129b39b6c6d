"""What the static stages say of a simulated machine, without a run around them."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import msgspec

from preflight.folders import checks_folder
from preflight.hardware.simulate import simulated_inventory
from preflight.harness import CannotLook, Situation
from preflight.harness.result import Result
from preflight.harness.software import stated_environment
from preflight.records import Order

from .situations import judged, load, situation

STATIC = ("order", "driver", "system", "arch")


def simulated_situation(profile: str, **order: Any) -> Situation:
    """The machine of a profile, as a run has it before its first check."""
    with tempfile.TemporaryDirectory() as folder:
        inventory = simulated_inventory(
            profile, Path(folder), paths={"output": "/data", "temporary": "/tmp"}
        )
    made = situation(options={"mode": "simulate", "simulated": profile})
    return Situation(
        options=msgspec.structs.replace(made.options, level="standard"),
        order=Order(**order),
        plan=made.plan,
        inventory=inventory,
    )


def static_checks() -> Iterator[tuple[str, FunctionType]]:
    """Id and function of every check of the static stages."""
    for path in sorted(checks_folder().glob("check_0[1-4]*.py")):
        for name, function in vars(load(path.name)).items():
            if name.startswith("check_") and isinstance(function, FunctionType):
                (mark,) = [m for m in getattr(function, "pytestmark", []) if m.name == "check"]
                yield mark.kwargs["id"], function


def results(machine: Situation) -> dict[str, Result]:
    """``order.count`` or ``driver.fabric gpu3`` to what the check says."""
    assert machine.inventory.stated is not None, "a simulated machine states its torch"
    environment = stated_environment(machine.inventory.stated)
    given = {"situation": machine, "plan": machine.plan, "ask_torch": lambda: environment}
    found = {}
    for check_id, function in static_checks():
        wanted = inspect.signature(function).parameters
        arguments = {name: given[name] for name in wanted if name in given}
        if "device" not in wanted:
            found[check_id] = said(function, **arguments)
            continue
        for device in machine.inventory.devices:
            found[f"{check_id} {device.name}"] = said(function, device=device, **arguments)
    return found


def said(function: Any, **arguments: Any) -> Result:
    """What one check says; that it could not look is the status ``error``."""
    try:
        return judged(function, **arguments)
    except CannotLook as trouble:
        result = Result()
        result.status, result.reason, result.action = "error", trouble.cause, trouble.action
        return result


def alarms(found: dict[str, Result]) -> dict[str, str]:
    """Check to status, those that warn, fail or could not look."""
    return {name: r.status for name, r in found.items() if r.status in ("warn", "fail", "error")}
