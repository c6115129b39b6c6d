"""Why a machine shows no accelerator."""

from __future__ import annotations

from typing import Any

from preflight.compat.no_accelerator import REMEDIES, NoAccelerator
from preflight.events import Inventory
from preflight.facts import Absence, BusCard, DeviceFile, Driver, HostFacts, Machine
from preflight.records import Host


def seen(*absences: Absence, hidden: tuple[str, ...] = (), **machine: Any) -> NoAccelerator:
    """A machine without a device."""
    return NoAccelerator(
        inventory=Inventory(host=Host(name="a"), nodes=(), hidden=hidden, absences=absences),
        machine=Machine(node="a", **machine),
        container=None,
    )


def on_bus(driver: str | Absence) -> BusCard:
    """A card that some driver has."""
    return BusCard(pci="0000:0a:00.0", vendor="NVIDIA", pci_id="10de:2901", driver=driver)


MISMATCH = Absence(what="NVML", reason="library and kernel module differ")
NOT_LOADED = Absence(what="NVML", reason="driver not loaded")


def test_without_any_cause_nothing_is_claimed() -> None:
    """The check then speaks in terms of the torch that is installed."""
    nothing = seen(Absence(what="NVML", reason="not found"))
    assert (nothing.sentences(), nothing.action()) == ((), "")


def test_the_nearest_cause_comes_first() -> None:
    """Hidden before mismatched, mismatched before the bus, the bus before NVML's bare word."""
    bus = (on_bus(Absence(reason="not found")),)
    hidden = ("gpu0 (NVIDIA B200) by CUDA_VISIBLE_DEVICES=",)
    assert "CUDA_VISIBLE_DEVICES=" in seen(MISMATCH, hidden=hidden, bus=bus).action()
    assert seen(MISMATCH, bus=bus).action() == REMEDIES[MISMATCH.reason]
    assert "sudo modprobe nvidia" in seen(NOT_LOADED, bus=bus).action()
    assert seen(NOT_LOADED).action() == REMEDIES[NOT_LOADED.reason]
    assert "wsl --update" in seen(NOT_LOADED, host=HostFacts(wsl=True)).action()


def test_a_file_that_two_tell_of_is_told_once() -> None:
    """The inventory and the driver's files name the same /dev/kfd."""
    shut = Absence(what="/dev/kfd", reason="failed", detail="Invalid argument")
    files = Driver(files=(DeviceFile(path="/dev/kfd", is_open=shut),))
    (sentence,) = seen(shut, driver=files).sentences()
    assert sentence.count("/dev/kfd") == 1


def test_one_free_card_is_not_explained_by_a_taken_one() -> None:
    """One is kept for a virtual machine, the other waits for its driver."""
    two = on_bus("vfio-pci"), on_bus(Absence(reason="not found"))
    assert "sudo modprobe nvidia" in seen(bus=two).action()
