"""``constraints.txt``: the versions that were tested, in a form that pip takes with ``-c``.

What pip could not get from an index, or could not read, stands as a comment with the reason.
"""

from __future__ import annotations

import re

from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from preflight.records import Package, Record, Word
from preflight.rendering import wording
from preflight.rendering.escaping import clip
from preflight.rendering.findings import stage_rows
from preflight.rendering.quantities import SPACE

# pip looks for a coding line in the first two lines only (PEP 263): these are ours, so that no text
# of the record can name another encoding.
_HEAD = "# Versions that preflight found and tested.\n# -*- coding: utf-8 -*-"
_EMPTY_HEAD = "# Nothing was read of the environment: no version is known.\n# -*- coding: utf-8 -*-"

_GOOD: frozenset[Word] = frozenset(("READY", "READY_WITH_WARNINGS", "REHEARSED"))
_INDEX = "https://download.pytorch.org/whl/"
_FROM_TORCH_INDEX = frozenset(
    (
        "fbgemm-gpu",
        "pytorch-triton",
        "pytorch-triton-rocm",
        "torch",
        "torchao",
        "torchaudio",
        "torchdata",
        "torchrec",
        "torchtext",
        "torchvision",
        "triton",
        "triton-rocm",
    )
)
# Folders of that index: cpu, cu118 ... cu130, rocm6.4.
_TORCH_BUILD = re.compile(r"cpu|cu\d{2,3}|rocm\d+\.\d+(\.\d+)?")


def file_name(record: Record) -> str:
    """``constraints.txt``, or ``constraints.failed.txt`` for what must not be installed again."""
    return "constraints.txt" if record.verdict.word in _GOOD else "constraints.failed.txt"


def render(record: Record) -> str:
    """The constraints file: header, index lines, pins by name, then what cannot be pinned."""
    indexes: set[str] = set()
    pins: dict[str, str] = {}
    comments: list[str] = []
    for name, package in sorted(record.versions.packages.items()):
        key, pin, why, index = _judge(name, package)
        if not why and pins.get(key, pin) != pin:
            why = f"installed a second time, beside {pins[key]}"
        if why:
            comments.append(_comment(f"{pin}: {why}"))
            continue
        pins[key] = pin
        indexes |= {index} if index else set()
    blocks = [
        _header(record),
        "\n".join(f"--extra-index-url {index}" for index in sorted(indexes)),
        "\n".join(pins[key] for key in sorted(pins)),
        "\n".join([_comment("Not pinned:"), *comments]) if comments else "",
    ]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _header(record: Record) -> str:
    stages = [row.name for row in stage_rows(record) if row.status in ("pass", "warn")]
    facts = [
        f"verdict  {wording.WORDS[record.verdict.word]}",
        f"order    {wording.reference(record.order)}",
        f"host     {record.host.name}",
        f"date     {wording.moment(record.run.started)}",
        f"devices  {wording.found(record)}",
        f"python   {record.versions.python or 'unknown'}",
        f"tested   {', '.join(stages) or 'nothing passed'}",
        *wording.notices(record.run),
    ]
    if not record.versions.packages:
        return "\n".join([_EMPTY_HEAD, *map(_comment, facts)])
    if record.verdict.word not in _GOOD:
        facts.append("These versions did not pass: keep them as evidence, do not install them.")
    return "\n".join([_HEAD, *map(_comment, facts)])


def _comment(text: str) -> str:
    """One comment line; the full stop keeps a backslash from joining the next line to it."""
    line = clip(text.replace(SPACE, " "), 200)
    return f"# {line}." if line.endswith("\\") else f"# {line}"


def _judge(name: str, package: Package) -> tuple[str, str, str, str]:
    """Normal name, pin, why it cannot be one (or empty), and the index that it needs (or empty)."""
    try:
        key = str(canonicalize_name(name, validate=True))
        version = Version(package.version)
    except (InvalidName, InvalidVersion):
        pin = f"{clip(name, 80)}=={clip(package.version, 80)}"
        return name, pin, "no valid name and version, pip would not read it", ""
    pin = f"{key}=={version}"
    if package.origin == "editable":
        return key, pin, "editable install, not on an index", ""
    if package.origin == "url":
        return key, pin, "installed from a file or address of its own", ""
    if version.local is None:
        return key, pin, "", ""
    if key in _FROM_TORCH_INDEX and _TORCH_BUILD.fullmatch(version.local):
        nightly = "nightly/" if version.is_devrelease else ""
        return key, pin, "", f"{_INDEX}{nightly}{version.local}"
    return key, pin, f"vendor or local build (+{version.local}), no index is known to have it", ""
