"""Stage driver: is there a driver, and do its device files open."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from preflight.compat.cards import by_card, few
from preflight.compat.device_files import ON_DEMAND, Trouble, explain, troubles
from preflight.compat.drivers import driver_floor
from preflight.compat.no_accelerator import NoAccelerator
from preflight.events import Environment
from preflight.facts import Absence, DeviceFile
from preflight.harness import REHEARSAL, CannotLook, Result, Situation
from preflight.records import Device

REHEARSE = "To rehearse on the CPU: preflight run --device cpu"


@pytest.mark.check(id="driver.present", stage="driver", deadline="150s")
def check_present(
    situation: Situation, result: Result, ask_torch: Callable[[], Environment]
) -> None:
    """A driver answers and shows at least one accelerator."""
    inventory = situation.inventory
    stuck = [a for a in inventory.absences if a.what == "inventory"]
    if stuck:
        raise CannotLook(
            inventory.looked_for[0],
            evidence=stuck[0].detail,
            action="the driver does not answer: ask the seller to reset the node",
        )
    if not situation.has_cards:
        result.skip(REHEARSAL)
    machine = situation.machine
    result.attach("\n".join(f"{a.what}: {a.reason}. {a.detail}" for a in inventory.absences))
    if inventory.devices:
        _judge_access(inventory.absences, machine.driver.files, result)
        result.note(_described(inventory.devices))
        return
    nothing = NoAccelerator(inventory=inventory, machine=machine, container=situation.container)
    told = "; ".join([*inventory.looked_for, *nothing.sentences()])
    action = nothing.action() or f"{_install(situation, ask_torch)}. {REHEARSE}"
    result.fail(f"no accelerator was found ({told})", action)


@pytest.mark.check(id="driver.files", stage="driver", deadline="10s")
def check_files(situation: Situation, result: Result) -> None:
    """The device files through which the driver is reached can be opened."""
    if not situation.has_cards:
        result.skip(REHEARSAL)
    files, devices = situation.machine.driver.files, situation.inventory.devices
    if isinstance(files, Absence):
        if files.reason == "not asked":
            result.skip("this machine's driver is reached through no device file that is known")
        raise CannotLook(
            f"the device files could not be looked at: {files.what or '/dev'}: {files.reason}",
            evidence=files.detail,
        )
    result.attach("\n".join(map(_state, files)))
    every = troubles(files, cards=len(by_card(devices)))
    shut = [one for one in every if not (one.reason == "not found" and _may_lack(one, devices))]
    if shut:
        result.fail(few([one.sentence for one in shut], 3), shut[0].action)
    elif not devices:
        result.skip("no card was found; driver.present speaks of that")
    elif not any(file.is_open is True for file in files):
        result.skip("the driver shows its cards through other files (WSL, Jetson)")
    for file in files:
        if file.path in ON_DEMAND and isinstance(file.is_open, Absence):
            trouble = explain(file.path, file.is_open)
            result.warn(
                f"{trouble.sentence}; root's first CUDA program makes it on a host, a container "
                "has to be given it",
                trouble.action,
            )
    opened = [file.path for file in files if file.is_open is True]
    result.note(few(opened, 4))


def _judge_access(
    absences: tuple[Absence, ...], files: tuple[DeviceFile, ...] | Absence, result: Result
) -> None:
    """Cards are listed: a shut device file makes them useless, a fact without permission not."""
    opened = {} if isinstance(files, Absence) else {file.path: file.is_open for file in files}
    for absence in absences:
        if absence.what.startswith("/dev/"):
            told = opened.get(absence.what)  # in the kernel's own words, where it was opened
            trouble = explain(absence.what, told if isinstance(told, Absence) else absence)
            result.fail(f"the driver lists cards, and {trouble.sentence}", trouble.action)
    for absence in absences:
        if absence.reason == "no permission":
            result.warn(f"{absence.what}: no permission", absence.detail)


def _may_lack(trouble: Trouble, devices: tuple[Device, ...]) -> bool:
    """Whether an absent file tells nothing: there is no card, or NVML shows cards without it.

    NVML itself opens these files, and makes them where it may; under WSL and on Jetson there are
    others. KFD's topology is told in sysfs, whether or not /dev/kfd is there.
    """
    return not devices or trouble.path.startswith("/dev/nvidia")


def _described(devices: tuple[Device, ...]) -> str:
    first = devices[0]
    driver = f"driver {first.driver}" if first.driver else "driver of the kernel"
    return f"{driver}, {len(devices)} device(s)"


def _state(file: DeviceFile) -> str:
    if isinstance(file.is_open, Absence):
        return f"{file.path}: {file.is_open.reason} {file.is_open.detail}".strip()
    return f"{file.path}: open"


def _install(situation: Situation, ask_torch: Callable[[], Environment]) -> str:
    """What to install, in terms of the torch that is there; a simulation has none to ask."""
    general = "install the driver, or pass the devices into the container"
    if situation.options.mode == "simulate":
        return general
    versions = ask_torch().versions
    if versions.cuda:
        needs = f"torch {versions.torch} needs an NVIDIA driver >= {driver_floor(versions.cuda)}"
        return f"{needs}: install it, or start the container with --gpus all"
    if versions.hip:
        return (
            f"torch {versions.torch} needs the amdgpu driver: install it, or start the container "
            "with --device /dev/kfd --device /dev/dri"
        )
    return general
