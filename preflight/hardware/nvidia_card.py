"""Health and configuration of one NVIDIA card, field by field: one failing call costs one fact."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from preflight.facts import (
    Absence,
    Card,
    Clocks,
    Ecc,
    Number,
    Pcie,
    Power,
    Process,
    RemappedRows,
    RetiredPages,
    Temperature,
    Text,
    Whole,
)
from preflight.hardware.files import Files
from preflight.hardware.nvidia_identity import GIB, Identity
from preflight.hardware.nvidia_links import read_fabric, read_links
from preflight.hardware.nvml_calls import Asking, Field, as_is, worded

_COMPUTE_MODES = {0: "default", 1: "exclusive thread", 2: "prohibited", 3: "exclusive process"}
_SM, _MEMORY = 1, 2
"""nvmlClockType_t."""
_CORRECTED, _UNCORRECTED = 0, 1
"""nvmlMemoryErrorType_t."""
_VOLATILE, _AGGREGATE = 0, 1
"""nvmlEccCounterType_t."""
_SINGLE_BIT, _DOUBLE_BIT = 0, 1
"""nvmlPageRetirementCause_t."""
_SHUTDOWN, _SLOWDOWN = 0, 1
"""nvmlTemperatureThresholds_t."""
_CLOCK_REASONS = (
    "gpu idle",
    "applications clocks setting",
    "sw power cap",
    "hw slowdown",
    "sync boost",
    "sw thermal slowdown",
    "hw thermal slowdown",
    "hw power brake slowdown",
    "display clock setting",
    "board limit",
    "reliability",
)
"""nvmlClocksEventReason... of nvml.h, in the order of their bits."""
_RECOVERY_ACTIONS = {
    0: "none",
    1: "gpu reset",
    2: "node reboot",
    3: "drain p2p",
    4: "drain and reset",
    5: "recover imex domain",
    6: "bus reset",
    7: "system reboot",
}
"""nvmlDeviceGpuRecoveryAction_t of nvml.h (R610)."""


def read_card(asking: Asking, identity: Identity, files: Files) -> Card:
    """All facts of a card beyond its identity."""
    slices = identity.slices
    return Card(
        device=identity.name,
        serial=asking.text("nvmlDeviceGetSerial"),
        board=asking.text("nvmlDeviceGetBoardPartNumber"),
        vbios=asking.text("nvmlDeviceGetVbiosVersion"),
        pci_id=identity.bus.pci_id,
        subsystem_id=identity.bus.subsystem_id,
        persistence=asking.flag("nvmlDeviceGetPersistenceMode"),
        compute_mode=asking.word("nvmlDeviceGetComputeMode", words=_COMPUTE_MODES),
        mig=identity.mig,
        mig_slices=slices if isinstance(slices, Absence) else tuple(one.name for one in slices),
        memory_used_GiB=identity.memory.used_GiB,
        numa_node=_near(asking, identity, "numa_node", files.whole),
        near_cpus=_near(asking, identity, "local_cpulist", files.text),
        pcie=_pcie(asking),
        ecc=_ecc(asking),
        remapped=_remapped(asking),
        retired=_retired(asking),
        recovery_action=_recovery_action(asking),
        repair=asking.value("nvmlDeviceGetRepairStatus", read=_repair),
        links=read_links(asking),
        fabric=read_fabric(asking),
        clocks=_clocks(asking),
        temperature=_temperature(asking),
        power=_power(asking),
        processes=_processes(asking),
    )


def _near(
    asking: Asking, identity: Identity, name: str, read: Callable[[str], Any | Absence]
) -> Any:
    """What the kernel says of the card's place among the CPUs."""
    address = identity.bus.address
    if isinstance(address, Absence):
        return address
    path = f"/sys/bus/pci/devices/{address}/{name}"
    asking.say(path)
    return read(path)


def _pcie(asking: Asking) -> Pcie:
    return Pcie(
        generation=asking.whole("nvmlDeviceGetCurrPcieLinkGeneration"),
        width=asking.whole("nvmlDeviceGetCurrPcieLinkWidth"),
        max_generation=asking.whole("nvmlDeviceGetMaxPcieLinkGeneration"),
        max_width=asking.whole("nvmlDeviceGetMaxPcieLinkWidth"),
        card_max_generation=asking.whole("nvmlDeviceGetGpuMaxPcieLinkGeneration"),
        replays=asking.whole("nvmlDeviceGetPcieReplayCounter"),
    )


def _ecc(asking: Asking) -> Ecc:
    modes = asking.value("nvmlDeviceGetEccMode", read=as_is)
    enabled, pending = (modes, modes) if isinstance(modes, Absence) else map(bool, modes)

    def total(kind: int, since: int) -> Whole:
        return asking.whole("nvmlDeviceGetTotalEccErrors", kind, since)

    return Ecc(
        enabled=enabled,
        pending=pending,
        corrected=total(_CORRECTED, _VOLATILE),
        uncorrected=total(_UNCORRECTED, _VOLATILE),
        lifetime_corrected=total(_CORRECTED, _AGGREGATE),
        lifetime_uncorrected=total(_UNCORRECTED, _AGGREGATE),
    )


