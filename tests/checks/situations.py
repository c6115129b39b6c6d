"""Check files by path, and situations made by hand for them to judge."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from preflight.events import Environment, Inventory, Options
from preflight.facts import Card, Machine
from preflight.folders import checks_folder
from preflight.harness import Situation
from preflight.harness.result import Result
from preflight.plan import Plan
from preflight.records import Check, Device, Host, Node, Order, Versions

OPTIONS: dict[str, Any] = {
    "python": "/opt/venv/bin/python",
    "level": "quick",
    "mode": "certify",
    "accelerator": "auto",
    "ranks": 2,
    "seed": 7,
    "deadline_s": 120.0,
    "selected": (),
    "checks_folders": (),
}
HOST: dict[str, Any] = {
    "name": "node-a",
    "cores": 192,
    "memory_GiB": 1511.4,
    "shm_GiB": 64.0,
    "open_files": 1048576,
}
TORCH: dict[str, Any] = {
    "torch": "2.13.0+cu130",
    "file": "/opt/venv/lib/torch/__init__.py",
    "seconds": 2.5,
    "cuda": "13.0",
    "hip": None,
    "cuda_available": True,
    "cuda_error": None,
    "arch_list": ["sm_80", "sm_90", "sm_100"],
}


def load(name: str) -> ModuleType:
    """The module of a check file such as ``check_010_order.py``."""
    spec = importlib.util.spec_from_file_location(f"loaded_{name[:-3]}", checks_folder() / name)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def card(index: int = 0, **fields: Any) -> Device:
    """One H100."""
    values: dict[str, Any] = {
        "name": f"gpu{index}",
        "node": "node-a",
        "kind": "cuda",
        "product": "NVIDIA H100 80GB HBM3",
        "uuid": f"GPU-{index:08x}-77a1-4c0e-9d1f-0242ac110002",
        "pci": f"0000:{0x1B + index:02x}:00.0",
        "memory_GiB": 79.65,
        "architecture": "sm_90",
        "driver": "580.65.06",
        "driver_cuda": "13.0",
    }
    return Device(**{**values, **fields})


def b200(index: int = 0, **fields: Any) -> Device:
    """One B200."""
    values: dict[str, Any] = {
        "product": "NVIDIA B200",
        "memory_GiB": 179.06,
        "architecture": "sm_100",
    }
    return card(index, **{**values, **fields})


def mi300x(index: int = 0, **fields: Any) -> Device:
    """One MI300X under the packaged driver."""
    values: dict[str, Any] = {
        "kind": "hip",
        "product": "AMD Instinct MI300X",
        "uuid": f"GPU-{index:016x}",
        "memory_GiB": 191.98,
        "architecture": "gfx942",
        "driver": "6.12.12",
        "driver_cuda": None,
    }
    return card(index, **{**values, **fields})


def facts(*cards: Card, **fields: Any) -> dict[str, Any]:
    """The ``machine`` of a situation: these cards, and further fields of it."""
    return {"cards": cards, **fields}


def situation(
    *,
    devices: tuple[Device, ...] = (card(0), card(1)),
    order: dict[str, Any] | None = None,
    host: dict[str, Any] | None = None,
    options: dict[str, Any] | None = None,
    results: tuple[Check, ...] = (),
    machine: dict[str, Any] | None = None,
    **inventory: Any,
) -> Situation:
    """A healthy machine with two cards, but for what is given."""
    made = Inventory(
        host=Host(**{**HOST, **(host or {})}),
        nodes=(Node(name="node-a"),),
        devices=devices,
        machine=Machine(
            node="node-a",
            **{"cards": tuple(Card(device=one.name) for one in devices), **(machine or {})},
        ),
        **{"looked_for": ("NVML: driver 580.65.06, 2 device(s)",), **inventory},
    )
    return Situation(
        options=Options(**{**OPTIONS, **(options or {})}),
        order=Order(**(order or {})),
        plan=Plan(),
        inventory=made,
        results=list(results),
    )


def rehearsal(**fields: Any) -> Situation:
    """The CPU in place of the cards."""
    cpu = Device(name="cpu", node="node-a", kind="cpu", product="EPYC", torch_device="cpu")
    return situation(devices=(cpu,), options={"mode": "rehearse"}, **fields)


def environment(**facts: Any) -> Environment:
    """What a torch of CUDA 13.0 answers, but for what is given."""
    torch = {**TORCH, **facts}
    versions = Versions(torch=torch["torch"], cuda=torch["cuda"], hip=torch["hip"])
    return Environment(versions=versions, torch=torch)


def asking(answer: Environment) -> Callable[[], Environment]:
    """The ``ask_torch`` of a check, with its answer."""
    return lambda: answer


def never() -> Environment:
    """An ``ask_torch`` that must not be used: asking costs seconds."""
    pytest.fail("torch was asked for nothing")


def judged(check: Callable[..., None], *arguments: Any, **named: Any) -> Result:
    """What a check says; a skip shows as the status and its reason."""
    result = Result()
    try:
        check(*arguments, result=result, **named)
    except pytest.skip.Exception as skipped:
        result.status, result.reason = "skip", str(skipped.msg)
    return result
