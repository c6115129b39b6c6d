"""What a torch was built for, from its version and toolkit alone, as far as builds are published.

Sources: pytorch/builder and pytorch/pytorch, build scripts of the wheels (``TORCH_CUDA_ARCH_LIST``,
``PYTORCH_ROCM_ARCH``), and ``CUDA_ARCH_FLAGS`` inside the wheels of the default index from 2.1 on.
Vendors' builds (``+nv25.06``, ``+git8907517``) are in no table.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from preflight.compat.dumps.facts import Build

_VERSION = re.compile(
    r"(?P<major>\d+)\.(?P<minor>\d+)(?:\.\d+)?(?P<pre>\.dev\d+|a\d+|rc\d+)?(?:\.post\d+)?(?:\+(?P<tag>[\w.]+))?"
)
_TAG = re.compile(r"cu(\d{2,3})")
_ROCM_TAG = re.compile(r"rocm(\d+)\.(\d+)")
_OLDEST, _NEWEST = (1, 0), (2, 15)

_BY_TOOLKIT: dict[str, str] = {
    "9.0": "35 50 60 70",
    "9.2": "35 50 60 70",
    "10.0": "37 50 60 70 75",
    "10.1": "37 50 60 70 75",
    "10.2": "37 50 60 70 75",
    "11.0": "37 50 60 70 75 80",
    "11.1": "37 50 60 70 75 80 86",
    "11.3": "37 50 60 70 75 80 86",
    "11.5": "37 50 60 70 75 80 86",
    "11.6": "37 50 60 70 75 80 86",
    "11.7": "37 50 60 70 75 80 86",
    "11.8": "37 50 60 70 75 80 86 90",
    "12.1": "50 60 70 75 80 86 90",
    "12.4": "50 60 70 75 80 86 90",
    "12.6": "50 60 70 75 80 86 90",
    "12.8": "75 80 86 90 100 120",
    "12.9": "70 75 80 86 90 100 120",
    "13.0": "75 80 86 90 100 120",
    "13.2": "75 80 86 90 100 120",
    "13.4": "75 80 86 90 100 120",
}
_AARCH64: dict[str, str] = {
    "12.4": "90",
    "13.0": "80 90 100 110 120",
    "13.2": "80 90 100 110 120",
    "13.4": "80 90 100 110 120",
}
_VOLTA_IN_128 = ((2, 8), (2, 10))
"""First and last release whose build for CUDA 12.8 has code for 7.0."""
_ROCM_CORE = "gfx900 gfx906 gfx908 gfx90a gfx1030"
_ROCM_LATER: tuple[tuple[tuple[int, int], str, str], ...] = (
    # From this release on: what is sure, and what some of its builds have.
    ((2, 1), "gfx1100", ""),
    ((2, 3), "gfx942", ""),
    ((2, 5), "", "gfx1101 gfx1102"),
    ((2, 7), "gfx1101", "gfx1102 gfx1200 gfx1201"),
    ((2, 9), "gfx1102 gfx1200 gfx1201", "gfx950 gfx1150 gfx1151"),
    ((2, 11), "gfx950 gfx1151", "gfx1103"),
)
_SPLIT_FROM = (7, 9)
"""From this ROCm on the code lies in packages of its own, one for each target."""


class BuiltFor(msgspec.Struct, frozen=True, kw_only=True):
    """Architectures of a build."""

    kind: Literal["cuda", "rocm", "cpu", "xpu", "unknown"]
    targets: tuple[str, ...] = ()
    """Sure to be in it; () where nobody has published them."""
    doubtful: tuple[str, ...] = ()
    toolkit: str | None = None
    """``12.8``, also where only the tag tells."""


def built_for(
    version: str | None, cuda: str | None, hip: str | None, *, is_aarch64: bool = False
) -> BuiltFor:
    """The build that the fields of a dump describe, as they were printed."""
    found = _VERSION.match(version or "")
    tag = (found["tag"] if found else None) or ""
    toolkit = _toolkit(cuda, tag)
    rocm = _rocm(hip, tag)
    if tag.startswith("xpu"):
        return BuiltFor(kind="xpu")
    if toolkit is None and rocm is None:
        is_cpu = tag.startswith("cpu") or (_says_none(cuda) and (_says_none(hip) or hip is None))
        return BuiltFor(kind="cpu" if is_cpu and found is not None else "unknown")
    if found is None or not _is_published(found, tag):
        return BuiltFor(kind="cuda" if toolkit else "rocm", toolkit=toolkit)
    release = int(found["major"]), int(found["minor"])
    if toolkit is None and rocm is not None:
        return _rocm_build(release, rocm, is_nightly=bool(found["pre"]))
    return _cuda_build(release, str(toolkit), is_nightly=bool(found["pre"]), is_aarch64=is_aarch64)


def made_of(build: Build) -> BuiltFor:
    """What the fields of a dump describe."""
    platform = " ".join(one.value for one in (build.os, build.platform) if one is not None)
    return built_for(
        build.torch.value if build.torch else None,
        build.cuda.value if build.cuda else None,
        build.hip.value if build.hip else None,
        is_aarch64="aarch64" in platform,
    )


def _is_published(found: re.Match[str], tag: str) -> bool:
    release = int(found["major"]), int(found["minor"])
    if (found["pre"] or "").startswith("a"):
        return False
    return _OLDEST <= release <= _NEWEST and bool(re.fullmatch(r"|cu\d+|rocm[\d.]+(a\d+)?", tag))


def _cuda_build(
    release: tuple[int, int], toolkit: str, *, is_nightly: bool, is_aarch64: bool
) -> BuiltFor:
    table = _AARCH64 if is_aarch64 else _BY_TOOLKIT
    numbers, doubtful = table.get(toolkit, "").split(), []
    if is_aarch64 and not numbers:
        doubtful = _BY_TOOLKIT.get(toolkit, "").split()
    elif toolkit == "12.8":
        first, last = _VOLTA_IN_128
        if is_nightly or release == (2, 7):
            doubtful = ["70"]
        elif first <= release <= last:
            numbers = ["70", *numbers]
    return BuiltFor(
        kind="cuda",
        targets=tuple(f"sm_{number}" for number in numbers),
        doubtful=tuple(f"sm_{number}" for number in doubtful),
        toolkit=toolkit,
    )


def _rocm_build(release: tuple[int, int], rocm: tuple[int, int], *, is_nightly: bool) -> BuiltFor:
    if rocm >= _SPLIT_FROM or release < (2, 1):
        return BuiltFor(kind="rocm")
    sure, doubtful = _ROCM_CORE.split(), []
    for first, certain, some in _ROCM_LATER:
        if release >= first:
            sure += certain.split()
            doubtful += some.split()
    if release >= (2, 13):  # gfx900 and gfx906 remain in some of its builds
        sure = [one for one in sure if one not in ("gfx900", "gfx906")]
        doubtful += ["gfx900", "gfx906"]
    if is_nightly:  # the newest targets came in some night before the release
        recent = {"gfx950", "gfx1102", "gfx1151", "gfx1200", "gfx1201"}
        doubtful += [one for one in sure if one in recent]
        sure = [one for one in sure if one not in recent]
    return BuiltFor(kind="rocm", targets=tuple(sure), doubtful=tuple(doubtful))


def _toolkit(cuda: str | None, tag: str) -> str | None:
    """``12.6`` from the field, else from ``cu126``; the cu90 of old wheels is 9.0."""
    if cuda and re.match(r"\d+\.\d+", cuda):
        return ".".join(cuda.split(".")[:2])
    if found := _TAG.match(tag):
        return f"{found[1][:-1]}.{found[1][-1]}"
    return None


def _rocm(hip: str | None, tag: str) -> tuple[int, int] | None:
    found = _ROCM_TAG.match(tag)
    if found is None and hip:
        found = re.match(r"(\d+)\.(\d+)", hip)
    return (int(found[1]), int(found[2])) if found else None


def _says_none(value: str | None) -> bool:
    """Whether a field says that the build has none; a line that was cut off says nothing."""
    return value is not None and value.lower() in ("none", "n/a", "could not collect", "")
