"""The raw record of NVML, over a library that is simulated."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pynvml
import pytest

import preflight.hardware
from preflight.hardware.nvml_calls import Field
from preflight.hardware.simulated_nvml import SimulatedNvml

from . import record_nvml

HARDWARE = Path(preflight.hardware.__file__).parent
NOT_ANSWERS = {
    "nvmlDeviceGetHandleByIndex",
    "nvmlDeviceGetHandleByPciBusId",
    "nvmlDeviceGetMigDeviceHandleByIndex",
    "nvmlDeviceGetFieldValues",
    "nvmlSystemGetProcessName",
}
"""What gives a handle is not written down, fields stand apart, and names of processes are the
user's."""
newer = pytest.mark.skipif(
    not hasattr(pynvml, "nvmlDeviceGetRepairStatus"),
    reason="the oldest nvidia-ml-py that preflight runs with lacks some of these calls",
)


@pytest.fixture
def library() -> Iterator[SimulatedNvml]:
    """Two healthy cards, NVML opened."""
    made = SimulatedNvml(2)
    with made.put_in_place():
        pynvml.nvmlInit()
        yield made
        pynvml.nvmlShutdown()


def answers(found: dict[str, Any], call: str) -> list[dict[str, Any]]:
    """What the first device said to a call."""
    return [one for one in found["devices"][0]["calls"] if one["call"] == call]


def test_every_call_of_the_backend_is_recorded() -> None:
    """A getter that hardware/ names is in one of the lists, so that a record stands for it."""
    text = "".join(path.read_text() for path in HARDWARE.glob("n*.py"))
    used = set(re.findall(r'"(nvml(?:Device|System)Get\w+)"', text))
    listed = (
        record_nvml.SYSTEM,
        record_nvml.DEVICE,
        record_nvml.SLICE,
        record_nvml.LINK,
        record_nvml.PAIR,
        record_nvml.STRUCTS,
    )
    assert len(used) > 30
    assert used - NOT_ANSWERS <= {call[0] for calls in listed for call in calls}
    assert {int(field) for field in Field} <= {*record_nvml.FIELDS, *record_nvml.LINK_FIELDS}


@newer
def test_values_are_as_the_driver_gives_them(library: SimulatedNvml) -> None:
    """Milliwatts, bytes and numbers of enumerations stay what they are, and it is JSON."""
    found = json.loads(json.dumps(record_nvml.record(pynvml), allow_nan=False))
    assert [device["index"] for device in found["devices"]] == [0, 1]
    assert answers(found, "nvmlDeviceGetPowerUsage")[0]["value"] == 70500
    old, new = answers(found, "nvmlDeviceGetMemoryInfo")
    assert old["value"]["total"] == 81559 << 20
    assert new["arguments"] == [0x02000028] and "reserved" in new["value"]
    assert {"one", "other", "call", "value"} <= set(found["pairs"][0])
    memory = found["devices"][0]["fields"][0]
    assert (memory["field"], memory["value"]) == (82, 41)
    link = found["devices"][0]["links"][0]
    assert link["link"] == 0 and link["calls"][0]["value"] == 1


def test_errors_are_kept_with_their_code(library: SimulatedNvml) -> None:
    """An error is an answer too, and the calls after it are made."""
    found = record_nvml.record(pynvml)
    (pages, _) = answers(found, "nvmlDeviceGetRetiredPages")
    assert pages["error"] == {"code": 3, "text": "Not Supported"}
    assert "value" not in pages
    assert answers(found, "nvmlDeviceGetEnforcedPowerLimit")[0]["value"] == 700000


def test_a_call_that_the_binding_lacks_is_said(library: SimulatedNvml) -> None:
    """An old nvidia-ml-py is told apart from an old driver."""
    answer = record_nvml._call(pynvml, None, "nvmlSystemGetWhatNobodyKnows")
    assert answer["error"] == {"text": "pynvml has no nvmlSystemGetWhatNobodyKnows"}


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="there is a driver of NVIDIA here")
def test_without_a_driver_the_error_is_the_record() -> None:
    """The script ends with 1, and says in JSON what NVML said."""
    done = subprocess.run(
        [sys.executable, record_nvml.__file__], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 1
    assert json.loads(done.stdout)["error"]["text"]
