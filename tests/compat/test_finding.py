"""What a rule finds."""

from __future__ import annotations

from preflight.compat.finding import Finding, Outcome, worst


def found(status: Outcome, reason: str = "") -> Finding:
    """A finding of that status."""
    return Finding(status=status, reason=reason)


def test_the_gravest_finding_speaks() -> None:
    """A failure stands before a warning, a warning before what is unknown, that before a pass."""
    assert worst([found("pass"), found("unknown"), found("warn"), found("fail")]) == found("fail")
    assert worst([found("pass"), found("unknown"), found("warn")]) == found("warn")
    assert worst([found("pass"), found("unknown")]) == found("unknown")
    assert worst([found("pass")]) == found("pass")


def test_of_equals_the_first_one_stays() -> None:
    """Rules are asked in the order in which they matter."""
    assert worst([found("warn", "code"), found("warn", "Triton")]) == found("warn", "code")


def test_no_finding_is_none() -> None:
    """Nothing asked is no pass."""
    assert worst([]) is None
