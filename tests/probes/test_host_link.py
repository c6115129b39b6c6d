"""Copies between host and device, on the CPU and on the devices of tests/fakegpu."""

from __future__ import annotations

import os
import socket
import time
from typing import Any

import pytest
import torch
from fakegpu.build import libraries_or_skip
from fakegpu.environment import fault
from fakegpu.python import run_python
from torch.utils._python_dispatch import TorchDispatchMode

from preflight.probes import host_link

from .faults import Fault

MIB = host_link.MIB
SMALL = """
from preflight.probes import host_link
host_link.SIZES_MIB["quick"] = (4,)
host_link.WINDOW_S["quick"] = 0.0
"""


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes and times for a test."""
    monkeypatch.setattr(host_link, "SIZES_MIB", {"quick": (4,), "standard": (1, 2, 4)})
    monkeypatch.setattr(host_link, "WINDOW_S", {"quick": 0.0, "standard": 0.05})


def copies(level: str = "quick", **params: Any) -> dict[str, Any]:
    """Copies of the CPU to itself, which have no link and the same arithmetic."""
    return host_link.copies("cpu", level, 7, **params)


def test_healthy_copies_keep_every_byte() -> None:
    """Rates with their spread, the time they took, and no wrong byte."""
    before_s = time.monotonic()
    found = copies()
    assert found["wrong"] is None
    assert found["size_bytes"] == 4 * MIB
    assert before_s < found["began_s"] < found["ended_s"] < time.monotonic()
    for direction in ("to_device", "from_device"):
        rate = found[direction]
        assert 0 < rate["p10"] <= rate["median"] <= rate["p90"]
        assert rate["n"] == host_link.FEWEST


def test_a_window_is_filled_with_copies() -> None:
    """The largest size is copied until telemetry had its time to look."""
    found = copies("standard")
    assert found["ended_s"] - found["began_s"] >= 0.05
    assert [point["size_MiB"] for point in found["curve"]] == [1, 2]
    assert all(point["to_device"]["median"] > 0 for point in found["curve"])


@pytest.mark.parametrize("trip", [1, 4])
def test_one_damaged_byte_is_found_with_its_place(trip: int) -> None:
    """In the first or in the last round trip, on the way there: offset and both values."""
    count = 0

    def damage(tensor: torch.Tensor) -> None:
        nonlocal count
        count += 1
        if count == 2 * trip - 1:
            tensor.view(torch.uint8)[1_000_003] ^= 0x10

    with Fault("copy_", damage) as broken:
        wrong = copies()["wrong"]
    assert broken.hits == 2 * (1 + host_link.FEWEST)
    assert (wrong["count"], wrong["offset"]) == (1, 1_000_003)
    assert wrong["found"] == wrong["expected"] ^ 0x10


class Skipping(TorchDispatchMode):
    """Copies do nothing after the first few."""

    def __init__(self, good: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.good = good

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        if func._schema.name == "aten::copy_":
            self.good -= 1
            if self.good < 0:
                return args[0]
        return func(*args, **(kwargs or {}))


@pytest.mark.parametrize("good", [0, 2])
def test_a_copy_that_does_nothing_is_wrong(good: int) -> None:
    """The buffers are zeroed before both round trips that are compared: what an earlier copy left
    there cannot pass for this one."""
    with Skipping(good):
        wrong = copies()["wrong"]
    assert wrong["count"] > 3 * MIB
    assert wrong["found"] == 0


def test_a_block_in_a_wrong_place_is_wrong() -> None:
    """No two words are equal, so two blocks that change places show."""

    damaged: list[int] = []

    def swap(tensor: torch.Tensor) -> None:
        if not damaged:  # only there: on the way back they would change places again
            half = tensor.numel() // 2
            tensor.copy_(torch.cat([tensor[half:], tensor[:half]]))
            damaged.append(half)

    with Fault("copy_", swap):
        wrong = copies()["wrong"]
    assert damaged
    assert wrong["count"] > 2 * MIB


def test_memory_that_cannot_be_pinned_is_pageable() -> None:
    """Without an accelerator torch refuses to pin: its words are told, the copies go on."""
    found = copies()
    assert "pin_memory" in found["pageable"] or "pinned" in found["pageable"]
    assert found["to_device"]["median"] > 0


def test_the_size_is_bounded_by_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the limit or of the free memory, for two buffers of each device, a power of 2."""
    assert copies(host_limit_bytes=60 * MIB)["size_bytes"] == 2 * MIB
    assert copies(host_limit_bytes=60 * MIB, sharers=2)["size_bytes"] == MIB
    assert copies(host_limit_bytes=1)["size_bytes"] == MIB
    monkeypatch.setattr(host_link, "_available_bytes", lambda: 45 * MIB)
    assert copies(host_limit_bytes=60 * MIB)["size_bytes"] == 2 * MIB
    monkeypatch.setattr(host_link, "_available_bytes", lambda: None)
    assert copies()["size_bytes"] == 4 * MIB


