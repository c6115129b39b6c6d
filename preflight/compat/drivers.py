"""Which driver serves which CUDA toolkit: pure functions of version texts.

Source: NVIDIA, "CUDA Compatibility", minor version compatibility: a program built with any toolkit
of a major version runs on every driver from that major version's floor on.
"""

from __future__ import annotations

from packaging.version import InvalidVersion, Version

DRIVER_FLOORS = {11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}
"""Linux driver floor by major version of the toolkit."""
SOURCE = "CUDA Compatibility, minor version compatibility"


def driver_floor(toolkit: str) -> str | None:
    """Oldest Linux driver for a toolkit such as ``13.0``; None for a major version not known."""
    major = toolkit.partition(".")[0]
    return DRIVER_FLOORS.get(int(major)) if major.isdigit() else None


def serves(driver: str, toolkit: str) -> bool | None:
    """Whether a driver such as ``535.183.01`` serves a toolkit; None where nobody can say.

    Forward compatibility packages (cuda-compat) serve more than this says: only older data centre
    drivers that fail here can have one, so a False is a reason to look, not the last word.
    """
    floor = driver_floor(toolkit)
    if floor is None:
        return None
    try:
        return Version(driver) >= Version(floor)
    except InvalidVersion:
        return None
