"""The process group of this node, kept from check to check as long as it is well."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from preflight import clock
from preflight.harness.injecting import InjectedFault
from preflight.harness.outcomes import ProbeFailed
from preflight.harness.rank_group import RankGroup
from preflight.harness.situation import Situation

BACKENDS = {"cuda": "nccl", "hip": "nccl", "cpu": "gloo"}
"""torch.distributed's name of the library for each kind of device (RCCL goes by ``nccl``)."""
THREADS_VARIABLE = "OMP_NUM_THREADS"

Faults = Mapping[int, InjectedFault]


class RankService:
    """Starts the ranks with the first call and again after a failure."""

    def __init__(self, situation: Situation) -> None:
        self._situation = situation
        self._group: RankGroup | None = None
        self.joined: list[dict[str, Any]] = []
        """What each rank answered on joining."""

    @property
    def devices(self) -> tuple[str, ...]:
        """torch's name of every rank's device, by rank."""
        options = self._situation.options
        if self._situation.is_rehearsal:
            return ("cpu",) * options.ranks
        devices = self._situation.devices
        unseen = [d.name for d in devices if d.torch_device is None]
        if unseen:
            raise ProbeFailed(f"torch does not see {', '.join(unseen)}")
        return tuple(d.torch_device or "" for d in devices)

    @property
    def backend(self) -> str:
        """``nccl`` or ``gloo``."""
        return BACKENDS[self._situation.probed[0].kind]

    def start(self, devices: Sequence[str], *, deadline_s: float) -> RankGroup:
        """A new group of ``len(devices)`` ranks, joined; the caller closes it."""
        # torchrun does the same: ranks that each take all cores slow one another down.
        threads = {} if THREADS_VARIABLE in os.environ else {THREADS_VARIABLE: "1"}
        group = RankGroup(
            self._situation.options.python, devices, backend=self.backend, environment=threads
        )
        try:
            self.joined = group.join(deadline_s=deadline_s)
        except BaseException:
            group.close()
            raise
        return group

    def shared(self, *, deadline_s: float) -> RankGroup:
        """The group that checks share; a new one after a failure."""
        if self._group is None or not self._group.is_joined:
            self._group = self.start(self.devices, deadline_s=deadline_s)
        return self._group

    def close(self) -> None:
        """End the ranks."""
        if self._group is not None:
            self._group.leave()
            self._group = None


class RankCall:
    """The ranks as one check has them: bounded by what is left of its deadline."""

    def __init__(
        self,
        service: RankService,
        until_s: float,
        faults: Callable[[int], Faults] = lambda count: {},
    ) -> None:
        self._service = service
        self._until_s = until_s
        self._faults = faults

    @property
    def count(self) -> int:
        """Number of ranks of the shared group."""
        return len(self._service.devices)

    @property
    def backend(self) -> str:
        """``nccl`` or ``gloo``."""
        return self._service.backend

    @property
    def joined(self) -> list[dict[str, Any]]:
        """What each rank answered on joining: seconds, library version."""
        return self._service.joined

    def __call__(self, name: str, /, **params: Any) -> list[dict[str, Any]]:
        """Answer of every rank, by rank; raises ProbeFailed naming the rank at fault."""
        group = self._service.shared(deadline_s=self._left_s(name))
        due = self._faults(self.count)
        return group.call(name, deadline_s=self._left_s(name), injected=due, **params)

    def afresh(self, name: str, /, *, count: int, **params: Any) -> list[dict[str, Any]]:
        """The same in ``count`` new processes; the shared group ends before they start."""
        self._service.close()
        devices = self._service.devices[:count]
        group = self._service.start(devices, deadline_s=self._left_s(name))
        try:
            due = self._faults(count)
            return group.call(name, deadline_s=self._left_s(name), injected=due, **params)
        finally:
            group.leave()

    def _left_s(self, name: str) -> float:
        left_s = self._until_s - clock.seconds()
        if left_s <= 0:
            raise ProbeFailed(f"no time is left for {name} within the deadline of this check")
        return left_s
