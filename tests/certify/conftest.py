"""The libraries of the fake devices, built where there is a compiler."""

from __future__ import annotations

import pytest
from fakegpu.build import Libraries, libraries_or_skip


@pytest.fixture(scope="session")
def libraries() -> Libraries:
    """Skips with the reason where they cannot be built."""
    return libraries_or_skip()
