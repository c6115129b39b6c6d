"""Compared in one run: equal cards should work equally fast."""

from __future__ import annotations

from statistics import median

import pytest

from preflight.harness import Result, Situation, at_least
from preflight.records import Measurement

SHARE_OF_PEERS = 0.8
SOURCE = "80% of the median of equal cards in this run"
"""With fewer than five equal cards a deviation says little, so a share is stated; a card that
throttles or has lost a link falls far below it (published gates lie 3 to 30% under what is
usual)."""
LINK = ("host to device", "device to host")
"""Rates of kernel.host_link that were measured alone and through pinned memory; others have other
names."""
NOISE_CORES = 1
"""Cores that each device must have to itself for its times to mean anything."""


@pytest.mark.check(
    id="kernel.peers", stage="kernel", deadline="10s", phase="compare", required=False
)
def check_peers(situation: Situation, result: Result) -> None:
    """Matrix products and host copies of equal cards run about equally fast."""
    devices = situation.probed
    if len(devices) < 2:
        result.skip("one device has no peer")
    if situation.plan.limits.performance == "record":
        result.skip('the plan says performance = "record"')
    cores = situation.inventory.host.cores or 0
    if cores < len(devices) * NOISE_CORES:
        result.skip(f"{cores} cores for {len(devices)} devices: their times are not comparable")
    result.advise("look at clocks, heat, power and slot of the slow card; ask the seller about it")
    compared = False
    for product in sorted({device.product for device in devices}):
        names = [device.name for device in devices if device.product == product]
        compared |= _compare(situation, result, names)
    if not compared:
        result.skip("no two equal cards have measurements of the same kind")


def _compare(situation: Situation, result: Result, names: list[str]) -> bool:
    """Judge every speed that some equal cards measured; whether there was one.

    A slow card reaches the time that is measured with a smaller square: the format counts, not the
    size that stands behind it.
    """
    by_kind: dict[str, dict[str, float]] = {}
    for check in situation.results:
        if check.device not in names or check.device is None:
            continue
        for m in check.measurements:
            kind = _kind(check.id, m)
            if kind is not None and m.value is not None:
                by_kind.setdefault(kind, {})[check.device] = float(m.value)
                result.attach(f"{check.device}: {m.name} {m.value:.4g} {m.unit}")
    found = False
    for name, values in by_kind.items():
        if len(values) < 2:
            continue
        found = True
        middle = median(values.values())
        slowest = min(values, key=lambda device: values[device])
        share = values[slowest] / middle
        if share < SHARE_OF_PEERS:
            result.fail(f"{slowest} reaches {share:.0%} of the median of equal cards in {name}")
        limit = at_least(SHARE_OF_PEERS, SOURCE)
        result.measure(f"{name}, slowest over median", share, "1", n=len(values), limit=limit)
    return found


def _kind(check_id: str, measurement: Measurement) -> str | None:
    """What is compared under one name: ``bfloat16``, ``copies host to device``; else None."""
    if check_id == "kernel.matmul" and measurement.unit in ("TFLOP/s", "TOP/s"):
        return measurement.name.partition(" ")[0]
    if check_id == "kernel.host_link" and measurement.name in LINK:
        return f"copies {measurement.name}"
    return None
