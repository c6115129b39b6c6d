"""From what happened in a check to its place in the record."""

from __future__ import annotations

import traceback
from collections.abc import Sequence

import pytest

from preflight.compat.advice import action_for
from preflight.harness.contract import CheckSpec
from preflight.harness.outcomes import CannotLook, ProbeFailed
from preflight.harness.result import GENERIC_ACTION, Result
from preflight.records import Check
from preflight.redaction import redact_text

CHECK_FAULT_ACTION = "mend the check: it must return, fail an assertion, or skip with a reason"


def conclude(
    spec: CheckSpec,
    result: Result,
    troubles: Sequence[BaseException],
    *,
    node: str,
    device: str | None,
    required: bool,
    blocked_by: str | None,
    started: str,
    duration_s: float,
) -> Check:
    """The check's record. ``troubles`` are the exceptions of set-up, call and tear-down."""
    for trouble in troubles:
        _apply(trouble, result, spec)
    if blocked_by is not None:
        result.status, result.reason = "skip", f"blocked by {blocked_by}"
    return Check(
        id=spec.id,
        stage=spec.stage,
        title=spec.title,
        node=node,
        device=device,
        rank=result.rank,
        status=result.status,
        reason=redact_text(result.reason),
        action=redact_text(result.action),
        blocked_by=blocked_by,
        required=required,
        started=started,
        duration_s=round(duration_s, 4),
        measurements=tuple(result.measurements),
        series=tuple(result.series),
        matrices=tuple(result.matrices),
        evidence=redact_text(result.evidence),
    )


def _apply(trouble: BaseException, result: Result, spec: CheckSpec) -> None:
    if isinstance(trouble, pytest.skip.Exception):
        if result.status != "fail":  # a failure that was seen cannot be skipped away
            result.status, result.reason, result.action = "skip", str(trouble.msg or ""), ""
    elif isinstance(trouble, ProbeFailed):
        action = trouble.action or action_for(f"{trouble.cause}\n{trouble.evidence}") or ""
        result.fail(trouble.cause, action, rank=trouble.rank)
        result.attach(trouble.evidence)
    elif isinstance(trouble, CannotLook):
        _error(result, trouble.cause, trouble.action or GENERIC_ACTION)
        result.attach(trouble.evidence)
    elif isinstance(trouble, (AssertionError, pytest.fail.Exception)):
        lines = str(trouble).strip().splitlines()
        result.fail(lines[0] if lines else f"an assertion of {spec.where} does not hold")
        result.attach(_trace(trouble))
    else:
        kind = type(trouble).__name__
        _error(result, f"the check itself raised {kind}: {trouble}", CHECK_FAULT_ACTION)
        result.attach(_trace(trouble))


def _error(result: Result, reason: str, action: str) -> None:
    """What stopped us from looking wins over what was seen before, but for a failure."""
    if result.status != "fail":
        result.status, result.reason, result.action = "error", reason, action


def _trace(trouble: BaseException) -> str:
    return "".join(traceback.format_exception(trouble))
