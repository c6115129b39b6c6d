"""Stage arch: does this torch have code for the device, and can its Triton compile for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from preflight.compat.builds import build_of
from preflight.compat.rules import judge_architecture
from preflight.compat.triton_rules import judge_triton
from preflight.compat.wheel_choice import assembler_for
from preflight.events import Environment
from preflight.harness import REHEARSAL, Result, Situation
from preflight.records import Device

NO_CODE = "torch holds no device code; import.torch speaks of that"


@pytest.mark.check(id="arch.torch", stage="arch", deadline="150s")
def check_torch(
    device: Device, situation: Situation, result: Result, ask_torch: Callable[[], Environment]
) -> None:
    """torch's architecture list holds code that this device runs."""
    answer, facts = _ask(device, situation, result, ask_torch)
    listed = " ".join(facts["arch_list"])
    result.attach(
        f"torch {facts['torch']} holds code for {listed}\n{device.name} is {device.architecture}"
    )
    finding = judge_architecture(
        facts["arch_list"],
        situation.place_of(device, answer),
        toolkit=facts["cuda"],
        prefer=_release(facts),
    )
    result.attach(finding.source)
    said = f"torch {facts['torch']} on {device.product}: {finding.reason}"
    if finding.status == "unknown":
        result.skip(said)
    elif finding.status == "warn":
        result.warn(said, finding.action)
    elif finding.status == "fail":
        result.fail(said, finding.action)
    result.note(finding.reason)


@pytest.mark.check(id="arch.triton", stage="arch", deadline="150s")
def check_triton(
    device: Device, situation: Situation, result: Result, ask_torch: Callable[[], Environment]
) -> None:
    """Triton, which torch.compile writes its kernels in, can compile for this device."""
    answer, facts = _ask(device, situation, result, ask_torch)
    if device.kind != "cuda":
        result.skip("Triton compiles for AMD with the LLVM in it, not with an assembler of its own")
    if facts.get("triton") is None:
        result.skip("no Triton is installed; compile.toolchain speaks of that")
    place, tools = situation.place_of(device, answer), facts.get("assemblers") or {}
    result.attach("\n".join(_line(name, tool) for name, tool in tools.items()))
    if broken := _broken(place.architecture, tools):
        result.warn(
            f"{broken['path']}, which Triton calls, does not run: {broken['error']}; eager runs, "
            "torch.compile and kernels written in Triton fail",
            f"make it executable (chmod +x {broken['path']}), or install Triton anew: "
            f"{place.pip} install --force-reinstall --no-deps triton=={facts['triton']}",
        )
        return
    finding = judge_triton(
        facts["triton"],
        place,
        found={name: tool["version"] for name, tool in tools.items() if tool["version"]},
        prefer=_release(facts),
    )
    result.attach(finding.source)
    if finding.status == "unknown":
        result.skip(finding.reason)
    if finding.status != "pass":
        result.warn(f"{device.product}: {finding.reason}", finding.action)
    result.note(finding.reason)


def _ask(
    device: Device, situation: Situation, result: Result, ask_torch: Callable[[], Environment]
) -> tuple[Environment, dict[str, Any]]:
    """torch's answer and its facts; ends the check where there is nothing to compare."""
    if not situation.has_cards:
        result.skip(REHEARSAL)
    answer = ask_torch()
    if answer.torch is None:
        result.skip("torch does not import; import.torch says why")
    if not answer.torch["arch_list"]:
        result.skip(NO_CODE)
    if device.architecture is None:
        result.skip("the driver does not tell the architecture of this device")
    return answer, answer.torch


def _release(facts: dict[str, Any]) -> str | None:
    """The release to stay with, if another build is to be installed."""
    build = build_of(facts["torch"])
    return build.release.version if build and build.release else None


def _broken(architecture: str, tools: dict[str, dict[str, Any]]) -> dict[str, Any] | None:
    """The assembler that Triton would call for this device, if it is there and does not run."""
    wanted = assembler_for(
        architecture, "ptxas", "ptxas-blackwell" if "ptxas-blackwell" in tools else None
    )
    tool = tools.get(wanted)
    return tool if tool and tool["version"] is None else None


def _line(name: str, tool: dict[str, Any]) -> str:
    return f"{name}: {tool['path']}: {tool['version'] or tool['error']}"
