"""Time on a device: no clock is read before the device has finished what it was given."""

from __future__ import annotations

import math
import statistics
import time
from typing import Any, Callable, Dict, Sequence

import torch


def device_module(device: str) -> Any:
    """``torch.cuda``, ``torch.cpu``, ...: the module that drives this type of device."""
    name = torch.device(device).type
    if hasattr(torch, "get_device_module"):  # torch >= 2.5
        return torch.get_device_module(torch.device(name))
    return getattr(torch, name)


def synchronize(device: str) -> None:
    """Wait until the device is idle."""
    place = torch.device(device)
    if place.type == "cpu":
        return
    module = device_module(device)
    if place.type == "mps":  # there is one, and its function takes no argument
        module.synchronize()
    else:
        module.synchronize(place)


def seconds_of(call: Callable[[], Any], device: str) -> float:
    """Wall seconds of one call, from an idle device to an idle device."""
    synchronize(device)
    start = time.perf_counter()
    call()
    synchronize(device)
    return time.perf_counter() - start


def timed(call: Callable[[], Any], device: str, n: int, warmup: int = 1) -> Dict[str, Any]:
    """Seconds of ``n`` calls, each waited for, after ``warmup`` calls that are not counted."""
    for _ in range(warmup):
        call()
    return spread([seconds_of(call, device) for _ in range(n)])


def spread(seconds: Sequence[float]) -> Dict[str, Any]:
    """``median_s``, ``p10_s``, ``p90_s`` and ``n`` of samples in seconds."""
    return {
        "median_s": statistics.median(seconds),
        "p10_s": quantile(seconds, 0.1),
        "p90_s": quantile(seconds, 0.9),
        "n": len(seconds),
    }


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which ``share`` of the samples lie, linear between neighbours."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (place - low) * (ordered[high] - ordered[low])
