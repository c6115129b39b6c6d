"""Stage driver: is it new enough for torch and for the card, and of the right kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from preflight.compat.advice import action_for
from preflight.compat.drivers import (
    OLD_FLOORS,
    driver_floor,
    floor_source,
    is_at_least,
    package_error,
    serves,
)
from preflight.events import Environment
from preflight.facts import Absence, known
from preflight.hardware.catalog import Product
from preflight.harness import REHEARSAL, CannotLook, Result, Situation
from preflight.records import Device

NO_VERSION = "torch is no CUDA build, or the driver tells no version"
OTHER_CAUSE = (
    "not a matter of versions: look whether /dev/nvidiactl, /dev/nvidia-uvm and /dev/nvidia0 exist "
    "(sudo nvidia-modprobe -c 0 -u), and reboot after an update of the driver"
)


@pytest.mark.check(id="driver.toolkit", stage="driver", deadline="150s")
def check_toolkit(
    device: Device, situation: Situation, result: Result, ask_torch: Callable[[], Environment]
) -> None:
    """The driver serves the CUDA that torch was built with."""
    if not situation.has_cards:
        result.skip(REHEARSAL)
    if device.kind != "cuda":
        result.skip("only CUDA has a driver floor by toolkit")
    _refuse_the_unread(device, situation)
    answer = ask_torch()
    toolkit, facts = answer.versions.cuda, answer.torch or {}
    if toolkit is None or device.driver is None:
        result.skip(NO_VERSION)
    words = _words(facts)
    result.attach(words)
    if code := package_error(words):
        result.fail(*_package(code, device, situation))
        return
    enough = serves(device.driver, toolkit)
    if enough is None:
        result.skip(f"no floor is known for CUDA {toolkit} and driver {device.driver}")
    if not enough:
        _judge_older(device, situation, toolkit, facts, result)
        return
    if facts.get("cuda_available") is False:
        result.fail(
            f"driver {device.driver} is new enough for CUDA {toolkit}, and torch does not start: "
            f"{words or 'it finds no device'}",
            action_for(words) or OTHER_CAUSE,
        )
    result.note(f"driver {device.driver} for CUDA {toolkit}")


@pytest.mark.check(id="driver.product", stage="driver", deadline="10s")
def check_product(device: Device, situation: Situation, result: Result) -> None:
    """The driver knows this product: it is not older than the product's first one."""
    if not situation.has_cards:
        result.skip(REHEARSAL)
    _refuse_the_unread(device, situation)
    product = situation.product_of(device)
    if product is None:
        result.skip(f"{device.product} is unknown to the catalogue")
    if device.kind == "hip":
        _judge_rocm(device, situation, product, result)
        return
    if product.first_driver is None:
        result.skip(f"no first driver is known for {product.name}")
    if device.driver is None:
        result.skip("the driver tells no version")
    enough = is_at_least(device.driver, product.first_driver)
    if enough is None:
        result.skip(f"{device.driver} is no version that can be compared")
    if not enough:
        say = result.warn if "first_driver" in product.unverified else result.fail
        say(
            f"driver {device.driver} is older than {product.first_driver}, the first that knows "
            f"{product.name} ({_source(product)})",
            f"install driver {product.first_driver} or newer on the host: no container brings one",
        )
    result.note(f"driver {device.driver}, {product.name} needs {product.first_driver}")


@pytest.mark.check(id="driver.module", stage="driver", deadline="10s")
def check_module(device: Device, situation: Situation, result: Result) -> None:
    """The kernel module is of the kind, open or proprietary, that drives this product."""
    if not situation.has_cards:
        result.skip(REHEARSAL)
    if device.kind != "cuda":
        result.skip("only NVIDIA's driver has an open and a proprietary kernel module")
    flavour, product = situation.machine.driver.flavour, situation.product_of(device)
    if isinstance(flavour, Absence):
        result.skip(f"whether the kernel module is the open one is not told: {flavour.reason}")
    if product is None or product.kernel_module is None:
        result.skip(f"which kernel module drives {device.product} is not known")
    if product.kernel_module not in ("either", flavour):
        needed = product.kernel_module
        package = "nvidia-open" if needed == "open" else "the proprietary package (cuda-drivers)"
        result.fail(
            f"the {flavour} kernel module is loaded, and only the {needed} one drives "
            f"{product.name}",
            f"on the host: install {package} in the driver's version, and reboot; in a container "
            "ask the seller",
        )
    result.note(f"the {flavour} kernel module")


