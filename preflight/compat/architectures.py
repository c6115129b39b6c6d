"""Which device runs which compiled code: pure functions of names such as ``sm_100`` and ``gfx942``.

Sources: NVIDIA, CUDA programming guide, "Binary compatibility" and "Family-specific features";
NVIDIA, nvcc documentation, "GPU feature list"; LLVM, user guide for the AMDGPU backend,
"Target ID" (a processor must match exactly).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_CUDA = re.compile(r"(sm|compute)_(\d+)(\d)([af]?)")
_ALONE = {(8, 7)}
"""Jetson Orin: neither runs code of 8.0 and 8.6, nor does its code run elsewhere."""


def runs_on(built_for: Iterable[str], architecture: str) -> bool:
    """Whether code built for any of ``built_for`` runs on a device of ``architecture``."""
    return any(_one_runs_on(target, architecture) for target in built_for)


def _one_runs_on(target: str, architecture: str) -> bool:
    if target.startswith("gfx"):
        return target.partition(":")[0] == architecture.partition(":")[0]
    code, device = _CUDA.fullmatch(target), _CUDA.fullmatch(architecture)
    if code is None or device is None:
        return False
    has, needs = (int(code[2]), int(code[3])), (int(device[2]), int(device[3]))
    if code[4] == "a":  # architecture-specific: that capability and no other
        return has == needs
    if code[1] == "compute":  # PTX, compiled by the driver for what is newer
        return has[0] == needs[0] and has <= needs if code[4] == "f" else has <= needs
    if has in _ALONE or needs in _ALONE:
        return has == needs
    return has[0] == needs[0] and has[1] <= needs[1]
