"""The link between a device and its host: pinned copies both ways, timed, and their bytes.

One device copies at a time, since cards may share a switch, and all share the host's memory.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, Optional, Set, Tuple

import torch

from . import clock, comparison, faults, reply

MIB = 1 << 20
SIZES_MIB = {"quick": (64,), "standard": (4, 32, 256, 1024), "soak": (4, 32, 256, 1024)}
"""The last one counts; those before it show from which size on the link is filled. 64 MiB take
more than a millisecond over Gen5 x16, and making them does not take a second of a quick run."""
WINDOW_S = {"quick": 0.35, "standard": 1.0, "soak": 1.0}
"""How long the largest copies go on, for telemetry looks at the link ten times a second."""
FEWEST = 3
"""Round trips, however slow they are."""
SHARE_OF_FREE = 0.1
"""Of the memory that is free on the host, and on the device."""
PATIENCE_S = 30.0
"""How long others may take with their copies; a device that is stuck in them is not waited for."""
TURN = "\0preflight-host-link"
"""An abstract socket (unix(7)) that one process at a time can hold; it is free again when that
process ends, however it ends."""
MIX = -7046029254386353131
"""An odd number of 64 bits with mixed bits: every index times it is another word."""


def copies(
    device: str,
    level: str,
    seed: int,
    near_cpus: str = "",
    host_limit_bytes: Optional[int] = None,
    sharers: int = 1,
) -> Dict[str, Any]:
    """Round trips of the same bytes through pinned memory; rates in GB/s per direction.

    ``near_cpus`` (``0-47,96-143``) are the CPUs beside the device: the buffers are made there, for
    the memory of another socket is further away. ``host_limit_bytes`` is the limit of a cgroup,
    ``sharers`` how many devices use the host's memory at once. ``began_s`` and ``ended_s`` are
    moments of the monotonic clock between which the link had no pause.
    """
    num_bytes = _largest_bytes(device, level, host_limit_bytes, sharers)
    reply.progress("make the buffers")
    with _on_cpus(near_cpus):
        source, refused = _host_buffer(num_bytes)
        back, refused_too = _host_buffer(num_bytes)
    _fill(source, seed)
    there = torch.empty_like(source, device=device)
    trip = _Trip(source, there, back, device)
    reply.progress("wait for the copies of other devices")
    with _turn() as alone:
        found = _travel(trip, level)
    return {
        **found,
        "size_bytes": num_bytes,
        "pageable": refused or refused_too,
        "alone": alone,
        "integrated": _is_integrated(device),
    }


class _Trip:
    """The three buffers, and the copies between the first ``num_bytes`` of each."""

    def __init__(
        self, source: torch.Tensor, there: torch.Tensor, back: torch.Tensor, device: str
    ) -> None:
        self.source, self.there, self.back, self.device = source, there, back, device

    def go(self) -> None:
        """Host to device."""
        self.there.copy_(self.source, non_blocking=True)

    def come(self) -> None:
        """Device to host."""
        self.back.copy_(self.there, non_blocking=True)

    def seconds(self) -> Tuple[float, float]:
        """Of one copy there and one back, each waited for."""
        return clock.seconds_of(self.go, self.device), clock.seconds_of(self.come, self.device)

    def first(self, num_bytes: int) -> _Trip:
        """The same with the beginning of each buffer."""
        count = num_bytes // self.source.element_size()
        return _Trip(self.source[:count], self.there[:count], self.back[:count], self.device)

    def forget(self) -> None:
        """Zero what the copies are to fill, so that one that does nothing shows."""
        self.there.zero_()
        self.back.zero_()
        clock.synchronize(self.device)


def _travel(trip: _Trip, level: str) -> Dict[str, Any]:
    """All copies; the bytes of the first and of the last round trip are compared."""
    reply.progress("copy there and back")
    trip.forget()
    trip.seconds()
    wrong = _wrong_bytes(trip)
    trip.forget()
    reply.progress("copy there and back for a while")
    began_s = time.monotonic()
    seconds = [trip.seconds()]
    while len(seconds) < FEWEST or time.monotonic() - began_s < WINDOW_S[level]:
        seconds.append(trip.seconds())
    ended_s = time.monotonic()
    wrong = wrong or _wrong_bytes(trip)
    reply.progress("copy both ways at once")
    return {
        "began_s": began_s,
        "ended_s": ended_s,
        **_rates(trip, seconds),
        "both_ways": _both_ways(trip),
        "curve": _curve(trip, level),
        "wrong": wrong,
    }


def _rates(trip: _Trip, seconds: List[Tuple[float, float]]) -> Dict[str, Dict[str, Any]]:
    return {
        "to_device": _rate(trip, [there for there, _ in seconds]),
        "from_device": _rate(trip, [back for _, back in seconds]),
    }


def _rate(trip: _Trip, seconds: List[float]) -> Dict[str, Any]:
    """``median``, ``p10`` and ``p90`` in GB/s (decimal) of ``n`` copies."""
    num_bytes = trip.source.numel() * trip.source.element_size()
    time_s = clock.spread(seconds)
    return {
        "median": num_bytes / time_s["median_s"] / 1e9,
        "p10": num_bytes / time_s["p90_s"] / 1e9,
        "p90": num_bytes / time_s["p10_s"] / 1e9,
        "n": time_s["n"],
    }


def _both_ways(trip: _Trip) -> Optional[Dict[str, Any]]:
    """GB/s of both directions together, each with one half; None without streams."""
    if torch.device(trip.device).type == "cpu":
        return None
    module = clock.device_module(trip.device)
    going, coming = (module.Stream(device=torch.device(trip.device)) for _ in range(2))
    half = trip.source.numel() // 2

    def run() -> None:
        with module.stream(going):
            trip.there[:half].copy_(trip.source[:half], non_blocking=True)
        with module.stream(coming):
            trip.back[half:].copy_(trip.there[half:], non_blocking=True)

    return _rate(trip, [clock.seconds_of(run, trip.device) for _ in range(1 + FEWEST)][1:])


def _curve(trip: _Trip, level: str) -> List[Dict[str, Any]]:
    """Rates of the smaller sizes of a level."""
    points = []
    for size_MiB in SIZES_MIB[level][:-1]:
        if size_MiB * MIB < trip.source.numel() * trip.source.element_size():
            short = trip.first(size_MiB * MIB)
            seconds = [short.seconds() for _ in range(1 + FEWEST)][1:]
            points.append({"size_MiB": size_MiB, **_rates(short, seconds)})
    return points


def _wrong_bytes(trip: _Trip) -> Optional[Dict[str, int]]:
    """How many bytes came back as others, and the first of them; None where all are right."""
    found = faults.touch(trip.back)
    if torch.equal(found, trip.source):
        return None
    bad = found != trip.source
    word = int(bad.to(torch.uint8).argmax())
    sent_there, found_there = (_bytes_of(one[word : word + 1]) for one in (trip.source, found))
    byte = next(i for i in range(8) if sent_there[i] != found_there[i])
    differ = _bytes_of(found[bad]) != _bytes_of(trip.source[bad])
    return {
        "count": int(torch.count_nonzero(differ)),
        "offset": 8 * word + byte,
        "expected": int(sent_there[byte]),
        "found": int(found_there[byte]),
    }


def _bytes_of(words: torch.Tensor) -> torch.Tensor:
    return words.view(torch.uint8)


def _fill(buffer: torch.Tensor, seed: int) -> None:
    """A word of 8 bytes that stands nowhere else in it, so that a block in a wrong place shows."""
    torch.arange(buffer.numel(), out=buffer)
    buffer.mul_(MIX).add_(seed)


def _host_buffer(num_bytes: int) -> Tuple[torch.Tensor, str]:
    """Pinned memory; where it is refused (memlock, WSL), pageable memory and torch's own words."""
    count = num_bytes // 8
    try:
        return torch.empty(count, dtype=torch.int64, pin_memory=True), ""
    except RuntimeError as error:
        return torch.empty(count, dtype=torch.int64), comparison.reason_of(error)


