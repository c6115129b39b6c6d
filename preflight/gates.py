"""Which check is blocked by which failure: pure functions of the path and the results so far."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from preflight.records import Check
from preflight.stages import BY_NAME, position_of


def upstream(stage: str, selected: Collection[str]) -> frozenset[str]:
    """Stages whose failure blocks ``stage``, directly or through other stages.

    A gate that leads through a stage that was not chosen is open.
    """
    direct = {name for name in selected if stage in BY_NAME[name].blocks}
    found = set(direct)
    for name in direct:
        found |= upstream(name, selected)
    return frozenset(found)


def name_of(check: Check) -> str:
    """``kernel.first on gpu5``, or ``import.torch`` where no device is at stake."""
    if check.device is not None:
        return f"{check.id} on {check.device}"
    if check.rank is not None:
        return f"{check.id} on rank {check.rank}"
    return check.id


def closing(check: Check, gating: Collection[str]) -> bool:
    """Whether the check closes the gates of its stage: a required one that failed or errored."""
    return check.status in ("fail", "error") and check.required and check.id in gating


def blocker(
    stage: str,
    device: str | None,
    needs: Sequence[str],
    results: Iterable[Check],
    *,
    selected: Collection[str],
    gating: Collection[str],
) -> str | None:
    """Name of the check that blocks a check of ``stage`` on ``device``; None when it may run.

    ``needs`` are ids of checks of the same stage without which this one makes no sense. A result
    of another device blocks only what spans devices (``device`` is None).
    """
    above = upstream(stage, selected)
    causes: list[Check] = []
    for check in results:
        if check.device is not None and device is not None and check.device != device:
            continue
        needed = check.id in needs and check.status in ("fail", "error")
        if needed or (check.stage in above and closing(check, gating)):
            causes.append(check)
        elif check.id in needs and check.blocked_by is not None:
            return check.blocked_by
    if not causes:
        return None
    return name_of(min(causes, key=lambda check: position_of(check.stage)))
