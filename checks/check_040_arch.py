"""Stage arch: does torch's own build have code for this device."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from preflight.compat.architectures import runs_on
from preflight.events import Environment
from preflight.harness import REHEARSAL, Result, Situation
from preflight.records import Device


@pytest.mark.check(id="arch.torch", stage="arch", deadline="150s")
def check_torch(
    device: Device, situation: Situation, result: Result, ask_torch: Callable[[], Environment]
) -> None:
    """torch's architecture list holds code that this device runs."""
    if not situation.has_cards:
        result.skip(REHEARSAL)
    facts = ask_torch().torch
    if facts is None:
        result.skip("torch does not import; import.torch says why")
    built_for = facts["arch_list"]
    if not built_for:
        result.skip("torch holds no device code; import.torch speaks of that")
    if device.architecture is None:
        result.skip("the driver does not tell the architecture of this device")
    listed = " ".join(built_for)
    result.attach(
        f"torch {facts['torch']} holds code for {listed}\n{device.name} is {device.architecture}"
    )
    if not runs_on(built_for, device.architecture):
        result.fail(
            f"torch {facts['torch']} has {listed}; {device.product} is {device.architecture}",
            f"install a torch built for {device.architecture}",
        )
    result.note(f"{device.architecture} in {listed}")
