"""Libraries beside torch: cuDNN and NCCL against its build, and what overwrites what.

Pure functions of distribution names and versions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from packaging.version import InvalidVersion, Version

from preflight.compat.builds import Build
from preflight.compat.finding import Finding

SHARED = ("cudnn", "nccl", "cusparselt", "nvshmem")
"""Wheels of NVIDIA that install into one folder whatever CUDA they are for: of nvidia-nccl-cu12 and
nvidia-nccl-cu13 the one that came last has overwritten the other."""
CUDNN_RULE = "torch, torch/backends/cudnn/__init__.py: same major, and no lower minor version"
FILES = "file lists of NVIDIA's wheels: nvidia/cudnn/lib, nvidia/nccl/lib"
TRITONS = ("triton", "pytorch-triton", "pytorch-triton-rocm", "triton-rocm")
"""Each installs a package called triton."""
_NVIDIA = re.compile(r"nvidia-(\w+)-cu(\d+)")


def judge_libraries(
    packages: Mapping[str, str], build: Build, *, pip: str = "pip"
) -> tuple[Finding, ...]:
    """What is wrong among the installed distributions; () where nothing is.

    ``packages`` are versions by name, in any spelling; ``build`` is the torch among them.
    """
    installed = {re.sub(r"[-_.]+", "-", name).lower(): text for name, text in packages.items()}
    findings = [
        *_overwritten(installed, build, pip),
        *_mixed_tritons(installed, pip),
        _judge_pin(installed, build, "cudnn", pip),
        _judge_pin(installed, build, "nccl", pip),
    ]
    return tuple(one for one in findings if one is not None)


def _overwritten(installed: Mapping[str, str], build: Build, pip: str) -> list[Finding]:
    """Wheels for two CUDA versions in one folder."""
    majors: dict[str, list[str]] = {}
    for name in installed:
        if (match := _NVIDIA.fullmatch(name)) and match[1] in SHARED:
            majors.setdefault(match[1], []).append(match[2])
    found = []
    for library, versions in sorted(majors.items()):
        if len(versions) < 2:
            continue
        names = [f"nvidia-{library}-cu{major}" for major in sorted(versions)]
        found.append(
            Finding(
                status="warn",
                reason=f"{' and '.join(names)} are installed into one folder: the one that came "
                "last has overwritten the other",
                action=_keep_one(names, installed, build, pip),
                source=FILES,
            )
        )
    return found


def _keep_one(names: list[str], installed: Mapping[str, str], build: Build, pip: str) -> str:
    """Take all away, and put back the one that this torch loads."""
    major = (build.toolkit or "").partition(".")[0]
    ours = next((name for name in names if major and name.endswith(f"-cu{major}")), None)
    gone = f"{pip} uninstall -y {' '.join(names)}"
    if ours is None:
        return f"{gone}, then install again the one that torch requires"
    return f"{gone} && {pip} install --no-deps {ours}=={installed[ours]}"


def _mixed_tritons(installed: Mapping[str, str], pip: str) -> list[Finding]:
    there = [name for name in TRITONS if name in installed]
    if len(there) < 2:
        return []
    return [
        Finding(
            status="warn",
            reason=f"{' and '.join(there)} are one package: the one that came last has overwritten "
            "the other",
            action=f"{pip} uninstall -y {' '.join(there)}, then install again the one that torch "
            "requires",
            source="file lists of Triton's wheels: triton/",
        )
    ]


def _judge_pin(
    installed: Mapping[str, str], build: Build, library: str, pip: str
) -> Finding | None:
    """An installed cuDNN or NCCL against the one that a known wheel requires."""
    wheel = build.wheel
    required = getattr(wheel, library) if wheel is not None else None
    major = (build.toolkit or "").partition(".")[0]
    name = f"nvidia-{library}-cu{major}"
    there = installed.get(name)
    if required is None or there is None or there == required:
        return None
    try:
        ours, needed = Version(there), Version(required)
    except InvalidVersion:
        return None
    serves = ours.major == needed.major and ours.release[:2] >= needed.release[:2]
    title = {"cudnn": "cuDNN", "nccl": "NCCL"}[library]
    if serves:
        return None
    return Finding(
        status="fail" if library == "cudnn" or ours.major != needed.major else "warn",
        reason=f"{title} {there} is installed, and torch {build.text} was built with {required}"
        + (", which it insists on" if library == "cudnn" else ": it may miss functions"),
        action=f"{pip} install --no-deps {name}=={required}",
        source=CUDNN_RULE if library == "cudnn" else (wheel.source if wheel else ""),
    )