def _remapped(asking: Asking) -> RemappedRows:
    rows = asking.value("nvmlDeviceGetRemappedRows", read=_rows)
    banks = asking.value("nvmlDeviceGetRowRemapperHistogram", read=_banks)
    without, total = (banks, banks) if isinstance(banks, Absence) else banks
    told = RemappedRows(banks_without_spares=without, banks=total)
    lost = dict.fromkeys(("corrected", "uncorrected", "pending", "failed"), rows)
    return msgspec.structs.replace(told, **(lost if isinstance(rows, Absence) else rows))


def _rows(told: Sequence[int]) -> dict[str, int | bool]:
    corrected, uncorrected, pending, failed = told
    return {
        "corrected": corrected,
        "uncorrected": uncorrected,
        "pending": bool(pending),
        "failed": bool(failed),
    }


def _banks(histogram: Any) -> tuple[int, int]:
    """Banks without a spare row, and all banks."""
    levels = (histogram.max, histogram.high, histogram.partial, histogram.low, histogram.none)
    return histogram.none, sum(levels)


def _retired(asking: Asking) -> RetiredPages:
    call = "nvmlDeviceGetRetiredPages"
    return RetiredPages(
        single_bit=asking.value(call, _SINGLE_BIT, read=len),
        double_bit=asking.value(call, _DOUBLE_BIT, read=len),
        pending=asking.flag("nvmlDeviceGetRetiredPagesPendingStatus"),
    )


def _recovery_action(asking: Asking) -> Text:
    (action,) = asking.fields(Field.GET_GPU_RECOVERY_ACTION)
    return action if isinstance(action, Absence) else worded(int(action), _RECOVERY_ACTIONS)


def _repair(pending: tuple[int, int]) -> str:
    """pynvml gives whether a repair of channels and one of TPCs waits for the next reset."""
    waiting = [
        f"{what} repair pending"
        for what, waits in zip(("channel", "tpc"), pending, strict=True)
        if waits
    ]
    return ", ".join(waiting) or "none"


def _clocks(asking: Asking) -> Clocks:
    now, most = "nvmlDeviceGetClockInfo", "nvmlDeviceGetMaxClockInfo"
    # The same question: NVIDIA renamed "throttle reasons" in R535.
    calls = ("nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons")
    return Clocks(
        sm_MHz=asking.whole(now, _SM),
        sm_max_MHz=asking.whole(most, _SM),
        memory_MHz=asking.whole(now, _MEMORY),
        memory_max_MHz=asking.whole(most, _MEMORY),
        slowed_by=asking.first(calls, read=clock_reasons),
    )


def clock_reasons(mask: int) -> tuple[str, ...]:
    """Words for the bits of NVML's clock event reasons; a newer bit is told as such."""
    return tuple(
        _CLOCK_REASONS[bit] if bit < len(_CLOCK_REASONS) else f"unknown ({1 << bit:#x})"
        for bit in range(mask.bit_length())
        if mask >> bit & 1
    )


def _temperature(asking: Asking) -> Temperature:
    threshold = "nvmlDeviceGetTemperatureThreshold"
    (memory,) = asking.fields(Field.MEMORY_TEMP)
    return Temperature(
        card_C=asking.first(
            ("nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureV"), 0, read=float
        ),
        memory_C=memory if isinstance(memory, Absence) else float(memory),
        slowdown_C=asking.value(threshold, _SLOWDOWN, read=float),
        shutdown_C=asking.value(threshold, _SHUTDOWN, read=float),
    )


def _power(asking: Asking) -> Power:
    limits = "nvmlDeviceGetPowerManagementLimitConstraints"
    return Power(
        draw_W=asking.value("nvmlDeviceGetPowerUsage", read=_watts),
        limit_W=asking.value("nvmlDeviceGetEnforcedPowerLimit", read=_watts),
        default_limit_W=asking.value("nvmlDeviceGetPowerManagementDefaultLimit", read=_watts),
        max_limit_W=asking.value(limits, read=lambda least_and_most: _watts(least_and_most[1])),
    )


def _watts(milliwatts: int) -> float:
    return milliwatts / 1000


def _processes(asking: Asking) -> tuple[Process, ...] | Absence:
    """Processes that compute on the card, but for this one."""
    calls = ("nvmlDeviceGetComputeRunningProcesses_v3", "nvmlDeviceGetComputeRunningProcesses_v2")
    found = asking.first(calls, read=list)
    if isinstance(found, Absence):
        return found
    return tuple(_process(asking, one) for one in found if one.pid != os.getpid())


def _process(asking: Asking, told: Any) -> Process:
    used = told.usedGpuMemory
    hidden = Absence(
        what="usedGpuMemory", reason="not supported", detail="the driver keeps no account of it"
    )
    memory: Number = hidden if used is None else round(used / GIB, 3)
    system = asking.system(f"pid {told.pid}")
    name = system.text("nvmlSystemGetProcessName", told.pid)
    return Process(pid=told.pid, name=name, memory_GiB=memory)
