"""Limits of this process, from /proc/self/limits."""

from __future__ import annotations

import re
import resource
from dataclasses import dataclass

from preflight.facts import Absence, Whole
from preflight.hardware.files import Files

_LIMITS = "/proc/self/limits"
UNLIMITED = -1


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A limit; UNLIMITED where there is none."""

    soft: Whole
    """What binds now."""
    hard: Whole
    """How far this process may raise it."""


def locked_memory_KiB(files: Files) -> Limit:
    """Memory that may be locked, which RDMA needs for its buffers."""
    found = _limit(files, "Max locked memory", resource.RLIMIT_MEMLOCK)
    return Limit(soft=_to_KiB(found.soft), hard=_to_KiB(found.hard))


def open_files(files: Files) -> Limit:
    """Files and sockets that may be open at once."""
    return _limit(files, "Max open files", resource.RLIMIT_NOFILE)


def _limit(files: Files, name: str, number: int) -> Limit:
    text = files.text(_LIMITS)
    if isinstance(text, Absence):
        # Only Linux has the file.
        return _own(number) if files.is_real else Limit(soft=text, hard=text)
    match = re.search(rf"^{name}[ \t]+(\S+)[ \t]+(\S+)", text, re.MULTILINE)
    if match is None:
        missing = Absence(what=f"{_LIMITS} {name}", reason="not readable", detail="no such line")
        return Limit(soft=missing, hard=missing)
    return Limit(soft=_number(name, match[1]), hard=_number(name, match[2]))


def _own(number: int) -> Limit:
    pair = resource.getrlimit(number)
    soft, hard = (UNLIMITED if value == resource.RLIM_INFINITY else value for value in pair)
    return Limit(soft=soft, hard=hard)


def _number(name: str, word: str) -> Whole:
    if word == "unlimited":
        return UNLIMITED
    if re.fullmatch(r"[0-9]{1,19}", word):
        return int(word)
    return Absence(what=f"{_LIMITS} {name}", reason="not readable", detail=f"{word[:80]!r}")


def _to_KiB(num_bytes: Whole) -> Whole:
    if isinstance(num_bytes, Absence) or num_bytes == UNLIMITED:
        return num_bytes
    return num_bytes // 1024
