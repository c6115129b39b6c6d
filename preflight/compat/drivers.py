"""Which driver serves which CUDA toolkit: pure functions of version texts.

Sources: NVIDIA, "CUDA Compatibility", minor version compatibility: a program built with any toolkit
of a major version from 11 on runs on every driver from that major version's floor on; NVIDIA, CUDA
Toolkit release notes, table of toolkits and drivers, for the toolkits before 11, each of which has
a floor of its own.
"""

from __future__ import annotations

import re

from packaging.version import InvalidVersion, Version

DRIVER_FLOORS = {11: "450.80.02", 12: "525.60.13", 13: "580.65.06"}
"""Linux driver floor by major version of the toolkit."""
SOURCE = "CUDA Compatibility, minor version compatibility"
OLD_FLOORS = {"10.0": "410.48", "10.1": "418.39", "10.2": "440.33"}
"""Linux driver floor by toolkit, before there was minor version compatibility."""
OLD_SOURCE = "CUDA Toolkit release notes, table of toolkits and drivers"

_PACKAGE_ERRORS = {
    804: re.compile(r"\berror 804\b|forward compatibility was attempted", re.IGNORECASE),
    803: re.compile(r"\berror 803\b|unsupported display driver / cuda driver", re.IGNORECASE),
}
"""CUDA driver API: 804 is a compatibility package on a card that allows none, 803 a library that
is not the kernel module's."""


def driver_floor(toolkit: str) -> str | None:
    """Oldest Linux driver for a toolkit such as ``13.0``; None for one that is not known."""
    if toolkit in OLD_FLOORS:
        return OLD_FLOORS[toolkit]
    major = toolkit.partition(".")[0]
    return DRIVER_FLOORS.get(int(major)) if major.isdigit() else None


def floor_source(toolkit: str) -> str:
    """Who says what ``driver_floor`` says."""
    return OLD_SOURCE if toolkit in OLD_FLOORS else SOURCE


def serves(driver: str, toolkit: str) -> bool | None:
    """Whether a driver such as ``535.183.01`` serves a toolkit; None where nobody can say.

    Forward compatibility packages (cuda-compat) serve more than this says: only older data centre
    drivers that fail here can have one, so a False is a reason to look, not the last word.
    """
    floor = driver_floor(toolkit)
    return None if floor is None else is_at_least(driver, floor)


def is_at_least(version: str, floor: str) -> bool | None:
    """Whether a version such as ``535.183.01`` reaches a floor; None where one is no version."""
    try:
        return Version(version) >= Version(floor)
    except InvalidVersion:
        return None


def package_error(words: str) -> int | None:
    """803 or 804 where torch's words are of a wrong or refused cuda-compat library, else None."""
    return next((code for code, sign in _PACKAGE_ERRORS.items() if sign.search(words)), None)
