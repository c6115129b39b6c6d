"""NVLink and the NVSwitch fabric, as NVML tells of them for one card."""

from __future__ import annotations

import ctypes
import uuid
from collections.abc import Sequence
from typing import Any

from preflight.facts import Absence, Fabric, Link, Number, Text, Whole, known
from preflight.hardware.nvidia_identity import pci_address
from preflight.hardware.nvml_calls import (
    LACKING,
    Asking,
    Field,
    checked,
    member_text,
    worded,
    words_of,
)

MAX_LINKS = 36
"""NVML_NVLINK_MAX_LINKS of nvml.h (R610)."""
SWITCH, GPU, UNKNOWN_END = "switch", "gpu", "unknown"
"""First word of Link.remote."""
_ENDS = {0: GPU, 1: "cpu", 2: SWITCH, 0xFF: UNKNOWN_END}
"""nvmlIntNvLinkDeviceType_t of nvml.h."""
_VERSIONS = {1: "1.0", 2: "2.0", 3: "2.2", 4: "3.0", 5: "3.1", 6: "4.0", 7: "5.0", 8: "6.0"}
"""nvmlNvlinkVersion_t of nvml.h."""
_STATES = {0: "inactive", 1: "active"}

_COUNTERS = (
    (Field.NVLINK_ERROR_DL_REPLAY, Field.NVLINK_ERROR_DL_RECOVERY, Field.NVLINK_ERROR_DL_CRC),
    (
        Field.NVLINK_COUNT_RCV_ERRORS,
        Field.NVLINK_COUNT_LOCAL_LINK_INTEGRITY_ERRORS,
        Field.NVLINK_COUNT_LINK_RECOVERY_EVENTS,
        Field.NVLINK_COUNT_EFFECTIVE_ERRORS,
    ),
)
"""What Hopper counts, and what Blackwell counts in its place: of both the whole is 0 on a sound
link. Corrected symbols (FEC) are left out, for every NVLink 5 has them by the billion."""
_OLD_COUNTERS = {0: "replay", 1: "recovery", 2: "CRC of flits", 3: "CRC of data"}
"""nvmlNvLinkErrorCounter_t of nvml.h, for cards before Hopper."""

_FABRIC_STATES = {0: "not supported", 1: "not started", 2: "in progress", 3: "completed"}
_COMPLETED = 3
_FABRIC_FLAGS = (
    (0, "degraded bandwidth"),
    (2, "route recovery"),
    (4, "route unhealthy"),
    (6, "access timeout recovery"),
)
"""Position in the health mask (NVML_GPU_FABRIC_HEALTH_MASK_SHIFT_...); two bits each: 0 is not
supported, 1 is true, 2 is false."""
_CONFIGURATION_SHIFT = 8
_CONFIGURATIONS = {
    2: "incorrect system GUID",
    3: "incorrect chassis serial number",
    4: "no partition",
    5: "insufficient NVLinks",
    6: "incompatible GPU firmware",
    7: "invalid location",
    8: "invalid GPU state",
}
"""NVML_GPU_FABRIC_HEALTH_MASK_INCORRECT_CONFIGURATION_...; 0 is not supported, 1 is none."""
_SUMMARIES = {2: "unhealthy", 3: "limited capacity"}
"""NVML_GPU_FABRIC_HEALTH_SUMMARY_...; 0 is not supported, 1 is healthy."""


class _FabricInfo(ctypes.Structure):
    """nvmlGpuFabricInfo_t of nvml.h; that of nvidia-ml-py 12.535 has another layout than R535."""

    _fields_ = (
        ("clusterUuid", ctypes.c_uint8 * 16),
        ("status", ctypes.c_uint),
        ("cliqueId", ctypes.c_uint),
        ("state", ctypes.c_uint8),
    )


class _FabricInfo2(ctypes.Structure):
    """nvmlGpuFabricInfo_v2_t."""

    _fields_ = (
        ("version", ctypes.c_uint),
        *_FabricInfo._fields_,
        ("healthMask", ctypes.c_uint),
    )


class _FabricInfo3(ctypes.Structure):
    """nvmlGpuFabricInfo_v3_t."""

    _fields_ = (
        *_FabricInfo2._fields_,
        ("healthSummary", ctypes.c_uint8),
    )


def read_links(asking: Asking) -> tuple[Link, ...] | Absence:
    """All links of a card, the inactive too; an absence where the card tells of none."""
    count, common = asking.fields(Field.NVLINK_LINK_COUNT, Field.NVLINK_SPEED_MBPS_COMMON)
    found: list[Link] = []
    for index in range(MAX_LINKS if isinstance(count, Absence) else int(count)):
        one = asking.about(f"{asking.of} link {index}")
        state = one.word("nvmlDeviceGetNvLinkState", index, words=_STATES)
        if isinstance(state, Absence) and isinstance(count, Absence):
            if not found:
                return state
            if state.reason == "not supported":
                break  # one past the last link
        found.append(_link(one, index, state, common))
    lost = [link.state for link in found if isinstance(link.state, Absence)]
    return lost[0] if found and len(lost) == len(found) else tuple(found)


