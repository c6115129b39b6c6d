"""The verdict: one word and an exit code, a pure function of the run and its checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from preflight.records import Check, Run, Status, Verdict, Word

EXIT_CODES: dict[Word, int] = {
    "READY": 0,
    "READY_WITH_WARNINGS": 0,
    "REHEARSED": 0,
    "NOT_READY": 1,
    "INCONCLUSIVE": 3,
}
STRICT_EXIT_CODE = 1

_SEVERITY: tuple[Status, ...] = ("pass", "skip", "warn", "error", "fail")


def worst(statuses: Iterable[Status]) -> Status:
    """The worst of some statuses; ``skip`` only where nothing else is, and where there is none."""
    found = set(statuses)
    if found <= {"skip"}:
        return "skip"
    return max(found - {"skip"}, key=_SEVERITY.index)


def judge(run: Run, checks: Sequence[Check], unmeasured: Sequence[str] = ()) -> Verdict:
    """The verdict of a run over its checks; the first rule that applies decides.

    ``unmeasured`` are names of the plan's floors that no check measured: what was asked for and
    could not be judged.
    """
    failed = [c for c in checks if c.status == "fail" and c.required]
    if failed:
        return _verdict("NOT_READY", _grouped(failed))
    unknown = _unknowns(run, checks)
    unknown += tuple(f"nothing measured {name!r}, a floor of the plan" for name in unmeasured)
    if unknown:
        return _verdict("INCONCLUSIVE", unknown)
    soft = [c for c in checks if c.status == "warn" or c.status in ("fail", "error")]
    if run.mode != "certify":
        return _verdict("REHEARSED", _grouped(soft))
    if soft:
        code = STRICT_EXIT_CODE if run.strict else EXIT_CODES["READY_WITH_WARNINGS"]
        return Verdict(word="READY_WITH_WARNINGS", exit_code=code, reasons=_grouped(soft))
    return _verdict("READY", ())


def _verdict(word: Word, reasons: Sequence[str]) -> Verdict:
    return Verdict(word=word, exit_code=EXIT_CODES[word], reasons=tuple(reasons))


def _unknowns(run: Run, checks: Sequence[Check]) -> tuple[str, ...]:
    """Sentences for all that keeps a run without a failure from a good word."""
    reasons = [f"the run was ended early ({run.interrupted})"] if run.interrupted else []
    reasons += _grouped([c for c in checks if c.status == "error" and c.required])
    blocked = [c for c in checks if c.status == "skip" and c.blocked_by and c.required]
    reasons += _grouped(blocked)
    if not any(c.status in ("pass", "warn") for c in checks):
        reasons.append("nothing ran")
    if run.mode == "certify" and run.selected:
        reasons.append("only part of the path was asked for: " + ", ".join(run.selected))
    if run.mode == "certify" and run.injected:
        reasons.append("faults were injected: " + ", ".join(run.injected))
    return tuple(reasons)


_VERBS: dict[Status, str] = {
    "fail": "failed",
    "error": "could not be judged",
    "warn": "warns",
    "skip": "was skipped",
    "pass": "passed",
}


def _grouped(checks: Sequence[Check]) -> tuple[str, ...]:
    """One sentence for each id and reason, naming every device: ``kernel.first failed on gpu0``."""
    key: Callable[[Check], tuple[str, str, str]] = lambda c: (c.id, c.status, c.reason)  # noqa: E731
    groups: dict[tuple[str, str, str], list[str]] = {}
    for check in checks:
        places = groups.setdefault(key(check), [])
        if check.device is not None:
            places.append(check.device)
        elif check.rank is not None:
            places.append(f"rank {check.rank}")
    sentences = []
    for (name, status, reason), places in groups.items():
        where = " on " + ", ".join(places) if places else ""
        sentences.append(f"{name} {_VERBS[status]}{where}" + (f": {reason}" if reason else ""))  # type: ignore[index]
    return tuple(sentences)
