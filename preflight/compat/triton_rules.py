"""Can Triton compile for the device: a gate of its own, for its wheels bring their own assembler.

torch's kernels may run on a card for which Triton's ptxas knows no target: eager mode works there,
and every torch.compile fails.
"""

from __future__ import annotations

from collections.abc import Mapping

from preflight.compat.assemblers import assembler_of
from preflight.compat.finding import Finding
from preflight.compat.place import Place
from preflight.compat.toolkits import architecture, compiles_for, minor_of
from preflight.compat.wheel_choice import assembler_for, assembles, best_wheel, install_command

INDUCTOR = "torch, torch/_inductor/scheduler.py: compute capability 7.0 and newer"
LOWEST = 70
MAJOR = (
    "NVIDIA, CUDA Compatibility, minor version compatibility: a cubin needs a driver of its major"
)


def judge_triton(
    triton: str,
    place: Place,
    *,
    found: Mapping[str, str] | None = None,
    prefer: str | None = None,
) -> Finding:
    """Whether a Triton such as ``3.5.1`` compiles for NVIDIA's device.

    ``found`` are CUDA versions of assemblers as they were seen: ``ptxas`` and ``ptxas-blackwell``
    of Triton, or what TRITON_PTXAS_PATH names instead, and ``torch``, torch's own ptxas. Without
    ``ptxas`` in it, the table of Triton's wheels speaks.
    """
    name, seen = place.architecture, dict(found or {})
    if place.is_amd:
        return Finding(
            status="unknown",
            reason="Triton compiles for AMD with the LLVM in it; its processors are in no table",
        )
    number = name.removeprefix("sm_")
    if number.isdecimal() and int(number) < LOWEST:
        return Finding(
            status="warn",
            reason=f"torch.compile serves sm_{LOWEST} and newer, and this is {name}: eager runs",
            action="leave torch.compile out on this card",
            source=INDUCTOR,
        )
    tool = _tool(triton, name, seen)
    knows = compiles_for(tool[1], name) if tool else None
    if tool is None or knows is None:
        return Finding(
            status="unknown", reason=f"whether Triton {triton} knows {name} is in no table"
        )
    if not knows:
        return _without_target(triton, tool, place, seen, prefer)
    return _judge_major(triton, tool, place)


def _tool(triton: str, name: str, seen: Mapping[str, str]) -> tuple[str, str] | None:
    """Name and CUDA version of the assembler that Triton gives the code to."""
    ptxas, blackwell = seen.get("ptxas"), seen.get("ptxas-blackwell")
    if ptxas is None:
        listed = assembler_of(triton)
        if listed is None:
            return None
        ptxas, blackwell = listed.ptxas, blackwell or listed.blackwell
    version = assembler_for(name, ptxas, blackwell)
    return ("ptxas-blackwell" if version == blackwell and version != ptxas else "ptxas", version)


def _without_target(
    triton: str, tool: tuple[str, str], place: Place, seen: Mapping[str, str], prefer: str | None
) -> Finding:
    name, known = place.architecture, architecture(place.architecture)
    first = known.first_cuda if known else None
    own = seen.get("torch", "")
    helped = tool[0] == "ptxas" and compiles_for(own, name) is True
    fails = (
        f"torch.compile takes torch's own of CUDA {minor_of(own)}, kernels written in Triton fail"
        if helped
        else "eager runs, torch.compile and kernels written in Triton fail"
    )
    variable = "TRITON_" + tool[0].replace("-", "_").upper() + "_PATH"
    return Finding(
        status="warn",
        reason=f"{tool[0]} of Triton {triton} is of CUDA {minor_of(tool[1])}, which does not know "
        f"{name}: {fails} (Value '{name}a' is not defined for option 'gpu-name')",
        action=f"export {variable}=/usr/local/cuda/bin/ptxas, of CUDA {first} or newer"
        + _newer_torch(place, prefer),
        source=f"{_source(triton)}; {known.source if known else ''}",
    )


def _newer_torch(place: Place, prefer: str | None) -> str:
    """The torch whose Triton knows the device, where there is one; empty where not."""
    best = best_wheel(place, prefer)
    if best is None or not assembles(best.release.triton[best.release.newest], place.architecture):
        return ""
    return f"; or: {install_command(place, prefer)}"


def _judge_major(triton: str, tool: tuple[str, str], place: Place) -> Finding:
    """A cubin of CUDA 13 is refused by a driver of CUDA 12, whatever torch was built with."""
    major, speaks = tool[1].partition(".")[0], (place.driver_cuda or "").partition(".")[0]
    if speaks.isdecimal() and major.isdecimal() and int(speaks) < int(major):
        variable = "TRITON_" + tool[0].replace("-", "_").upper() + "_PATH"
        return Finding(
            status="warn",
            reason=f"{tool[0]} of Triton {triton} is of CUDA {minor_of(tool[1])}, and the driver "
            f"speaks CUDA {place.driver_cuda}: what it compiles is refused (device kernel image is "
            "invalid)",
            action=f"export {variable}=/usr/local/cuda/bin/ptxas, of CUDA {speaks}; or install a "
            f"driver of CUDA {major} on the host",
            source=MAJOR,
        )
    return Finding(
        status="pass",
        reason=f"{tool[0]} of Triton {triton}, of CUDA {minor_of(tool[1])}, knows "
        f"{place.architecture}",
        source=_source(triton),
    )


def _source(triton: str) -> str:
    listed = assembler_of(triton)
    return listed.source if listed else "ptxas --version"
