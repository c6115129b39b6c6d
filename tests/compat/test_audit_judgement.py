"""The whole audit, from what is installed."""

from __future__ import annotations

import json

import msgspec
import pytest

from preflight.compat.audit import SEVERITIES, Audit, Finding
from preflight.compat.audit_judgement import findings_for, judge_environment
from preflight.facts import Absence

from .environments import (
    B200,
    CUDA_12,
    H100,
    MI300X,
    ROCM,
    cuda,
    distribution,
    hip,
    installed,
    library,
    torch_of,
)

TORCH = torch_of(cuda("sm_90 sm_100"))
FLASH = distribution("flash-attn", library("flash.so", cuda("sm_80 sm_90"), glibc="2.32"))


def test_packages_against_gpus() -> None:
    """Each package has a word for each GPU, whatever else is said."""
    audit = judge_environment(installed(TORCH, FLASH), (B200, H100, MI300X))
    assert {package.name: package.covered for package in audit.packages} == {
        "torch": {"B200": "yes", "H100": "yes", "MI300X": "no"},
        "flash-attn": {"B200": "no", "H100": "yes", "MI300X": "no"},
    }
    assert audit.driver_floor == {"B200": "580.65.06", "H100": "580.65.06", "MI300X": None}
    assert "CUDA 13.0" in audit.driver_floor_because["H100"]
    assert (audit.glibc_floor, audit.glibc_floor_because) == ("2.32", "flash-attn, flash.so")


def test_missing_code_fails_nobody_who_has_not_asked() -> None:
    """For all GPUs of the catalogue the table is the answer, and not a list of failures."""
    environment = installed(TORCH)
    asked = judge_environment(environment, (MI300X,), gpus_from="flags")
    survey = judge_environment(environment, (MI300X,), gpus_from="catalogue")
    assert (asked.exit_code, survey.exit_code) == (1, 0)
    assert survey.packages[0].covered == {"MI300X": "no"}
    assert survey.findings == ()


def test_what_holds_for_every_gpu_is_said_without_one() -> None:
    """A damaged file is one, whoever asks for what."""
    broken = library("x.so", unresolved=("_ZN3c105ErrorE",))
    audit = judge_environment(installed(distribution("x", broken)), (), gpus_from="catalogue")
    assert (audit.exit_code, len(audit.findings)) == (1, 1)


def test_the_worst_is_said_first() -> None:
    """Failures, then errors, then warnings, then what is not judged."""
    files = [
        library("a.so", missing=("liba.so",)),
        library("b.so", unresolved=("_ZN3c105ErrorE",)),
    ]
    unread = msgspec.structs.replace(
        library("c.so"), absence=Absence(reason="no permission"), dynamic=None
    )
    vendor = distribution("nvidia-x", library("d.so", missing=("libd.so",)))
    found = findings_for(installed(vendor, distribution("x", *files, unread)), ())
    assert [one.status for one in found] == list(SEVERITIES)


@pytest.mark.parametrize(
    ("statuses", "code"),
    [((), 0), (("warn", "skip"), 0), (("warn", "fail", "error"), 1), (("error", "warn"), 3)],
)
def test_exit_codes(statuses: tuple[str, ...], code: int) -> None:
    """A failure is 1; what we were stopped from looking at is never fine."""
    audit = judge_environment(installed(), ())
    findings = tuple(msgspec.convert({"status": s, "reason": "x"}, Finding) for s in statuses)
    assert msgspec.structs.replace(audit, findings=findings).exit_code == code


def test_the_audit_is_json() -> None:
    """It is written and read again without loss."""
    audit = judge_environment(
        installed(torch_of(hip("gfx942")), torch=ROCM, glibc=Absence(reason="not found")),
        (MI300X,),
        tool_version="0.1.0",
    )
    data = msgspec.json.encode(audit)
    assert msgspec.json.decode(data, type=Audit) == audit
    tree = json.loads(data)
    assert tree["schema"] == "preflight.audit/1"
    assert tree["packages"][0]["files"][0] == {
        "path": "torch/lib/libtorch_hip.so",
        "kind": "hip",
        "fatbins": 1,
        "archs": ["gfx942"],
        "archs_in_all": ["gfx942"],
        "judged": True,
        "covered": {"MI300X": "yes"},
    }


def test_of_siblings_the_least_glibc_counts() -> None:
    """Where nobody knows which is loaded, one that asks for less may be it."""
    package = distribution(
        "b", library("libb_cuda126.so", glibc="2.17"), library("libb_cuda130.so", glibc="2.34")
    )
    unknown = judge_environment(installed(package, torch=None), ())
    known = judge_environment(installed(package, torch=CUDA_12), ())
    newest = judge_environment(installed(package), ())
    assert [a.glibc_floor for a in (unknown, known, newest)] == ["2.17", "2.17", "2.34"]
    assert judge_environment(installed(distribution("numpy")), ()).glibc_floor is None
