"""How large a checkpoint is at least."""

from __future__ import annotations

import pytest

from preflight.compat.checkpoint_size import least_checkpoint_GB


@pytest.mark.parametrize(
    ("parameters", "dtype", "optimizer", "size_GB"),
    [
        (None, "bfloat16", "adamw", None),
        (8_000_000_000, "bfloat16", "adamw", 48.0),
        (8_000_000_000, "float32", "adamw", 96.0),
        (8_000_000_000, "bfloat16", "muon", 16.0),
        (8_000_000_000, None, None, 16.0),
        (1_000_000_000, "float8", "lion", 4.0),
    ],
)
def test_sizes(
    parameters: int | None, dtype: str | None, optimizer: str | None, size_GB: float | None
) -> None:
    """Weights and moments in the plan's dtype; an unknown optimizer is taken to keep none."""
    assert least_checkpoint_GB(parameters, dtype=dtype, optimizer=optimizer) == size_GB
