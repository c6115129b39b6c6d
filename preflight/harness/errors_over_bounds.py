"""How the answer of a numerical probe, an error and its bound by name, is told."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from preflight.harness.result import Result, at_most


def measure_errors(result: Result, entries: Mapping[str, Mapping[str, Any]]) -> None:
    """Measure each entry's ratio against 1, and attach the errors, the worst one last.

    An entry has ``ratio`` (of error to bound, None where it is not finite), ``error`` and ``bound``
    (relative), ``worst`` (the tensor) and ``source`` (of the bound).
    """
    for name, entry in entries.items():
        limit = at_most(1, entry["source"])
        result.measure(f"{name} error over bound", entry["ratio"], "1", limit=limit)
    for name, entry in sorted(entries.items(), key=lambda item: _badness(item[1]["ratio"])):
        error = entry["error"]
        told = "is not finite" if error is None else f"is off by {error:.3g} of its size"
        result.attach(f"{name}: {entry['worst']} {told}, at most {entry['bound']:.3g} is allowed")


def _badness(ratio: float | None) -> float:
    return math.inf if ratio is None else ratio
