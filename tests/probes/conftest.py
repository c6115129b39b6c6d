"""Ranks shared by every test that only asks them something: starting them takes seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .process_group import ProcessGroup


@pytest.fixture(scope="package")
def two_ranks() -> Iterator[ProcessGroup]:
    """Two healthy ranks of one Gloo group."""
    with ProcessGroup(2) as group:
        yield group


@pytest.fixture(scope="package")
def one_rank() -> Iterator[ProcessGroup]:
    """One healthy rank, a group of its own."""
    with ProcessGroup(1) as group:
        yield group
