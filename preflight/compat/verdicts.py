"""All rules at once: what a build comes to on a device, and the table of builds by devices."""

from __future__ import annotations

from collections.abc import Iterable

from preflight.compat.builds import Build
from preflight.compat.finding import Finding, worst
from preflight.compat.place import Place
from preflight.compat.rocm import judge_rocm
from preflight.compat.rules import judge_build, judge_driver, judge_python_and_glibc
from preflight.compat.torch_builds import releases
from preflight.compat.triton_rules import judge_triton

WORDS = {"pass": "pass", "warn": "eager", "fail": "FAIL", "unknown": "?"}
"""In the table: ``eager`` is a device on which torch works and Triton does not."""


def judge(build: Build, place: Place) -> tuple[Finding, ...]:
    """What each rule that can be asked finds; the first one is about torch's own code.

    A rule whose facts are missing (no driver, no Python) is left out.
    """
    findings = [judge_build(build, place)]
    if build.triton is not None and not place.is_amd:
        prefer = build.release.version if build.release else None
        findings.append(judge_triton(build.triton, place, prefer=prefer))
    if build.toolkit is not None and place.driver is not None and not place.is_amd:
        findings.append(judge_driver(place, build.toolkit))
    if build.rocm is not None and place.is_amd:
        findings.append(judge_rocm(place.architecture, build.rocm, module=place.driver))
    if place.python is not None or place.glibc is not None:
        findings.append(judge_python_and_glibc(build, place))
    return tuple(findings)


def verdict_of(build: Build, place: Place) -> str:
    """One of WORDS, by torch's own code and by Triton, whatever driver there is."""
    findings = [judge_build(build, place)]
    if build.triton is not None and not place.is_amd:
        findings.append(judge_triton(build.triton, place))
    gravest = worst(one for one in findings if one.status != "unknown") or findings[0]
    return WORDS["unknown" if findings[0].status == "unknown" else gravest.status]


def verdict_table(devices: Iterable[tuple[str, str]]) -> str:
    """Every wheel in the table by ``devices``, pairs of a name and an architecture, as text.

    A device of the other vendor has a dash, and a wheel that may not exist a question mark.
    """
    columns = tuple(devices)
    rows = [["torch", "wheel", "host", *(f"{name} {arch}" for name, arch in columns)]]
    for release in releases():
        for wheel in sorted(release.wheel, key=lambda one: (one.machine == "aarch64", one.variant)):
            build = Build(
                text=f"{release.newest}+{wheel.variant}",
                patch=release.newest,
                maker="release",
                variant=wheel.variant,
                machine=wheel.machine,
            )
            places = [Place(architecture=arch, machine=wheel.machine) for _, arch in columns]
            words = [
                verdict_of(build, place) if place.is_amd == (wheel.rocm is not None) else "-"
                for place in places
            ]
            mark = "?" if wheel.standing == "unverified" else ""
            rows.append([release.newest, wheel.variant + mark, wheel.machine, *words])
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    lines = ["  ".join(f"{cell:<{w}}" for cell, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(line.rstrip() for line in lines) + "\n"
