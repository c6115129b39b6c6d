"""How xdist hands out the checks of devices: each worker runs all that it has collected."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

WorkerController = Any
"""xdist.workermanage.WorkerController, which ships no types."""


class DeviceScheduling:
    """A scheduler of pytest-xdist (xdist/scheduler/protocol.py), one worker per device.

    xdist's own for ``--dist=each`` gives a replacement what is left only where it has collected
    the same checks as the dead worker, and ends the whole session otherwise. Ours collects what
    has no result yet, which is what is left.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._waiting = len(config.getoption("tx"))
        """Workers that have yet to collect, replacements of dead ones among them."""
        self._pending: dict[WorkerController, list[int]] = {}
        self._collections: dict[WorkerController, list[str]] = {}
        self._started: set[WorkerController] = set()

    @property
    def nodes(self) -> list[WorkerController]:
        """Workers that are up."""
        return list(self._pending)

    @property
    def collection_is_completed(self) -> bool:
        """Whether some worker can start; none waits for the others."""
        return bool(self._collections)

    @property
    def tests_finished(self) -> bool:
        """Whether nothing is left to run, here or in a replacement to come."""
        return self._waiting <= 0 and not self.has_pending

    @property
    def has_pending(self) -> bool:
        """Whether checks are running or waiting."""
        return any(self._pending.values())

    def add_node(self, node: WorkerController) -> None:
        """A worker is up."""
        self._pending[node] = []

    def add_node_collection(self, node: WorkerController, collection: Sequence[str]) -> None:
        """A worker has collected."""
        self._collections[node] = list(collection)

    def mark_test_complete(
        self, node: WorkerController, item_index: int, duration: float = 0
    ) -> None:
        """A check has ended."""
        self._pending[node].remove(item_index)

    def mark_test_pending(self, item: str) -> None:
        """Called by plugins that run a check again; none is loaded."""
        raise NotImplementedError

    def remove_pending_tests_from_node(
        self, node: WorkerController, indices: Sequence[int]
    ) -> None:
        """Called by plugins that take checks back; none is loaded."""
        raise NotImplementedError

    def remove_node(self, node: WorkerController) -> str | None:
        """A worker has ended; the check that it was running, where it died in one."""
        pending = self._pending.pop(node)
        collection = self._collections.pop(node, [])
        if not pending:
            return None
        self._waiting += 1
        return collection[pending[0]]

    def schedule(self) -> None:
        """Start every worker that has collected, each with all of its checks."""
        for node, collection in self._collections.items():
            if node in self._started:
                continue
            self._started.add(node)
            self._waiting -= 1
            self._pending[node] = list(range(len(collection)))
            node.send_runtest_all()
            node.shutdown()  # a worker runs its last check only when it knows that it is the last