def _largest_bytes(device: str, level: str, host_limit_bytes: Optional[int], sharers: int) -> int:
    """The level's largest size, or what a tenth of the free memory leaves, at least 1 MiB.

    The host holds two buffers for each of the devices that share it, the device one. A power of
    two, since torch rounds pinned memory up to one.
    """
    rooms = [SIZES_MIB[level][-1] * MIB]
    for free in (host_limit_bytes, _available_bytes()):
        if free is not None:
            rooms.append(int(SHARE_OF_FREE * free / (2 * sharers)))
    if torch.device(device).type != "cpu":
        free, _ = clock.device_module(device).mem_get_info(torch.device(device))
        rooms.append(int(SHARE_OF_FREE * free))
    return MIB << max(0, (min(rooms) // MIB).bit_length() - 1)


def _available_bytes() -> Optional[int]:
    """What Linux says is available without swapping; None elsewhere."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) * 1024 if found else None


@contextlib.contextmanager
def _on_cpus(listed: str) -> Iterator[None]:
    """This thread on those of its CPUs that are listed; where they are, Linux puts its memory."""
    own = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    wanted = own & cpus_of(listed)
    if not wanted:
        yield
        return
    os.sched_setaffinity(0, wanted)
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)


def cpus_of(listed: str) -> Set[int]:
    """The numbers of ``0-3,8``; empty for an empty list."""
    found: Set[int] = set()
    for part in listed.split(","):
        if part.strip():
            low, _, high = part.partition("-")
            found.update(range(int(low), int(high or low) + 1))
    return found


@contextlib.contextmanager
def _turn() -> Iterator[bool]:
    """Wait for the devices that copy now; whether this one is alone then."""
    with socket.socket(socket.AF_UNIX) as place:
        yield _take(place)


def _take(place: socket.socket) -> bool:
    until_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            place.bind(TURN)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() > until_s:
                return False
            time.sleep(0.01)
        else:
            return True


def _is_integrated(device: str) -> bool:
    """Whether the device works in the host's own memory, as far as torch tells."""
    if torch.device(device).type == "cpu":
        return True
    properties = clock.device_module(device).get_device_properties(torch.device(device))
    return bool(getattr(properties, "is_integrated", False))
