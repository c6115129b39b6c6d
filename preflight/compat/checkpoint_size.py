"""How large the checkpoints of a plan are at least."""

from __future__ import annotations

_BYTES = {"float32": 4, "tf32": 4, "bfloat16": 2, "float16": 2, "float8": 2}
"""Of one parameter; with float8 the weights are kept in 16 bits."""
_MOMENTS = {"adam": 2, "adamw": 2, "lamb": 2, "adagrad": 1, "rmsprop": 1, "lion": 1}
"""Numbers that an optimizer keeps for each parameter; an unknown one is taken to keep none."""


def least_checkpoint_GB(
    parameters: int | None, *, dtype: str | None, optimizer: str | None
) -> float | None:
    """Decimal gigabytes of weights and optimizer state in the plan's dtype; None without a size.

    A lower bound: training in 16 bits mostly keeps weights and moments in float32 besides.
    """
    if parameters is None:
        return None
    moments = _MOMENTS.get(optimizer or "", 0)
    return parameters * _BYTES.get(dtype or "", 2) * (1 + moments) / 1e9
