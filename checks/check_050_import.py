"""Stage import: torch, numpy and the extensions of the plan, each in a fresh process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from packaging.version import InvalidVersion, Version

from preflight.compat.builds import build_of
from preflight.compat.wheel_choice import install_command
from preflight.events import Environment
from preflight.harness import CannotLook, ProbeFailed, Result, Situation
from preflight.plan import Plan

OLDEST_WITHOUT_FINDING = Version("2.6")
"""torch.load's weights_only was no safe default, and could be escaped, before (CVE-2025-32434)."""


@pytest.mark.check(id="import.torch", stage="import", deadline="150s")
def check_torch(situation: Situation, result: Result, ask_torch: Callable[[], Environment]) -> None:
    """torch imports in a fresh process of the interpreter under test."""
    environment = ask_torch()
    facts = environment.torch
    if facts is None:
        result.attach(environment.evidence)
        if not environment.failed:
            raise CannotLook(environment.cause, action="name a working interpreter with --python")
        result.fail(environment.cause, _mend_torch(environment, situation))
        return
    result.measure("import torch", facts["seconds"], "s")
    result.attach(f"{facts['file']}")
    result.note(f"torch {facts['torch']}")
    _judge_build(environment, situation, result)
    _judge_age(facts["torch"], result)


@pytest.mark.check(id="import.numpy", stage="import", deadline="60s", gates=False)
def check_numpy(result: Result, fresh: Any, situation: Situation) -> None:
    """numpy imports in a fresh process; torch's sharded checkpoints need it."""
    result.advise(f"install it: {situation.options.python} -m pip install numpy")
    answer = fresh()("extension.load", name="numpy")
    result.measure("import numpy", answer["seconds"], "s")
    result.attach(str(answer["file"]))
    result.note(f"numpy {answer['version']}")


@pytest.mark.check(id="import.extensions", stage="import", deadline="300s", gates=False)
def check_extensions(result: Result, fresh: Any, plan: Plan, situation: Situation) -> None:
    """Each extension of the plan imports in a fresh process."""
    if not plan.software.extensions:
        result.skip("the plan lists no extensions")
    for extension in plan.software.extensions:
        name = extension.distribution or extension.module
        try:
            answer = fresh()("extension.load", name=extension.module)
        except ProbeFailed as failure:
            result.attach(failure.evidence)
            result.fail(
                f"{extension.module}: {failure.cause}",
                f"install {name} built for this torch: {situation.options.python} -m pip install "
                f"--force-reinstall --no-deps {name}",
            )
            continue
        result.measure(f"import {extension.module}", answer["seconds"], "s")
        result.attach(f"{extension.module} {answer['version']} {answer['file']}")
    result.note(", ".join(e.module for e in plan.software.extensions))


def _mend_torch(environment: Environment, situation: Situation) -> str:
    command = _command(environment, situation)
    if "No module named 'torch'" in environment.cause:
        return f"install torch into this interpreter: {command}"
    gone = f"{situation.options.python} -m pip uninstall -y torch"
    return (
        "torch is installed and does not import: the evidence names the library; reinstall it: "
        f"{gone} && {command}"
    )


def _command(answer: Environment, situation: Situation) -> str:
    """What installs a torch with code for the first card; on a machine without any, PyPI's."""
    told = [one for one in situation.inventory.devices if one.architecture is not None]
    if situation.is_rehearsal or not told:
        return f"{situation.options.python} -m pip install torch"
    build = build_of(answer.versions.torch or "")
    release = build.release.version if build and build.release else None
    return install_command(situation.place_of(told[0], answer), release)


def _judge_build(answer: Environment, situation: Situation, result: Result) -> None:
    """A build without device code, or of the other vendor, on a machine that has cards."""
    facts: dict[str, Any] = answer.torch or {}
    devices = situation.inventory.devices
    if situation.is_rehearsal or not devices:
        return
    kind, product = devices[0].kind, devices[0].product
    build = "cuda" if facts["cuda"] else "hip" if facts["hip"] else "cpu"
    if build == "cpu":
        result.fail(
            f"torch {facts['torch']} is a CPU-only build, and this machine has "
            f"{len(devices)} x {product}",
            f"install a build with device code: {_command(answer, situation)}",
        )
    elif build != kind:
        result.fail(
            f"torch {facts['torch']} is built for {build.upper()}, and this machine has {product}",
            f"install a torch built for {kind.upper()}: {_command(answer, situation)}",
        )
    elif not facts["cuda_available"]:
        result.fail(
            f"torch {facts['torch']} finds no device: {facts['cuda_error'] or 'it says nothing'}",
            "check the driver (nvidia-smi or rocminfo) and what the environment hides",
        )


def _judge_age(version: str, result: Result) -> None:
    try:
        old = Version(version.partition("+")[0]) < OLDEST_WITHOUT_FINDING
    except InvalidVersion:
        return  # a vendor's own numbering; nothing can be said of its age
    if old:
        result.warn(
            f"torch {version} is older than {OLDEST_WITHOUT_FINDING}: torch.load can run code of "
            "the file even with weights_only=True (CVE-2025-32434)",
            "load only checkpoints that you wrote, or take a newer torch",
        )
