"""Asks the interpreter under test, once a run, what it has and which device torch calls what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from preflight.compat.builds import build_of
from preflight.events import Environment, StatedBuild
from preflight.harness.channel import Message
from preflight.harness.injecting import InjectedFault
from preflight.harness.outcomes import CannotLook, ProbeFailed
from preflight.harness.probing import Probe
from preflight.records import Device, Package, Versions
from preflight.redaction import redact_facts, redact_text

LOOK_DEADLINE_S = 120.0
"""``import torch`` takes 2 to 10 s from a local disk and up to a minute from a cold network one."""


def look_at_environment(
    python: str,
    devices: Sequence[Device],
    *,
    deadline_s: float | None = None,
    fault: InjectedFault | None = None,
) -> Environment:
    """Import torch in a fresh process of ``python``; never raises for what that process does.

    It has ``deadline_s``, at most LOOK_DEADLINE_S.
    """
    left_s = LOOK_DEADLINE_S if deadline_s is None else min(deadline_s, LOOK_DEADLINE_S)
    probe = Probe(python)
    facts: dict[str, Any] | None = None
    failed, cause, evidence = False, "", ""
    try:
        facts = probe.call("environment.facts", deadline_s=left_s, injected=fault)
    except ProbeFailed as failure:
        failed, cause, evidence = True, failure.cause, failure.evidence
    except CannotLook as failure:
        cause, evidence = failure.cause, failure.evidence
    finally:
        probe.close()
    return Environment(
        versions=_versions(facts or {}, probe.partial),
        torch=None if facts is None else redact_facts(facts),
        failed=failed,
        cause=redact_text(cause),
        evidence=redact_text(evidence),
        torch_devices=join_devices(devices, (facts or {}).get("devices", ())),
    )


def stated_environment(build: StatedBuild) -> Environment:
    """What a build would answer that nobody can ask, in a simulation."""
    known = build_of(build.torch)
    facts: dict[str, Any] = {
        "torch": build.torch,
        "cuda": build.cuda,
        "hip": build.hip,
        "arch_list": list(build.arch_list),
        "triton": known.triton if known else None,
        "cuda_available": None,  # nobody can say
        "cuda_error": None,
    }
    return Environment(
        versions=Versions(torch=build.torch, cuda=build.cuda, hip=build.hip), torch=facts
    )


def _versions(facts: Mapping[str, Any], messages: Sequence[Message]) -> Versions:
    listing: Message = next((m for m in messages if m["event"] == "packages"), {})
    packages = {
        entry["name"]: Package(version=entry["version"], origin=entry["origin"])
        for entry in listing.get("distributions", ())
    }
    return Versions(
        torch=facts.get("torch") or listing.get("torch"),
        cuda=facts.get("cuda"),
        hip=facts.get("hip"),
        nccl=facts.get("nccl"),
        cudnn=facts.get("cudnn"),
        triton=facts.get("triton"),
        python=listing.get("python"),
        packages=packages,
    )


def join_devices(devices: Sequence[Device], seen: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Device name to torch's name: by UUID, then by PCI address, for the orders differ."""
    names: dict[str, str] = {}
    for device in devices:
        for entry in seen:
            same_uuid = device.uuid is not None and entry.get("uuid") == device.uuid
            same_pci = device.pci is not None and entry.get("pci") == device.pci
            if same_uuid or same_pci:
                names[device.name] = entry["torch_device"]
                break
        if device.kind == "cpu":
            names[device.name] = "cpu"
    return names
