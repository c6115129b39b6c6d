"""Stage driver: is there a driver, and can it serve the torch under test."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from preflight.compat.drivers import SOURCE, driver_floor, serves
from preflight.events import Environment, Inventory
from preflight.harness import CannotLook, Result, Situation
from preflight.records import Device

REHEARSAL = "a rehearsal has no cards"


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
    if situation.is_rehearsal:
        result.skip(REHEARSAL)
    result.attach("\n".join(f"{a.what}: {a.reason}. {a.detail}" for a in inventory.absences))
    denied = [a for a in inventory.absences if a.reason == "no permission"]
    closed = [a for a in inventory.absences if a.what.startswith("/dev/")]
    if inventory.devices and closed:
        first = closed[0]
        action = first.detail or "start the container with --device /dev/kfd --device /dev/dri"
        result.fail(
            f"the card is there, and {first.what} is not open to us: {first.reason}", action
        )
        return
    if inventory.devices:
        for absence in denied:
            result.warn(f"{absence.what}: no permission", absence.detail)
        result.note(_described(inventory.devices))
        return
    looked = "; ".join(inventory.looked_for)
    hidden = f"; hidden: {', '.join(inventory.hidden)}" if inventory.hidden else ""
    result.fail(f"no accelerator was found ({looked}{hidden})", _mend(inventory, ask_torch()))


@pytest.mark.check(id="driver.toolkit", stage="driver", deadline="150s")
def check_toolkit(
    device: Device, situation: Situation, result: Result, ask_torch: Callable[[], Environment]
) -> None:
    """The driver is new enough for the CUDA that torch was built with."""
    if situation.is_rehearsal:
        result.skip(REHEARSAL)
    if device.kind != "cuda":
        result.skip("only CUDA has a driver floor by toolkit")
    toolkit = ask_torch().versions.cuda
    if toolkit is None or device.driver is None:
        result.skip("torch is no CUDA build, or the driver tells no version")
    enough = serves(device.driver, toolkit)
    if enough is None:
        result.skip(f"no floor is known for CUDA {toolkit} and driver {device.driver}")
    result.note(f"driver {device.driver} for CUDA {toolkit}")
    if enough:
        return
    floor = driver_floor(toolkit)
    action = f"install driver {floor} or newer, or a torch built for an older CUDA"
    seen = (ask_torch().torch or {}).get("cuda_available")
    if seen:  # a forward compatibility package, which only torch's own word can tell
        result.warn(f"driver {device.driver} is older than {floor}, and torch starts with it")
        return
    result.fail(
        f"driver {device.driver} is older than {floor}, the floor of CUDA {toolkit} ({SOURCE})",
        action,
    )


def _described(devices: tuple[Device, ...]) -> str:
    first = devices[0]
    driver = f"driver {first.driver}" if first.driver else "driver of the kernel"
    return f"{driver}, {len(devices)} device(s)"


REMEDIES = {
    "library and kernel module differ": (
        "reboot, or unload and load the nvidia kernel module: its version is not that of the "
        "library (an update of the driver was half done)"
    ),
    "driver not loaded": "load the kernel module (modprobe nvidia); in a container, on the host",
}


def _mend(inventory: Inventory, environment: Environment) -> str:
    """What to do without an accelerator: by NVML's reason, else by the torch that is installed."""
    for absence in inventory.absences:
        if absence.reason in REMEDIES:
            return REMEDIES[absence.reason]
    cuda, hip = environment.versions.cuda, environment.versions.hip
    if cuda:
        floor = driver_floor(cuda)
        needs = f"torch {environment.versions.torch} needs an NVIDIA driver >= {floor}"
        install = f"{needs}: install it, or start the container with --gpus all"
    elif hip:
        install = (
            f"torch {environment.versions.torch} needs the amdgpu driver: install it, or start the "
            "container with --device /dev/kfd --device /dev/dri"
        )
    else:
        install = "install the driver, or pass the devices into the container"
    return f"{install}. To rehearse on the CPU: preflight run --device cpu"
