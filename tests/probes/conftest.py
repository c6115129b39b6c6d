"""Two ranks, shared by every test that only asks them something."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .process_group import ProcessGroup


@pytest.fixture(scope="package")
def two_ranks() -> Iterator[ProcessGroup]:
    """Two healthy ranks of one Gloo group."""
    with ProcessGroup(2) as group:
        yield group
