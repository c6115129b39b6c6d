"""What a torch was built for, from its version and toolkit alone, as far as builds are published.

Releases from 2.1 on stand in ``preflight/compat/torch_builds.toml``. Vendors' builds
(``+nv25.06``, ``+git8907517``) are in no table.
"""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from preflight.compat.dumps.facts import Build
from preflight.compat.torch_builds import Wheel, release_of

_VERSION = re.compile(
    r"(?P<major>\d+)\.(?P<minor>\d+)(?:\.\d+)?(?P<pre>\.dev\d+|a\d+|rc\d+)?(?:\.post\d+)?(?:\+(?P<tag>[\w.]+))?"
)
_TAG = re.compile(r"cu(\d{2,3})")
_ROCM_TAG = re.compile(r"rocm(\d+)\.(\d+)")
_OLD_TOOLKITS: dict[str, str] = {
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
}
"""Builds before torch 2.1, on x86-64: known in the trade, from the build scripts of their time."""
_FIRST_IN_TABLE = (2, 1)
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
    kind: Literal["cuda", "rocm"] = "cuda" if toolkit else "rocm"
    release = _published(found, tag) if found else None
    if found is None or release is None or (kind == "rocm" and rocm and rocm >= _SPLIT_FROM):
        return BuiltFor(kind=kind, toolkit=toolkit)
    if release < _FIRST_IN_TABLE:
        old = () if is_aarch64 or toolkit is None else _OLD_TOOLKITS.get(toolkit, "").split()
        return BuiltFor(kind=kind, targets=tuple(f"sm_{one}" for one in old), toolkit=toolkit)
    variant = f"cu{toolkit.replace('.', '')}" if toolkit else tag
    machine = "aarch64" if is_aarch64 else "x86_64"
    sure, doubtful = _of_table(release, variant, machine, is_nightly=bool(found["pre"]))
    return BuiltFor(kind=kind, targets=sure, doubtful=doubtful, toolkit=toolkit)


def made_of(build: Build) -> BuiltFor:
    """What the fields of a dump describe."""
    platform = " ".join(one.value for one in (build.os, build.platform) if one is not None)
    return built_for(
        build.torch.value if build.torch else None,
        build.cuda.value if build.cuda else None,
        build.hip.value if build.hip else None,
        is_aarch64="aarch64" in platform,
    )


def _published(found: re.Match[str], tag: str) -> tuple[int, int] | None:
    """The release whose wheel it is; None for what vendors and people build themselves."""
    if (found["pre"] or "").startswith("a"):
        return None
    if not re.fullmatch(r"|cu\d+(?:\.with\.pypi\.cudnn)?|rocm[\d.]+", tag):
        return None
    return int(found["major"]), int(found["minor"])


def _of_table(
    release: tuple[int, int], variant: str, machine: str, *, is_nightly: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is sure to be in a wheel, and what may be; a nightly has only what was there before."""
    wheel = _wheel(release, variant, machine)
    if wheel is None:
        return (), ()
    if not is_nightly:
        return wheel.architectures, wheel.doubtful
    before = _wheel((release[0], release[1] - 1), variant, machine)
    sure = [one for one in wheel.architectures if before and one in before.architectures]
    if before is None and variant.startswith("cu"):
        sure = list(wheel.architectures)
    rest = [one for one in wheel.architectures if one not in sure]
    return tuple(sure), (*rest, *wheel.doubtful)


def _wheel(release: tuple[int, int], variant: str, machine: str) -> Wheel | None:
    found = release_of(f"{release[0]}.{release[1]}")
    return found.wheel_of(variant, machine) if found else None


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
