"""Faults that people met on real machines: what the stages order and driver say of each.

Every machine is written down from a public report, whose thread its entry names.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import pytest

from preflight.events import Environment
from preflight.facts import (
    Absence,
    BusCard,
    Card,
    DeviceFile,
    Driver,
    Fabric,
    Grid,
    HostFacts,
)
from preflight.harness import CannotLook, Situation
from preflight.harness.result import Result
from preflight.records import Device

from .situations import asking, card, environment, facts, judged, load, mi300x, situation

ORDER = ("check_010_order", "check_011_order_product", "check_012_order_memory")
FILES = {
    "order": (*ORDER, "check_013_order_link"),
    "driver": ("check_020_driver", "check_021_driver_versions", "check_022_driver_state"),
}
STATUSES = ("skip", "pass", "warn", "error", "fail")
"""From the mildest on."""


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A machine, and what is to be said of it."""

    thread: str
    order: dict[str, Any]
    devices: tuple[Device, ...]
    torch: Environment = field(default_factory=environment)
    machine: dict[str, Any] = field(default_factory=dict)
    inventory: dict[str, Any] = field(default_factory=dict)
    expected: dict[str, str]
    """Worst status of each stage."""
    words: str
    """What some reason or action of the worst ones says."""
    never: str = "\0"
    """What none of them may say."""


def cards(count: int, **fields: Any) -> tuple[Device, ...]:
    """So many devices alike."""
    return tuple(card(index, **fields) for index in range(count))


def grid(word: str) -> Grid:
    """Two cards, joined in this way."""
    return Grid(names=("gpu0", "gpu1"), rows=(("X", word), (word, "X")))


NVIDIA_L40S = {"product": "NVIDIA L40S", "memory_GiB": 44.99, "architecture": "sm_89"}
UNSTARTED = {"cuda_available": False, "cuda_error": "No CUDA GPUs are available"}
EINVAL = Absence(what="/dev/kfd", reason="failed", detail="Invalid argument")

