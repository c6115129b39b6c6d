"""The pytest plugin, ordering and gates, launching and bounding children.

What a check file imports stands here; the rest of the package is the engine's own.
"""

from preflight.harness.errors_over_bounds import measure_errors
from preflight.harness.outcomes import CannotLook, ProbeFailed
from preflight.harness.result import Result, at_least, at_most, exactly
from preflight.harness.situation import REHEARSAL, Situation
from preflight.harness.survey import NOT_OFFERED, OUT_OF_SIGHT, Survey

__all__ = [
    "NOT_OFFERED",
    "OUT_OF_SIGHT",
    "REHEARSAL",
    "CannotLook",
    "ProbeFailed",
    "Result",
    "Situation",
    "Survey",
    "at_least",
    "at_most",
    "exactly",
    "measure_errors",
]
