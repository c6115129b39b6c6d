"""What a reader looks for first in a record: the path, its problems, and the first of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from preflight.records import Check, Record, Status
from preflight.stages import position_of

_URGENCY = (("fail", True), ("error", True), ("fail", False), ("error", False), ("warn", True))


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One finding, on every device that shows it."""

    check: Check
    """The first check of the group, in path order."""
    places: tuple[str, ...]
    """Where it was found: ``gpu0``; empty for the host or node as a whole."""

    @property
    def where(self) -> str:
        """Devices in words: ``gpu0, gpu1``, ``8 devices``; empty for the whole."""
        if len(self.places) > 4:
            return f"{len(self.places)} devices ({', '.join(self.places[:2])}, …)"
        return ", ".join(self.places)


@dataclass(frozen=True, kw_only=True)
class StageRow:
    """One step of the path with its checks."""

    name: str
    status: Status
    duration_s: float | None
    checks: tuple[Check, ...]


def in_path_order(record: Record) -> tuple[Check, ...]:
    """Checks by stage along the path, and within a stage as they stand in the record."""
    return tuple(sorted(record.checks, key=lambda check: position_of(check.stage)))


def first_problem(record: Record) -> Check | None:
    """The check to look at first.

    A required failure, else a required error, else one that is not required, else a warning; of
    equals the earliest on the path. None where nothing is wrong.
    """
    found = problems(record)
    return found[0].check if found else None


def problems(record: Record) -> tuple[Problem, ...]:
    """Failures, errors and warnings, the most pressing first, one a check id, status and reason."""
    groups: dict[tuple[str, str, str, bool], list[Check]] = {}
    for check in in_path_order(record):
        if check.status in ("fail", "error", "warn"):
            key = (check.id, check.status, check.reason, check.required)
            groups.setdefault(key, []).append(check)
    ordered = sorted(groups.values(), key=lambda group: _urgency(group[0]))
    return tuple(
        Problem(
            check=group[0],
            places=tuple(dict.fromkeys(filter(None, (place(record, check) for check in group)))),
        )
        for group in ordered
    )


def _urgency(check: Check) -> int:
    key = (check.status, check.required)
    return _URGENCY.index(key) if key in _URGENCY else len(_URGENCY)


def place(record: Record, check: Check) -> str:
    """Device, rank and, where the run has several nodes, node: ``node-b gpu5``; else empty."""
    parts = []
    if len(record.nodes) > 1 and check.node:
        parts.append(check.node)
    if check.device:
        parts.append(check.device)
    if check.rank is not None:
        parts.append(f"rank {check.rank}")
    return " ".join(parts)


def worst_check(checks: Sequence[Check]) -> Check:
    """The check that speaks for a group: the worst, required ones first, then the most telling.

    A check that is blocked outweighs one that passed; one that does not apply does not.
    """
    return min(checks, key=lambda check: (_weight(check), not check.required, not check.reason))


def _weight(check: Check) -> int:
    if check.status == "skip":
        return 3 if check.blocked_by else 5
    return {"fail": 0, "error": 1, "warn": 2, "pass": 4}[check.status]


def stage_rows(record: Record) -> tuple[StageRow, ...]:
    """Every stage of the record, along the path; one without a summary takes its worst check's."""
    summaries = {stage.name: stage for stage in record.stages}
    names = dict.fromkeys([*summaries, *(check.stage for check in record.checks)])
    rows = []
    for name in sorted(names, key=position_of):
        checks = tuple(check for check in record.checks if check.stage == name)
        summary = summaries.get(name)
        if summary is None:
            status, seconds = worst_check(checks).status, _total(c.duration_s for c in checks)
        else:
            status, seconds = summary.status, summary.duration_s
        rows.append(StageRow(name=name, status=status, duration_s=seconds, checks=checks))
    return tuple(rows)


def _total(seconds: Iterable[float | None]) -> float | None:
    known = [value for value in seconds if value is not None]
    return sum(known) if known else None


def spokesman(row: StageRow) -> Check | None:
    """The check whose reason stands for its stage in one line."""
    same = [check for check in row.checks if check.status == row.status]
    return worst_check(same) if same else (worst_check(row.checks) if row.checks else None)


def reason_of(check: Check) -> str:
    """Why, in a sentence: the reason, or what blocked it, or for a failure its title."""
    if check.blocked_by and check.status == "skip":
        return f"blocked by {check.blocked_by}"
    if check.reason or check.status == "pass":
        return check.reason
    return check.title


def counts(record: Record) -> dict[Status, int]:
    """How many checks have each status that occurs, the worst first."""
    order: tuple[Status, ...] = ("fail", "error", "warn", "pass", "skip")
    found = {status: sum(c.status == status for c in record.checks) for status in order}
    return {status: count for status, count in found.items() if count}
