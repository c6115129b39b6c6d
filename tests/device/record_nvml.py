"""Writes down what NVML answers on this machine: every call that preflight makes, raw.

    python record_nvml.py > nvml.json

It needs nvidia-ml-py and nothing of preflight, reads only, and changes no setting. Each answer is
the value as nvidia-ml-py gives it (structs by the names of their members) or the error with its
code, and the milliseconds that it took.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import sys
import time
from typing import Any

SYSTEM = (
    ("nvmlSystemGetDriverVersion",),
    ("nvmlSystemGetNVMLVersion",),
    ("nvmlSystemGetCudaDriverVersion_v2",),
    ("nvmlSystemGetConfComputeState",),
    ("nvmlDeviceGetCount",),
)
DEVICE = (
    ("nvmlDeviceGetName",),
    ("nvmlDeviceGetUUID",),
    ("nvmlDeviceGetSerial",),
    ("nvmlDeviceGetBoardPartNumber",),
    ("nvmlDeviceGetVbiosVersion",),
    ("nvmlDeviceGetPciInfo",),
    ("nvmlDeviceGetMinorNumber",),
    ("nvmlDeviceGetMemoryInfo",),
    ("nvmlDeviceGetMemoryInfo", 0x02000028),
    ("nvmlDeviceGetCudaComputeCapability",),
    ("nvmlDeviceGetPersistenceMode",),
    ("nvmlDeviceGetComputeMode",),
    ("nvmlDeviceGetMigMode",),
    ("nvmlDeviceGetMaxMigDeviceCount",),
    ("nvmlDeviceGetCurrPcieLinkGeneration",),
    ("nvmlDeviceGetCurrPcieLinkWidth",),
    ("nvmlDeviceGetMaxPcieLinkGeneration",),
    ("nvmlDeviceGetMaxPcieLinkWidth",),
    ("nvmlDeviceGetGpuMaxPcieLinkGeneration",),
    ("nvmlDeviceGetPcieReplayCounter",),
    ("nvmlDeviceGetEccMode",),
    *(("nvmlDeviceGetTotalEccErrors", kind, since) for kind in (0, 1) for since in (0, 1)),
    ("nvmlDeviceGetRemappedRows",),
    ("nvmlDeviceGetRowRemapperHistogram",),
    *(("nvmlDeviceGetRetiredPages", cause) for cause in (0, 1)),
    ("nvmlDeviceGetRetiredPagesPendingStatus",),
    ("nvmlDeviceGetRepairStatus",),
    *(("nvmlDeviceGetClockInfo", kind) for kind in (1, 2)),
    *(("nvmlDeviceGetMaxClockInfo", kind) for kind in (1, 2)),
    ("nvmlDeviceGetCurrentClocksEventReasons",),
    ("nvmlDeviceGetCurrentClocksThrottleReasons",),
    ("nvmlDeviceGetPerformanceState",),
    ("nvmlDeviceGetTemperature", 0),
    ("nvmlDeviceGetTemperatureV", 0),
    *(("nvmlDeviceGetTemperatureThreshold", kind) for kind in (0, 1)),
    ("nvmlDeviceGetPowerUsage",),
    ("nvmlDeviceGetEnforcedPowerLimit",),
    ("nvmlDeviceGetPowerManagementDefaultLimit",),
    ("nvmlDeviceGetPowerManagementLimitConstraints",),
    ("nvmlDeviceGetComputeRunningProcesses_v3",),
    ("nvmlDeviceGetComputeRunningProcesses_v2",),
)
"""Each is a function of pynvml and what it takes after the handle."""
SLICE = (("nvmlDeviceGetName",), ("nvmlDeviceGetUUID",), ("nvmlDeviceGetAttributes",))
LINK = (
    ("nvmlDeviceGetNvLinkState",),
    ("nvmlDeviceGetNvLinkVersion",),
    ("nvmlDeviceGetNvLinkRemoteDeviceType",),
    ("nvmlDeviceGetNvLinkRemotePciInfo",),
    *(("nvmlDeviceGetNvLinkErrorCounter", counter) for counter in range(4)),
)
"""They take the number of the link first."""
PAIR = (
    ("nvmlDeviceGetTopologyCommonAncestor",),
    *(("nvmlDeviceGetP2PStatus", what) for what in (0, 1)),
)
"""They take the other device first."""
STRUCTS = (
    ("nvmlSystemGetConfComputeSettings", "c_nvmlSystemConfComputeSettings_v1_t"),
    ("nvmlDeviceGetGpuFabricInfoV", "c_nvmlGpuFabricInfo_v3_t"),
    ("nvmlDeviceGetGpuFabricInfoV", "c_nvmlGpuFabricInfo_v2_t"),
    ("nvmlDeviceGetGpuFabricInfo", "c_nvmlGpuFabricInfo_t"),
)
"""Functions that fill a struct of pynvml."""
FIELDS = (82, 90, 91, 161, 162, 163, 230)
"""NVML_FI_DEV_... of a device."""
LINK_FIELDS = (161, 162, 163, 164, 208, 211, 215, 219)
"""Those that take the number of a link."""
UNION_MEMBERS = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
"""Of nvmlValue_t, by nvmlValueType_t."""
MOST_LINKS = 18

Answer = dict[str, Any]


def record(pynvml: Any) -> dict[str, Any]:
    """All answers, through the module ``pynvml``, whose library is open."""
    found: dict[str, Any] = {"system": [_call(pynvml, None, *call) for call in SYSTEM]}
    found["system"] += [_struct(pynvml, None, *one) for one in STRUCTS if "System" in one[0]]
    count = next(a for a in found["system"] if a["call"] == "nvmlDeviceGetCount").get("value", 0)
    handles: dict[int, Any] = {}
    found["devices"] = []
    for index in range(count):
        handle = _handle(pynvml, "nvmlDeviceGetHandleByIndex", index)
        if isinstance(handle, dict):
            found["devices"].append({"index": index, "handle": handle})
            continue
        handles[index] = handle
        found["devices"].append({"index": index, **_device(pynvml, handle)})
    found["pairs"] = [
        {"one": one, "other": other, **_call(pynvml, handles[one], name, handles[other], *rest)}
        for one, other in itertools.permutations(handles, 2)
        for name, *rest in PAIR
    ]
    return found


def _device(pynvml: Any, handle: Any) -> dict[str, Any]:
    links = range(_link_count(pynvml, handle))
    return {
        "calls": [
            *(_call(pynvml, handle, *call) for call in DEVICE),
            *(_struct(pynvml, handle, *one) for one in STRUCTS if "System" not in one[0]),
        ],
        "fields": _fields(pynvml, handle, [(one, 0) for one in FIELDS]),
        "slices": _slices(pynvml, handle),
        "links": [
            {
                "link": link,
                "calls": [_call(pynvml, handle, name, link, *rest) for name, *rest in LINK],
                "fields": _fields(pynvml, handle, [(one, link) for one in LINK_FIELDS]),
            }
            for link in links
        ],
    }


def _slices(pynvml: Any, handle: Any) -> list[dict[str, Any]]:
    """MIG slices; the first number without one ends them."""
    found = []
    for index in range(16):
        one = _handle(pynvml, "nvmlDeviceGetMigDeviceHandleByIndex", handle, index)
        if isinstance(one, dict):
            break
        found.append({"index": index, "calls": [_call(pynvml, one, *call) for call in SLICE]})
    return found


def _link_count(pynvml: Any, handle: Any) -> int:
    """NVML_FI_DEV_NVLINK_LINK_COUNT, or as many as the first that is refused lets."""
    (told,) = _fields(pynvml, handle, [(91, 0)])
    if isinstance(told.get("value"), int):
        return int(told["value"])
    states = (_call(pynvml, handle, "nvmlDeviceGetNvLinkState", i) for i in range(MOST_LINKS))
    return sum(1 for _ in itertools.takewhile(lambda answer: "value" in answer, states))


def _fields(pynvml: Any, handle: Any, asked: list[tuple[int, int]]) -> list[Answer]:
    """Each field with its scope, the type of its value, and the value."""
    whole = _call(pynvml, handle, "nvmlDeviceGetFieldValues", asked)
    if "error" in whole:
        return [{"field": field, "scope": scope, "error": whole["error"]} for field, scope in asked]
    return [
        {"field": field, "scope": scope, **_field(told)}
        for (field, scope), told in zip(asked, whole["value"], strict=True)
    ]


def _field(told: dict[str, Any]) -> Answer:
    if told["nvmlReturn"]:
        return {"error": {"code": told["nvmlReturn"]}}
    kind = told["valueType"]
    known = kind < len(UNION_MEMBERS) and UNION_MEMBERS[kind] in told["value"]
    return {"type": kind, "value": told["value"][UNION_MEMBERS[kind]] if known else None}


def _struct(pynvml: Any, handle: Any, name: str, struct: str) -> Answer:
    """A function that fills a struct, which its answer then is."""
    kind = getattr(pynvml, struct, None)
    if kind is None:
        return {"call": name, "struct": struct, "error": {"text": f"pynvml has no {struct}"}}
    made = kind()
    answer = {"struct": struct, **_call(pynvml, handle, name, ctypes.byref(made))}
    if answer.get("value") == 0:
        answer["value"] = plain(made)
    elif "value" in answer:  # pynvml gives the code of these back, and raises for none
        answer["error"] = {"code": answer.pop("value")}
    return answer


def _handle(pynvml: Any, name: str, *arguments: Any) -> Any:
    """A handle, or the error as a dictionary."""
    try:
        return getattr(pynvml, name)(*arguments)
    except pynvml.NVMLError as error:
        return {"error": {"code": error.value, "text": str(error)}}


def _call(pynvml: Any, handle: Any, name: str, *arguments: Any) -> Answer:
    """One call with its answer."""
    answer: Answer = {"call": name}
    shown = [one for one in arguments if isinstance(one, (int, str))]
    if shown:
        answer["arguments"] = shown
    function = getattr(pynvml, name, None)
    if function is None:
        return {**answer, "error": {"text": f"pynvml has no {name}"}}
    given = arguments if handle is None else (handle, *arguments)
    start = time.perf_counter()
    try:
        answer["value"] = plain(function(*given))
    except pynvml.NVMLError as error:
        answer["error"] = {"code": error.value, "text": str(error)}
    except (UnicodeDecodeError, TypeError, AttributeError) as error:  # of pynvml's own making
        answer["error"] = {"text": f"{type(error).__name__}: {error}"}
    answer["ms"] = round((time.perf_counter() - start) * 1000, 3)
    return answer


def plain(value: Any) -> Any:
    """A value as JSON has it; structs and unions by the names of their members."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, (ctypes.Structure, ctypes.Union)):
        return {name: plain(getattr(value, name)) for name, *_ in value._fields_}
    if isinstance(value, (list, tuple, ctypes.Array)):
        return [plain(one) for one in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return plain(value.value) if hasattr(value, "value") else repr(type(value))


def main() -> int:
    """Print the record; 1 where NVML cannot be opened, which is printed too."""
    try:
        import pynvml
    except ImportError as error:
        print(json.dumps({"error": {"text": f"nvidia-ml-py: {error}"}}))
        return 1
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        print(json.dumps({"error": {"code": error.value, "text": str(error)}}))
        return 1
    print(json.dumps({"python": sys.version.split()[0], **record(pynvml)}, indent=1))
    pynvml.nvmlShutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