def read_fabric(asking: Asking) -> Fabric:
    """The card's place in the fabric; the older the driver, the less it tells."""
    info: Any = None
    failed: Absence | None = None
    for version, kind in ((3, _FabricInfo3), (2, _FabricInfo2)):
        info = kind(version=ctypes.sizeof(kind) | version << 24)
        failed = _fill(asking, "nvmlDeviceGetGpuFabricInfoV", info)
        if failed is None or failed.reason != LACKING:
            break
    health: Text = _health(info) if failed is None else failed
    if failed is not None and failed.reason == LACKING:
        info = _FabricInfo()
        failed = _fill(asking, "nvmlDeviceGetGpuFabricInfo", info)
    if failed is not None:
        return Fabric(state=failed, status=failed, cluster=failed, clique=failed, health=failed)
    return _fabric(info, health)


def _link(one: Asking, index: int, state: Text, common: int | float | Absence) -> Link:
    speed, *counted = one.fields(Field.NVLINK_GET_SPEED, *_COUNTERS[0], *_COUNTERS[1], scope=index)
    if isinstance(speed, Absence) and state == "active":
        speed = common
    rate: Number = speed if isinstance(speed, Absence) else float(speed) / 1000
    return Link(
        index=index,
        state=state,
        version=one.value("nvmlDeviceGetNvLinkVersion", index, read=_version),
        remote=_remote(one, index),
        rate_GBps=rate,
        errors=_errors(one, index, counted),
    )


def _version(number: int) -> str:
    if number == 0:
        raise ValueError("the link tells no valid version")
    return worded(number, _VERSIONS)


def _remote(one: Asking, index: int) -> Text:
    """``switch 0000:05:00.0``; ``switch`` where the far end has no address that we could see."""
    end = one.word("nvmlDeviceGetNvLinkRemoteDeviceType", index, words=_ENDS)
    address = one.value("nvmlDeviceGetNvLinkRemotePciInfo", index, read=_far_address)
    told = [word for word in (known(end), known(address)) if word is not None]
    return " ".join(told) if told else end


def _far_address(info: Any) -> str:
    return pci_address(member_text(info, "busId"))


def _errors(one: Asking, index: int, counted: Sequence[int | float | Absence]) -> Whole:
    """Errors of the first family of counters that this card has."""
    first = len(_COUNTERS[0])
    for family in (counted[:first], counted[first:]):
        numbers = [int(number) for number in family if not isinstance(number, Absence)]
        if numbers:
            return sum(numbers)
    call = "nvmlDeviceGetNvLinkErrorCounter"
    old = [one.whole(call, index, counter) for counter in _OLD_COUNTERS]
    numbers = [number for number in old if not isinstance(number, Absence)]
    return sum(numbers) if numbers else old[0]


def _fill(asking: Asking, call: str, info: ctypes.Structure) -> Absence | None:
    """None where ``info`` has been filled."""
    return asking.value(call, ctypes.byref(info), read=checked)


def _fabric(info: Any, health: Text) -> Fabric:
    state = worded(info.state, _FABRIC_STATES)
    if info.state != _COMPLETED:  # nvml.h: the rest is to be looked at only after that
        rest = Absence(what="GPU fabric", reason="not supported", detail=f"registration: {state}")
        return Fabric(state=state, status=rest, cluster=rest, clique=rest, health=health)
    return Fabric(
        state=state,
        status=words_of(info.status).lower() if info.status else "success",
        cluster=str(uuid.UUID(bytes=bytes(info.clusterUuid))),
        clique=info.cliqueId,
        health=health,
    )


def _health(info: Any) -> Text:
    flags = [(info.healthMask >> shift & 3, word) for shift, word in _FABRIC_FLAGS]
    wrong = [word for flag, word in flags if flag == 1]
    configuration = info.healthMask >> _CONFIGURATION_SHIFT & 0xF
    if configuration > 1:
        wrong.append(f"incorrect configuration: {worded(configuration, _CONFIGURATIONS)}")
    summary = getattr(info, "healthSummary", 0)
    if summary > 1:
        wrong.append(worded(summary, _SUMMARIES))
    if wrong:
        return ", ".join(wrong)
    if configuration or summary or any(flag for flag, _ in flags):
        return "healthy"
    detail = "the fabric tells no health of this card"
    return Absence(what="nvmlDeviceGetGpuFabricInfoV", reason="not supported", detail=detail)