def test_available_memory_is_read_from_the_kernel() -> None:
    """In bytes, more than nothing and less than there is."""
    available = host_link._available_bytes()
    whole = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert available is not None and 0 < available <= whole


@pytest.mark.parametrize(
    ("listed", "cpus"),
    [("", set()), ("0", {0}), ("0-2,8,10-11\n", {0, 1, 2, 8, 10, 11})],
)
def test_lists_of_cpus(listed: str, cpus: set[int]) -> None:
    """As sysfs writes them."""
    assert host_link.cpus_of(listed) == cpus


def test_buffers_are_made_beside_the_device_and_the_thread_returns() -> None:
    """Within the block only the near CPUs, and those alone that this process may use."""
    own = os.sched_getaffinity(0)
    near = min(own)
    with host_link._on_cpus(f"{near},99999"):
        assert os.sched_getaffinity(0) == {near}
    assert os.sched_getaffinity(0) == own
    with host_link._on_cpus("99999"):
        assert os.sched_getaffinity(0) == own


def test_one_device_copies_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who holds the turn is waited for, and one who never ends costs the time of patience."""
    monkeypatch.setattr(host_link, "TURN", f"\0preflight-test-{os.getpid()}")
    monkeypatch.setattr(host_link, "PATIENCE_S", 0.05)
    assert copies()["alone"] is True
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(host_link.TURN)
        began_s = time.monotonic()
        assert copies()["alone"] is False
        assert time.monotonic() - began_s >= 0.05
    assert copies()["alone"] is True


def test_pinned_copies_of_a_device() -> None:
    """On a device memory is pinned, both ways run at once, and every byte is right."""
    told = run_python(
        libraries_or_skip(),
        f"{SMALL}\n"
        "found = host_link.copies('cuda:1', 'quick', 7)\n"
        "print(found['wrong'], repr(found['pageable']), found['integrated'],\n"
        "      found['both_ways']['n'], torch.ops.fakegpu.pending(1))",
    )
    assert told == "None '' False 3 0"


def test_a_copy_that_corrupts_is_found_on_its_device() -> None:
    """The first byte that came back as another is told; the other device copies well."""
    lines = (
        f"{SMALL}\nprint(*(host_link.copies(f'cuda:{{i}}', 'quick', 7)['wrong'] for i in (0, 1)))"
    )
    told = run_python(libraries_or_skip(), lines, **fault("aten::copy_", "flip", device=1))
    assert told.startswith("None {'count': 1, 'offset': 0,"), told


def test_a_device_with_little_memory_copies_less() -> None:
    """A tenth of what is free on the device bounds the size too."""
    lines = f"{SMALL}\nprint(host_link.copies('cuda:0', 'quick', 7)['size_bytes'])"
    assert run_python(libraries_or_skip(), lines, FAKEGPU_MEM_MB="25") == str(2 * MIB)
