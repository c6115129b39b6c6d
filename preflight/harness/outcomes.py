"""What a check can learn from a child: it failed, or it could not be looked at."""

from __future__ import annotations

KILLED_ACTION = (
    "look in the kernel's log (dmesg) for the out-of-memory killer or an XID, and run this stage "
    "again alone (--only)"
)
LATE_ACTION = (
    "a driver, a link or the disk hangs: look in the kernel's log (dmesg) for an XID, and run this "
    "stage again alone (--only); if it hangs again, show the seller this report"
)
SILENT_ACTION = "the evidence holds its last words; run this stage again alone (--only)"


class ProbeFailed(Exception):  # noqa: N818 - an outcome, not an error of ours
    """The probed code raised, crashed, hung or gave a wrong value. The status is ``fail``.

    ``cause`` is one sentence; ``evidence`` the raw text behind it; ``rank`` the rank at fault.
    """

    def __init__(
        self, cause: str, *, evidence: str = "", rank: int | None = None, action: str = ""
    ) -> None:
        super().__init__(cause)
        self.cause = cause
        self.evidence = evidence
        self.rank = rank
        self.action = action


class CannotLook(Exception):  # noqa: N818 - as above
    """Something other than the probed code stopped us from looking. The status is ``error``."""

    def __init__(self, cause: str, *, evidence: str = "", action: str = "") -> None:
        super().__init__(cause)
        self.cause = cause
        self.evidence = evidence
        self.action = action
