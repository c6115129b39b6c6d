"""The inventory of a machine that does not exist, through the real backends."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from preflight.events import Inventory, StatedBuild
from preflight.hardware.cpu import CpuBackend
from preflight.hardware.disks import Purpose
from preflight.hardware.files import Files
from preflight.hardware.inventory import Early, take_inventory
from preflight.hardware.profiles import ProfileRow, read_profile
from preflight.hardware.protocol import Say, silent
from preflight.hardware.simulated_faults import strike
from preflight.hardware.simulated_machine import build_machine


def simulated_inventory(
    text: str,
    folder: Path,
    *,
    say: Say = silent,
    early: Early | None = None,
    paths: Mapping[Purpose, str] | None = None,
) -> Inventory:
    """What the backends see of the profile ``text``, whose files are written below ``folder``.

    Nothing of this machine enters but the CPU, on which the probes rehearse. Raises UsageError for
    a profile that is not known.
    """
    profile = read_profile(text, where="--simulate")
    machine = build_machine(profile.row)
    for fault in profile.faults:
        strike(machine, fault)
    machine.write(folder)

    def complete(inventory: Inventory) -> Inventory:
        return msgspec.structs.replace(
            inventory,
            simulated=profile.text,
            stand_ins=CpuBackend(Files()).look(inventory.nodes[0].name).devices,
            stated=_stated_build(profile.row),
        )

    def completed(inventory: Inventory) -> None:
        if early is not None:
            early(complete(inventory))

    with machine.behind_the_libraries():
        inventory = take_inventory(
            profile.kind,
            files=Files(folder),
            say=say,
            early=completed,
            paths=paths,
            environ={},
        )
    return complete(inventory)


def _stated_build(row: ProfileRow) -> StatedBuild:
    return StatedBuild(torch=row.torch, cuda=row.cuda, hip=row.hip, arch_list=row.arch_list)
