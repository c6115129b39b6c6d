"""What holds a card's clock back, and whether that is a fault of a machine at rest.

Source of the words and meanings: NVIDIA, NVML API reference, ``nvmlClocksEventReasons`` (before
driver 535 ``nvmlClocksThrottleReasons``); the grades are ours.
"""

from __future__ import annotations

from typing import Literal

import msgspec

SOURCE = "NVML API reference, clocks event reasons"


class Slowdown(msgspec.Struct, frozen=True, kw_only=True):
    """One reason."""

    grade: Literal["fail", "warn", "none"]
    """``none``: no fault of a card at rest."""
    means: str


_COOLING = "have the seller look at cooling: fans, airflow, heat sink"
_POWER = "have the seller look at power supply and cables of the node"

SLOWDOWNS = {
    "gpu idle": Slowdown(grade="none", means="nothing runs, the clock rests"),
    "applications clocks setting": Slowdown(grade="none", means="somebody has set the clocks"),
    "sw power cap": Slowdown(grade="none", means="the card would draw more than its limit"),
    "hw slowdown": Slowdown(grade="fail", means="the hardware halves the clock, or more"),
    "sync boost": Slowdown(grade="none", means="the clock follows that of the other cards"),
    "sw thermal slowdown": Slowdown(
        grade="warn", means="the card is hotter than it may be at work"
    ),
    "hw thermal slowdown": Slowdown(grade="fail", means="the card is too hot"),
    "hw power brake slowdown": Slowdown(
        grade="fail", means="the power supply asks it to draw less"
    ),
    "display clock setting": Slowdown(grade="none", means="a display limits the clock"),
}
ACTIONS = {
    "hw slowdown": f"{_COOLING}; and at power supply and cables",
    "sw thermal slowdown": _COOLING,
    "hw thermal slowdown": _COOLING,
    "hw power brake slowdown": _POWER,
}
_OTHER_NAMES = {
    "idle": "gpu idle",
    "none": "",
    "hw power brake": "hw power brake slowdown",
    "hw thermal": "hw thermal slowdown",
    "sw thermal": "sw thermal slowdown",
    "user defined clocks": "applications clocks setting",
}


def plain_reason(word: str) -> str:
    """A reason as this table has it: ``Idle`` and ``GPU_IDLE`` are ``gpu idle``; empty for none."""
    plain = " ".join(word.lower().replace("_", " ").split())
    return _OTHER_NAMES.get(plain, plain)