def _judge_older(
    device: Device, situation: Situation, toolkit: str, facts: dict[str, Any], result: Result
) -> None:
    """An older driver serves with a forward compatibility package, which torch alone can tell."""
    floor = driver_floor(toolkit)
    older = f"driver {device.driver} is older than {floor}"
    product = situation.product_of(device)
    allowed = product is not None and product.data_center and toolkit not in OLD_FLOORS
    if not facts.get("cuda_available"):
        speaks = f" (this driver speaks {device.driver_cuda})" if device.driver_cuda else ""
        package = f", or the cuda-compat package of CUDA {toolkit}" if allowed else ""
        result.fail(
            f"{older}, the floor of CUDA {toolkit} ({floor_source(toolkit)})",
            f"install driver {floor} or newer on the host{package}, or a torch built for an older "
            f"CUDA{speaks}",
        )
        return
    if product is not None and not product.data_center:
        result.warn(
            f"{older}, and torch starts with it, though {product.name} allows no forward "
            "compatibility package",
            f"install driver {floor} or newer before something newer in it is called",
        )
    result.note(f"{older}, and torch starts with it: a forward compatibility package (cuda-compat)")


def _judge_rocm(device: Device, situation: Situation, product: Product, result: Result) -> None:
    """AMD: the first ROCm that knows a product, against the one that is installed, if any."""
    if product.first_rocm is None:
        result.skip(f"no first ROCm is known for {product.name}")
    rocm = known(situation.machine.driver.rocm)
    if rocm is None and device.driver is None:
        result.skip("the amdgpu driver of the kernel tells no version, and no ROCm is installed")
    enough = is_at_least(rocm, product.first_rocm) if rocm else None
    if enough is None:
        result.skip(f"no floor is known for amdgpu {device.driver} and {product.name}")
    if not enough:
        result.warn(
            f"ROCm {rocm} is older than {product.first_rocm}, the first that knows {product.name}",
            "use a torch that brings its own ROCm, or install a newer one",
        )
    result.note(f"ROCm {rocm}, {product.name} needs {product.first_rocm}")


def _source(product: Product) -> str:
    """Which of a product's sources speaks of drivers."""
    return next((one for one in product.sources if "driver" in one), product.sources[-1])


def _refuse_the_unread(device: Device, situation: Situation) -> None:
    """A version that the driver did not tell though it was asked: raises CannotLook."""
    for absence in situation.inventory.absences:
        if absence.what == "driver version" and device.driver is None:
            raise CannotLook(
                f"the driver's version could not be read: {absence.reason}",
                evidence=absence.detail,
                action="mend what driver.answers names, then run again",
            )


def _words(facts: dict[str, Any]) -> str:
    """Why torch does not start, in its words, on one line; empty where it does."""
    return " ".join(str(facts.get("cuda_error") or "").split())


def _package(code: int, device: Device, situation: Situation) -> tuple[str, str]:
    """Reason and action for a libcuda of a compatibility package that does not fit."""
    path = situation.machine.environment.get("LD_LIBRARY_PATH", "")
    folders = [folder for folder in path.split(":") if "compat" in folder]
    named = ", ".join(folders) or "the cuda-compat folder (/usr/local/cuda/compat)"
    why = {
        803: f"it is not of the version of the kernel's driver {device.driver}",
        804: f"{device.product} allows none (data-centre cards do)",
    }
    return (
        f"torch loads the libcuda of a compatibility package (cuda-compat), and {why[code]}: "
        f"error {code}",
        f"take {named} out of LD_LIBRARY_PATH (under WSL keep /usr/lib/wsl/lib first), or update "
        "the driver of the host",
    )
