"""Errors a user can act on, each of which knows the exit code of the command."""

from __future__ import annotations


class PreflightError(Exception):
    """Root of every error that preflight raises on purpose.

    ``where`` names the flag, file and line, or JSON path; ``mend`` says what to do next.
    """

    exit_code = 4

    def __init__(self, what: str, *, where: str = "", mend: str = "") -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.mend = mend

    def __str__(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        return f"{text}\n  {self.mend}" if self.mend else text


class UsageError(PreflightError):
    """A flag, argument or folder that cannot be used as given; nothing ran."""

    exit_code = 2


class PlanError(UsageError):
    """A plan that is not TOML, has an unknown key, a wrong type or contradictory sizes."""


class RecordError(UsageError):
    """A file that is not a record this version reads."""


class CheckContractError(UsageError):
    """A check file that breaks the contract: no marker, a duplicate id, no docstring."""


class OutputError(PreflightError):
    """The output folder filled up or vanished while the run was going on."""
