"""Every shipped profile with every fault: no fault is missed, no healthy machine alarmed."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from _pytest.mark import ParameterSet

from preflight.errors import UsageError
from preflight.hardware.profiles import read_profile, shipped
from preflight.harness import Result, Situation

from .simulated import alarms, results, simulated_situation

PROFILES = tuple(shipped().profiles)
UNLIKE = ("2xB200", "1xRTX5090")
BLOCKING = "nvml-hang"
"""The look itself does not end: see tests/test_simulation.py."""

EXPECTED: dict[str, dict[str, str]] = {
    "missing": {"order.count": "fail"},
    "wrong-product": {"order.product": "fail"},
    "mig": {"order.whole": "fail"},
    "old-driver": {"driver.product": "fail", "driver.toolkit": "fail"},
    "driver-mismatch": {"order.count": "error", "driver.present": "fail"},
    "no-permission": {
        "driver.answers": "error",
        "system.ecc": "error",
        "system.rows": "error",
        "system.recovery": "error",
        "system.processes": "error",
    },
    "kfd-eacces": {"driver.present": "fail", "driver.files": "fail"},
    "kfd-einval": {"driver.present": "fail", "driver.files": "fail"},
    "fabric-down": {"driver.fabric": "fail"},
    "nvlink-down": {"system.links": "fail"},
    "xgmi-down": {"order.link": "fail", "system.links": "fail"},
    "ecc": {"system.ecc": "fail"},
    "row-remap-failed": {"system.rows": "fail"},
    "row-remap-pending": {"system.rows": "warn"},
    "ras-ue": {"system.ecc": "fail", "system.ras": "fail"},
    "pcie-x8": {"system.pcie": "warn"},
    "throttled": {"system.temperature": "fail"},
    "power-capped": {"system.power": "warn"},
    "xid79": {"system.xid": "fail"},
    "held-memory": {"system.processes": "fail"},
    "small-shm": {"system.shm": "fail"},
    "iommu-translating": {"system.iommu": "warn"},
    "rdma-down": {"system.rdma": "warn"},
}
"""Fault to the checks that must see it."""
ALSO: dict[str, set[str]] = {
    "missing": {"driver.present"},
    "old-driver": {"arch.triton"},
    "wrong-product": {"order.memory", "system.links"},
    "throttled": {"system.throttling"},
}
"""Checks that may see it too: a lone card that is missing leaves none, another product has other
memory and links, what Triton compiles is too new for an old driver, and AMD's driver does not say
that a card slows itself down."""
LONE = {"small-shm": {"system.shm": "warn"}}
"""One card alone needs less of it."""


def cases() -> list[str]:
    """Every profile with each fault that it can have, on its last card."""
    found = []
    for name, row in shipped().profiles.items():
        for fault, kind in shipped().faults.items():
            text = f"{name}:{fault}" + (f"-{row.cards - 1}" if kind.on_card else "")
            try:
                read_profile(text, where="test")
            except UsageError:
                continue
            found.append(text)
    return [text for text in found if BLOCKING not in text]


def marked(texts: Iterable[str]) -> list[ParameterSet]:
    """Those of machines that are like another one take their time with the long tests."""
    return [
        pytest.param(text, marks=() if text.partition(":")[0] in UNLIKE else pytest.mark.long)
        for text in texts
    ]


@pytest.mark.parametrize("name", marked(PROFILES))
def test_a_healthy_machine_raises_no_alarm(name: str) -> None:
    """No static check warns, fails or cannot look, and most of them have something to judge."""
    row = shipped().profiles[name]
    found = results(simulated_situation(name, product=row.product, gpus=row.cards))
    assert alarms(found) == {}
    ids = {key.partition(" ")[0] for key, result in found.items() if result.status == "pass"}
    assert len(ids) >= 20, sorted(ids)


@pytest.mark.parametrize("text", marked(cases()))
def test_a_fault_is_seen_where_it_belongs(text: str) -> None:
    """The checks that must see it do, naming its card and what to do; no other one alarms."""
    profile = read_profile(text, where="test")
    (struck,) = profile.faults
    expected = EXPECTED[struck.name]
    if profile.row.cards == 1:
        expected = LONE.get(struck.name, expected)
    machine = simulated_situation(text, product=profile.row.product, gpus=profile.row.cards)
    found = results(machine)
    seen = {name.partition(" ")[0]: status for name, status in alarms(found).items()}
    assert {check: seen.get(check) for check in expected} == expected, seen
    assert set(seen) - set(expected) <= ALSO.get(struck.name, set())
    assert all(result.action for result in found.values() if result.status == "fail")
    if struck.card is not None and struck.name not in ("missing", "xid79"):
        judge_names(f"gpu{struck.card}", machine, found)


def judge_names(card: str, machine: Situation, found: dict[str, Result]) -> None:
    """What is said of a fault names its card and none of its neighbours."""
    others = [device.name for device in machine.inventory.devices if device.name != card]
    for result in found.values():
        if result.status in ("warn", "fail"):
            assert card in result.reason
            assert not [name for name in others if f"{name}:" in result.reason], result.reason


def test_every_fault_is_expected_somewhere() -> None:
    """A new fault needs its line in the table above."""
    assert set(EXPECTED) | {BLOCKING} == set(shipped().faults)
