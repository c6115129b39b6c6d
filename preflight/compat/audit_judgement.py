"""From what stands in an environment to what an audit says of it: pure judgement."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from preflight.compat.alternatives import groups, possible
from preflight.compat.audit import SEVERITIES, Audit, Finding, Gpu
from preflight.compat.device_code_findings import device_code_findings
from preflight.compat.driver_needs import driver_findings, driver_needs
from preflight.compat.dynamic import glibc_floor
from preflight.compat.installed import Installed, Library
from preflight.compat.loader_findings import loader_findings
from preflight.compat.package_coverage import audit_package


def judge_environment(
    installed: Installed,
    gpus: tuple[Gpu, ...],
    *,
    gpus_from: Literal["flags", "machine", "catalogue"] = "flags",
    driver: str | None = None,
    tool_version: str = "",
) -> Audit:
    """The whole audit. ``driver`` is that of the machine which is meant; without one it is open."""
    packages = tuple(
        audit_package(d, gpus, installed.torch, driver) for d in installed.distributions
    )
    needs = {gpu.name: driver_needs(installed, gpu) for gpu in gpus}
    glibc, because = _glibc(installed)
    is_asked = gpus_from != "catalogue"
    return Audit(
        tool_version=tool_version,
        subject=installed.subject,
        python=installed.python,
        torch=installed.torch.version if installed.torch else None,
        driver=driver,
        gpus=gpus,
        gpus_from=gpus_from,
        packages=packages,
        findings=findings_for(installed, gpus if is_asked else (), driver=driver),
        driver_floor={name: found[0].driver if found else None for name, found in needs.items()},
        driver_floor_because={name: found[0].because for name, found in needs.items() if found},
        glibc_floor=glibc,
        glibc_floor_because=because,
        glibc=installed.glibc,
    )


def findings_for(
    installed: Installed, gpus: tuple[Gpu, ...], *, driver: str | None = None
) -> tuple[Finding, ...]:
    """Everything that is to be said, the worst first.

    ``gpus`` are those that somebody means: for each of them missing code is a failure.
    """
    found = list(_all(installed, gpus, driver))
    return tuple(sorted(found, key=lambda finding: SEVERITIES.index(finding.status)))


def _all(installed: Installed, gpus: tuple[Gpu, ...], driver: str | None) -> Iterator[Finding]:
    yield from device_code_findings(installed, gpus, driver)
    yield from driver_findings(installed, gpus, driver)
    yield from loader_findings(installed)


def _glibc(installed: Installed) -> tuple[str | None, str]:
    """Newest glibc that must be there, and what asks for it.

    Of siblings of which one is loaded, and nobody knows which, the least that one asks for counts.
    """
    found = []
    for distribution in installed.distributions:
        for group in groups(distribution.libraries):
            asked = [_asked(library) for library in possible(group, installed.torch)]
            if asked:
                floor, path = min(asked)
                found.append((floor, f"{distribution.name}, {path}"))
    (major, minor), because = max(found, default=((0, 0), ""))
    return (f"{major}.{minor}", because) if major else (None, "")


def _asked(library: Library) -> tuple[tuple[int, int], str]:
    floor = glibc_floor(library.dynamic.needed_versions) if library.dynamic else None
    return floor or (0, 0), library.path
