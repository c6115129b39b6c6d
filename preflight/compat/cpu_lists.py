"""Lists of CPUs as the kernel writes them."""

from __future__ import annotations

import re

_RANGE = re.compile(r"(\d{1,6})(?:-(\d{1,6}))?")


def parse_cpus(text: str) -> frozenset[int]:
    """CPUs in ``0-3,96,98-99``; empty for an empty text and for one that is no such list."""
    found: set[int] = set()
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            return frozenset()
        found.update(range(int(match[1]), int(match[2] or match[1]) + 1))
    return frozenset(found)
