"""Wrong arithmetic, put under healthy probes to see that they notice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Fault(TorchDispatchMode):
    """Damage results of one operation (``mm``, or one overload, ``add.out``).

    Results in float64 are left alone: that is the reference's dtype.
    """

    def __init__(self, operation: str, damage: Callable[[torch.Tensor], object]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._operation = operation
        self._damage = damage
        self.hits = 0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        if self._operation in (func._schema.name[len("aten::") :], str(func)[len("aten.") :]):
            first = out[0] if isinstance(out, tuple) else out
            if first.dtype != torch.float64:
                self._damage(first)
                self.hits += 1
        return out


def one_element(tensor: torch.Tensor) -> None:
    """Make the middle element one and a half times what it is, and one more."""
    middle = tensor.flatten()[tensor.numel() // 2 :][:1] if tensor.is_contiguous() else tensor[:1]
    middle.mul_(1.5).add_(1)


def lost_row(tensor: torch.Tensor) -> None:
    """Leave out the last row, as a kernel does whose grid is one block short."""
    tensor[-1:] = 0


def not_a_number(tensor: torch.Tensor) -> None:
    """Make the first row NaN."""
    tensor[:1] = float("nan")
