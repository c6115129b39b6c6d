"""Equal cards against each other."""

from __future__ import annotations

import msgspec

from preflight.harness.result import Result
from preflight.records import Check, Measurement

from .situations import card, judged, load, situation

peers = load("check_095_peers.py")


def products(device: str, **speeds: float) -> Check:
    """kernel.matmul of one card: ``bfloat16_4096=700`` for 700 TFLOP/s at 4096³."""
    measured = tuple(
        Measurement(name=name.replace("_", " ") + "³", value=value, unit="TFLOP/s")
        for name, value in speeds.items()
    )
    return Check(
        id="kernel.matmul",
        stage="kernel",
        title="Products",
        node="node-a",
        device=device,
        status="pass",
        measurements=measured,
        started="2026-01-01T00:00:00Z",
    )


def copies(device: str, **rates: float) -> Check:
    """kernel.host_link of one card: ``host_to_device=55`` for 55 GB/s."""
    measured = tuple(
        Measurement(name=name.replace("_", " "), value=value, unit="GB/s")
        for name, value in rates.items()
    )
    return msgspec.structs.replace(products(device), id="kernel.host_link", measurements=measured)


def judge(*checks: Check) -> Result:
    """The judgement of as many H100 as have results."""
    cards = tuple(card(i) for i in range(len({check.device for check in checks})))
    return judged(peers.check_peers, situation(devices=cards, results=checks))


def test_equal_speeds_pass() -> None:
    """A few per cent between cards are usual."""
    result = judge(products("gpu0", bfloat16_4096=700.0), products("gpu1", bfloat16_4096=680.0))
    assert result.status == "pass"


def test_a_slow_card_is_named() -> None:
    """The reason names it, and the share of the median that it reaches."""
    result = judge(
        products("gpu0", bfloat16_4096=700.0),
        products("gpu1", bfloat16_4096=70.0),
        products("gpu2", bfloat16_4096=700.0),
    )
    assert result.status == "fail"
    assert result.reason == "gpu1 reaches 10% of the median of equal cards in bfloat16"


def test_a_card_so_slow_that_its_square_is_smaller_is_compared() -> None:
    """A slow card takes its millisecond with a smaller square, and does not escape by that."""
    result = judge(products("gpu0", bfloat16_256=0.7), products("gpu1", bfloat16_4096=700.0))
    assert result.status == "fail"
    assert result.reason.startswith("gpu0 reaches 0% of the median")
    assert "gpu0: bfloat16 256³ 0.7 TFLOP/s" in result.evidence


def test_a_card_with_a_slow_link_is_named() -> None:
    """Copies of equal cards are compared direction by direction."""
    result = judge(
        copies("gpu0", host_to_device=55.0, device_to_host=54.0),
        copies("gpu1", host_to_device=54.0, device_to_host=26.0),
        copies("gpu2", host_to_device=55.0, device_to_host=53.0),
    )
    assert result.status == "fail"
    assert result.reason == (
        "gpu1 reaches 49% of the median of equal cards in copies device to host"
    )


def test_copies_that_say_nothing_of_the_link_are_not_compared() -> None:
    """Pageable memory, a link that others used, and both ways at once have names of their own."""
    result = judge(
        copies("gpu0", host_to_device=55.0, both_ways_at_once=98.0),
        copies("gpu1", **{"host_to_device,_pageable": 6.0, "both_ways_at_once": 40.0}),
    )
    assert (result.status, result.measurements) == ("skip", [])
