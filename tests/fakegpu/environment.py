"""The environment that gives a command the fake devices, and faults in them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from fakegpu.build import Libraries

SITE = Path(__file__).with_name("site")
NO_KERNEL = "cuda 209 CUDA error: no kernel image is available for execution on the device"
ILLEGAL_ACCESS = "async 700 CUDA error: an illegal memory access was encountered"


def fake_environment(
    libraries: Libraries, *, root: Path | None = None, **variables: str
) -> dict[str, str]:
    """This process's environment with the devices; ``variables`` are FAKEGPU_* and others.

    With ``root`` its packages are found too.
    """
    own = {name: value for name, value in os.environ.items() if not _hides(name)}
    own.update(variables)
    first = os.pathsep.join([str(SITE), *([str(root)] if root is not None else [])])
    return {
        **own,
        "PYTHONPATH": _before(first, own, "PYTHONPATH"),
        "LD_LIBRARY_PATH": _before(str(libraries.nvml_folder), own, "LD_LIBRARY_PATH"),
        "FAKEGPU_LIBRARY": str(libraries.torch),
    }


def fault(op: str, kind: str, *, device: int | None = None, skip: int = 0) -> dict[str, str]:
    """A fault of an operation such as ``aten::mm``; native/faults.h lists the kinds."""
    place = "" if device is None else str(device)
    return {"FAKEGPU_FAULT": f"{op}|{place}|{kind}|{skip}"}


def collective_fault(op: str, kind: str, *, rank: int, skip: int = 0) -> dict[str, str]:
    """A fault of a collective such as ``allreduce_`` in the process of one rank."""
    return {"FAKEGPU_COLLECTIVE_FAULT": f"{op}|{kind}|{skip}", "FAKEGPU_FAULT_RANK": str(rank)}


def _hides(name: str) -> bool:
    """Variables of this process that would change what the devices or the command are."""
    return name.startswith(("FAKEGPU_", "FAKENVML_", "PREFLIGHT_", "PYTEST_")) or name.endswith(
        "_VISIBLE_DEVICES"
    )


def _before(first: str, environment: Mapping[str, str], name: str) -> str:
    rest = environment.get(name)
    return first + os.pathsep + rest if rest else first
