"""Libraries of which a package loads one: ``libbitsandbytes_cuda130.so`` and its siblings."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from preflight.compat.installed import Library, Torch

_NAME = re.compile(
    r"(?P<stem>.+?)[._-]?(?P<kind>cuda|cu|rocm|hip|xpu|cpu)_?(?P<version>\d*)(?P<rest>\D*)",
    re.IGNORECASE,
)
_KINDS = {"cu": "cuda", "hip": "rocm"}


class Variant(msgspec.Struct, frozen=True, kw_only=True):
    """What the name of a library says of its build."""

    family: str
    """Its path without that."""
    kind: str
    """``cuda``, ``rocm``, ``xpu`` or ``cpu``."""
    version: str
    """Digits: ``130``; empty where there are none."""


def variant(path: str) -> Variant | None:
    """What a path says of the build; None for a name that speaks of none."""
    folder, slash, name = path.rpartition("/")
    stem, dot, _ = name.partition(".so") if ".so" in name else name.rpartition(".")
    found = _NAME.fullmatch(stem)
    if not dot or found is None:
        return None
    kind = found["kind"].lower()
    return Variant(
        family=f"{folder}{slash}{found['stem']}",
        kind=_KINDS.get(kind, kind),
        version=found["version"],
    )


def groups(libraries: Sequence[Library]) -> tuple[tuple[Library, ...], ...]:
    """Libraries that are used together or alone, each a group, and those that replace one another.

    Two of one family replace one another where they are of one kind and differ in its version.
    """
    families: dict[tuple[str, str], list[Library]] = {}
    for library in libraries:
        of = variant(library.path)
        key = (of.family, of.kind) if of and of.version else (library.path, "")
        families.setdefault(key, []).append(library)
    return tuple(tuple(group) for group in families.values())


def chosen(group: Sequence[Library], torch: Torch | None) -> tuple[Library, ...]:
    """Those of a group by which a package is to be judged beside this torch.

    Packages take the one that is named after torch's CUDA or ROCm; where none is, or there is no
    torch, it can be any of them.
    """
    return possible(group, torch) or tuple(group)


def possible(group: Sequence[Library], torch: Torch | None) -> tuple[Library, ...]:
    """Those of a group that can be loaded; () where all are meant for other CUDAs or ROCms.

    ``130`` is version 13.0, and ``64`` 6.4.43484.
    """
    if len(group) < 2:
        return tuple(group)
    return tuple(library for library in group if _may_load(variant(library.path), torch))


def _may_load(of: Variant | None, torch: Torch | None) -> bool:
    if of is None or of.kind not in ("cuda", "rocm"):
        return False
    if torch is None:
        return True
    version = torch.cuda if of.kind == "cuda" else torch.hip
    return version is not None and of.version == "".join(version.split(".")[:2])


def loaded(libraries: Sequence[Library], torch: Torch | None) -> tuple[Library, ...]:
    """Those that will be loaded, as far as one can tell: of siblings the one that can be."""
    found = (possible(group, torch) for group in groups(libraries))
    return tuple(these[0] for these in found if len(these) == 1)