FAULTS = (
    Fault(
        thread="pytorch/pytorch#43058",
        order={"gpus": 2, "product": "V100"},
        devices=cards(
            2,
            product="Tesla V100-PCIE-16GB",
            architecture="sm_70",
            driver="418.67",
            memory_GiB=15.8,
        ),
        torch=environment(torch="1.6.0", cuda="10.2", cuda_available=False),
        expected={"order": "pass", "driver": "fail"},
        words="driver 418.67 is older than 440.33, the floor of CUDA 10.2",
    ),
    Fault(
        thread="pytorch/pytorch#33469",
        order={"gpus": 2, "product": "TITAN Xp"},
        devices=cards(
            2, product="TITAN Xp", architecture="sm_61", driver="410.129", memory_GiB=11.9
        ),
        torch=environment(torch="1.4.0", cuda="10.0", cuda_available=False),
        expected={"order": "pass", "driver": "fail"},
        words="not a matter of versions",
        never="is older than",
    ),
    Fault(
        thread="mistralai/mistral-inference#144",
        order={"gpus": 1},
        devices=cards(
            1,
            product="NVIDIA GeForce RTX 3060",
            architecture="sm_86",
            driver="525.147.05",
            memory_GiB=12.0,
        ),
        torch=environment(
            cuda="12.1",
            cuda_available=False,
            cuda_error="Error 804: forward compatibility was attempted on non supported HW",
        ),
        machine={"environment": {"LD_LIBRARY_PATH": "/usr/local/cuda-12.3/compat"}},
        expected={"order": "pass", "driver": "fail"},
        words="take /usr/local/cuda-12.3/compat out of LD_LIBRARY_PATH",
    ),
    Fault(
        thread="huggingface/huggingface_hub#4128",
        order={"gpus": 1, "product": "H200"},
        devices=cards(1, product="NVIDIA H200", memory_GiB=140.4, driver="580.126.09"),
        torch=environment(cuda_available=False, cuda_error="Error 802: system not yet initialized"),
        machine=facts(Card(device="gpu0", fabric=Fabric(state="in progress"))),
        expected={"order": "pass", "driver": "fail"},
        words="registering with the NVSwitch fabric is in progress; error 802 follows",
    ),
    Fault(
        thread="vllm-project/vllm#34296",
        order={"gpus": 2, "product": "RTX 4090"},
        devices=cards(
            2,
            product="NVIDIA GeForce RTX 4090",
            architecture="sm_89",
            memory_GiB=47.99,
            driver="576.02",
        ),
        torch=environment(cuda="12.9", **UNSTARTED),
        machine={"host": HostFacts(wsl=True)},
        expected={"order": "warn", "driver": "fail"},
        words="driver 576.02 is new enough for CUDA 12.9, and torch does not start",
    ),
    Fault(
        thread="vllm-project/vllm#26774",
        order={"gpus": 1, "product": "H100"},
        devices=(),
        torch=environment(cuda="12.8", **UNSTARTED),
        machine={"host": HostFacts(container="kubernetes")},
        inventory={"absences": (Absence(what="NVML", reason="not found"),)},
        expected={"order": "fail", "driver": "fail"},
        words="0 of 1 H100 were found",
        never="is older than",
    ),
    Fault(
        thread="vllm-project/vllm#7943",
        order={"gpus": 4, "product": "A10"},
        devices=cards(
            4, product="NVIDIA A10", architecture="sm_86", memory_GiB=22.49, driver="470.129.06"
        ),
        torch=environment(torch="2.4.0+cu121", cuda="12.1", cuda_available=True),
        expected={"order": "pass", "driver": "pass"},
        words="",
    ),
    Fault(
        thread="ROCm/ROCm#4043",
        order={"gpus": 1, "product": "MI300X"},
        devices=(mi300x(0, product="AMD Instinct MI300X OAM", driver="6.7.0"),),
        torch=environment(torch="2.4.1+rocm6.2", cuda=None, hip="6.2"),
        machine={"driver": Driver(files=(DeviceFile(path="/dev/kfd", is_open=EINVAL),))},
        expected={"order": "pass", "driver": "fail"},
        words="/dev/kfd is there and the kernel refuses to open it (failed: Invalid argument)",
        never="usermod",
    ),
    Fault(
        thread="pytorch/pytorch#130181",
        order={"gpus": 2, "product": "A100 80GB"},
        devices=cards(1, product="NVIDIA A100-SXM4-80GB", architecture="sm_80", memory_GiB=80.0),
        machine=facts(Card(device="gpu0", mig=True, mig_slices=("3g.40gb", "3g.40gb"))),
        expected={"order": "fail", "driver": "pass"},
        words="slices are not cards: gpu0 with MIG on (3g.40gb, 3g.40gb)",
    ),
    Fault(
        thread="NVIDIA/NVSentinel#684",
        order={"gpus": 4, "product": "L40S"},
        devices=cards(3, **NVIDIA_L40S, driver="580.65.06"),
        machine={
            "bus": (
                *(
                    BusCard(
                        pci=f"0000:{0x1B + index:02x}:00.0",
                        vendor="NVIDIA",
                        pci_id="10de:26b9",
                        driver="nvidia",
                    )
                    for index in range(3)
                ),
                BusCard(
                    pci="0000:ac:00.0",
                    vendor="NVIDIA",
                    pci_id="10de:26b9",
                    driver=Absence(reason="not found"),
                ),
            )
        },
        expected={"order": "fail", "driver": "pass"},
        words="0000:ac:00.0 (10de:26b9, no driver has taken it)",
    ),
    Fault(
        thread="kohya-ss/sd-scripts#1434",
        order={"gpus": 2, "product": "H100 SXM", "link": "nvlink"},
        devices=cards(2, product="NVIDIA H100 PCIe"),
        machine={"topology": grid("PHB")},
        expected={"order": "fail", "driver": "pass"},
        words="gpu0, gpu1 are NVIDIA H100 PCIe",
    ),
)


def judge(fault: Fault, stage: str) -> Iterator[Result]:
    """What every check of a stage says, of each device where it asks for one."""
    made = situation(
        devices=fault.devices, order=fault.order, machine=fault.machine, **fault.inventory
    )
    for name in FILES[stage]:
        for check in checks_of(load(f"{name}.py")):
            wanted = inspect.signature(check).parameters
            given = {"ask_torch": asking(fault.torch)} if "ask_torch" in wanted else {}
            for device in fault.devices if "device" in wanted else (None,):
                yield said(check, made, {**given, **({"device": device} if device else {})})


def checks_of(module: ModuleType) -> list[Any]:
    """Functions of a check file that are checks."""
    return [one for name, one in vars(module).items() if name.startswith("check_")]


def said(check: Any, made: Situation, given: dict[str, Any]) -> Result:
    """A result, an error too."""
    try:
        return judged(check, situation=made, **given)
    except CannotLook as stopped:
        result = Result()
        result.status, result.reason, result.action = "error", stopped.cause, stopped.action
        return result


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.thread)
def test_a_reported_fault_is_told(fault: Fault) -> None:
    """The stage at fault says so in the words that help, and the other one does not join in."""
    results = {stage: list(judge(fault, stage)) for stage in FILES}
    worst = {
        stage: max((one.status for one in found), key=STATUSES.index)
        for stage, found in results.items()
    }
    listed = [one for found in results.values() for one in found]
    texts = "\n".join(
        f"{one.reason}\n{one.action}" for one in listed if one.status not in ("pass", "skip")
    )
    assert worst == fault.expected, texts
    assert fault.words in texts
    assert fault.never not in texts
