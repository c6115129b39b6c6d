"""Hands the injected faults to the probes that they are to strike, each of them once a place."""

from __future__ import annotations

from collections.abc import Sequence

from preflight.injection import Injection


class InjectedFault:
    """One fault at one place; it is put back when a probe had no use for it."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._is_due = True

    def take(self) -> str | None:
        """Name of the fault; None once it has struck."""
        name = self._name if self._is_due else None
        self._is_due = False
        return name

    def put_back(self) -> None:
        """The probe has returned and the fault found no place to strike."""
        self._is_due = True


class Injector:
    """The faults of a run, as one process of it has them."""

    def __init__(self, injections: Sequence[Injection]) -> None:
        self._injections = injections
        self._at_device: dict[tuple[str, str | None], InjectedFault] = {}
        self._at_rank: dict[tuple[str, int], InjectedFault] = {}

    def at_device(self, stage: str, device: str | None) -> InjectedFault | None:
        """The fault for a probe of ``stage`` on ``device``."""
        for injection in self._injections:
            if injection.strikes_device(stage, device):
                return self._at_device.setdefault((stage, device), InjectedFault(injection.fault))
        return None

    def at_ranks(self, stage: str, count: int) -> dict[int, InjectedFault]:
        """The faults for a call of ``stage`` on ``count`` ranks, by rank."""
        found = {}
        for injection in self._injections:
            if injection.stage == stage:
                rank = injection.rank_of(count)
                made = InjectedFault(injection.fault)
                found[rank] = self._at_rank.setdefault((stage, rank), made)
        return found
