"""Which NVIDIA card this is: what the record says of a device, and its MIG slices."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from preflight.facts import NOT_ASKED, Absence, Driver, Flag, Number, Text, known
from preflight.hardware.nvml_calls import LACKING, Asking, as_is, member_text
from preflight.records import Device

GIB = 1024**3
MEMORY_INFO_V2 = 0x02000028
"""nvmlMemory_v2 of nvml.h: size of the struct, and its version in the highest byte."""
UNKNOWN_PRODUCT = "unknown NVIDIA device"
_BUS_ID = re.compile(r"([0-9a-f]{4,8}):([0-9a-f]{2}:[0-9a-f]{2}\.[0-7])")


@dataclass(frozen=True)
class Slice:
    """One MIG slice that exists on a card."""

    name: str
    """``1g.10gb``."""
    uuid: str


@dataclass(frozen=True)
class Bus:
    """Where a card sits, and what it says of itself on the bus."""

    address: Text
    pci_id: Text = NOT_ASKED
    subsystem_id: Text = NOT_ASKED


@dataclass(frozen=True)
class Memory:
    """Total and used; where cards share the host's memory neither is known."""

    total_GiB: Number
    used_GiB: Number = NOT_ASKED


@dataclass(frozen=True)
class Identity:
    """What tells one card from another."""

    name: str
    """``gpu3``: the index in NVML's order."""
    product: Text
    uuid: Text
    bus: Bus
    memory: Memory
    architecture: Text
    mig: Flag
    slices: tuple[Slice, ...] | Absence

    def device(self, node: str, driver: Driver) -> Device:
        """The device of the record; what is absent is None there."""
        return Device(
            name=self.name,
            node=node,
            kind="cuda",
            product=known(self.product) or UNKNOWN_PRODUCT,
            uuid=known(self.uuid),
            pci=known(self.bus.address),
            memory_GiB=known(self.memory.total_GiB),
            architecture=known(self.architecture),
            driver=known(driver.version),
            driver_cuda=known(driver.cuda),
        )

    def absences(self) -> tuple[Absence, ...]:
        """What the record lacks of this device, said in its words."""
        facts = {
            "product": self.product,
            "UUID": self.uuid,
            "PCI address": self.bus.address,
            "memory": self.memory.total_GiB,
            "compute capability": self.architecture,
        }
        return tuple(
            told_as(f"{what} of {self.name}", fact)
            for what, fact in facts.items()
            if isinstance(fact, Absence)
        )


def read_identity(asking: Asking) -> Identity:
    """Identity of the card that ``asking`` has the handle of."""
    mig = asking.value("nvmlDeviceGetMigMode", read=lambda modes: bool(modes[0]))
    return Identity(
        name=asking.of,
        product=asking.text("nvmlDeviceGetName"),
        uuid=asking.text("nvmlDeviceGetUUID"),
        bus=_bus(asking),
        memory=_memory(asking),
        architecture=asking.value(
            "nvmlDeviceGetCudaComputeCapability", read=lambda pair: f"sm_{pair[0]}{pair[1]}"
        ),
        mig=mig,
        slices=_slices(asking) if mig is True else (mig if isinstance(mig, Absence) else ()),
    )


def told_as(what: str, fact: Absence) -> Absence:
    """An absence under the reader's name for it; the call goes into the detail."""
    return Absence(what=what, reason=fact.reason, detail=f"{fact.what}: {fact.detail}")


def pci_address(bus_id: str) -> str:
    """``0000:9a:00.0`` from NVML's ``00000000:9A:00.0``; large domains keep their digits.

    Raises ValueError for what is no address: the far end of a link in a virtual machine is all
    ones.
    """
    match = _BUS_ID.fullmatch(bus_id.lower())
    if match is None:
        raise ValueError(f"{bus_id!r} is no PCI address")
    return f"{int(match[1], 16):04x}:{match[2]}"


def _bus(asking: Asking) -> Bus:
    found = asking.value("nvmlDeviceGetPciInfo", read=_read_bus)
    if isinstance(found, Absence):
        return Bus(address=found, pci_id=found, subsystem_id=found)
    return found


def _read_bus(info: Any) -> Bus:
    return Bus(
        address=pci_address(member_text(info, "busId")),
        pci_id=_bus_pair(info.pciDeviceId),
        subsystem_id=_bus_pair(info.pciSubSystemId),
    )


def _bus_pair(number: int) -> str:
    """``10de:2330`` from 0x233010de: the vendor is in the lower half."""
    return f"{number & 0xFFFF:04x}:{number >> 16:04x}"


def _memory(asking: Asking) -> Memory:
    """The newer call keeps what the driver reserves apart from what is used; the older adds it."""
    call = "nvmlDeviceGetMemoryInfo"
    found = asking.value(call, MEMORY_INFO_V2, read=_read_memory)
    if isinstance(found, Absence) and found.reason == LACKING:
        found = asking.value(call, read=_read_memory)
    return Memory(total_GiB=found, used_GiB=found) if isinstance(found, Absence) else found


def _read_memory(info: Any) -> Memory:
    if not info.total:
        raise ValueError("the driver tells a memory of 0 bytes")
    return Memory(
        total_GiB=round(int(info.total) / GIB, 2), used_GiB=round(int(info.used) / GIB, 3)
    )


def _slices(asking: Asking) -> tuple[Slice, ...] | Absence:
    count = asking.whole("nvmlDeviceGetMaxMigDeviceCount")
    if isinstance(count, Absence):
        return count
    found = []
    for index in range(count):
        handle = asking.value("nvmlDeviceGetMigDeviceHandleByIndex", index, read=as_is)
        if not isinstance(handle, Absence):
            found.append(_slice(asking.about(f"{asking.of} slice {index}", handle)))
        elif handle.reason != "not found":  # an empty place is no fault
            return handle
    return tuple(found)


def _slice(asking: Asking) -> Slice:
    name = known(asking.text("nvmlDeviceGetName")) or ""
    _, marked, profile = name.partition(" MIG ")
    if not marked:  # a driver that names the card alone
        profile = known(asking.value("nvmlDeviceGetAttributes", read=_profile)) or "unknown"
    return Slice(name=profile, uuid=known(asking.text("nvmlDeviceGetUUID")) or "")


def _profile(attributes: Any) -> str:
    """NVIDIA's name of a slice: its share of the chip, and its memory rounded up to whole GiB."""
    return f"{attributes.gpuInstanceSliceCount}g.{math.ceil(attributes.memorySizeMB / 1024)}gb"
