"""Which device runs which compiled code: pure functions of names such as ``sm_100`` and ``gfx942``.

Sources: NVIDIA, CUDA programming guide, "Binary compatibility" and "Family-specific features";
NVIDIA, nvcc documentation, "GPU feature list"; LLVM, user guide for the AMDGPU backend,
"Target ID" (a processor must match exactly) and "Generic processors".
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_CUDA = re.compile(r"(sm|compute)_(\d+)(\d)([af]?)")
_ALONE = {(8, 7)}
"""Jetson Orin: neither runs code of 8.0 and 8.6, nor does its code run elsewhere."""
_RENAMED = {(10, 1): (11, 0)}
"""Jetson Thor, which CUDA 12 called 10.1; code for 10.0 does not run on it."""

GENERIC: dict[str, frozenset[str]] = {
    "gfx9-generic": frozenset({"gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"}),
    "gfx9-4-generic": frozenset({"gfx940", "gfx941", "gfx942", "gfx950"}),
    "gfx10-1-generic": frozenset({"gfx1010", "gfx1011", "gfx1012", "gfx1013"}),
    "gfx10-3-generic": frozenset(
        {"gfx1030", "gfx1031", "gfx1032", "gfx1033", "gfx1034", "gfx1035", "gfx1036"}
    ),
    "gfx11-generic": frozenset(
        {"gfx1100", "gfx1101", "gfx1102", "gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"}
    ),
    "gfx12-generic": frozenset({"gfx1200", "gfx1201"}),
}
"""Processors that run code for a generic one. Nobody has shown us a library with such code."""


def runs_on(built_for: Iterable[str], architecture: str) -> bool:
    """Whether code built for any of ``built_for`` runs on a device of ``architecture``."""
    return any(_one_runs_on(target, architecture) for target in built_for)


def is_architecture(text: str) -> bool:
    """Whether a text names a device's architecture: ``sm_100``, ``gfx942:xnack-``."""
    cuda = _CUDA.fullmatch(text)
    if cuda is not None:
        return cuda[1] == "sm" and not cuda[4]
    return re.fullmatch(r"gfx[0-9a-f]{3,5}(:(sramecc|xnack)[+-])*", text) is not None


def _one_runs_on(target: str, architecture: str) -> bool:
    if target.startswith("gfx"):
        return _amd_runs_on(target, architecture)
    code, device = _CUDA.fullmatch(target), _CUDA.fullmatch(architecture)
    if code is None or device is None:
        return False
    has, needs = (int(code[2]), int(code[3])), (int(device[2]), int(device[3]))
    if code[1] == "sm":
        has, needs = _RENAMED.get(has, has), _RENAMED.get(needs, needs)
    if code[4] == "a":  # architecture-specific: that capability and no other
        return has == needs
    if code[1] == "compute":  # PTX, compiled by the driver for what is newer
        return has[0] == needs[0] and has <= needs if code[4] == "f" else has <= needs
    if has in _ALONE or needs in _ALONE:
        return has == needs
    return has[0] == needs[0] and has[1] <= needs[1]


def _amd_runs_on(target: str, architecture: str) -> bool:
    """The processor must match, or be of the generic one; a feature that both name, agree.

    A feature that the code does not name runs with either setting, and one that the device does
    not name is not known.
    """
    processor, features = _amd_parts(target)
    device, settings = _amd_parts(architecture)
    if processor != device and device not in GENERIC.get(processor, frozenset()):
        return False
    return all(settings.get(name, sign) == sign for name, sign in features.items())


def _amd_parts(target: str) -> tuple[str, dict[str, str]]:
    """``gfx942`` and {"sramecc": "+", "xnack": "-"} of ``gfx942:sramecc+:xnack-``."""
    processor, *features = target.split(":")
    return processor, {feature[:-1]: feature[-1] for feature in features if feature}
