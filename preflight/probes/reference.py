"""A float64 reference of a whole network, and how far a narrower dtype may leave it.

The bound is found by Monte Carlo arithmetic (D. S. Parker, 1997; CESTAC, J. Vignes, 1993): the
float64 network runs a few times more, and each operation's result is multiplied by 1 + u xi, xi
uniform in [-1, 1] and u the unit roundoff of the dtype. Rounding to nearest errs by a factor
1 + d with |d| <= u at the same places, so to first order the error of the narrow run and the
deviation of a perturbed run are the same sum, sensitivities times small independent factors, with
root mean square u/sqrt(3) or less each. Sums inside an operation (matrix products, convolutions,
reductions over n terms) are rounded in the accumulator at each of n steps, which a perturbation
sqrt(n) u_acc of the operands stands for: the partial sums of terms of random sign grow like
sqrt(k), and the squares of n roundings of them add up to (n/2) u_acc^2 n sigma^2.

The bound is FACTOR = 4 times the largest deviation seen, by the root of the sum of squares and by
the largest element; 2 u of the value itself are added, since the reference and the result are
both stored rounded. Twofold, since a unit that cuts off instead of rounding errs by up to 2 u;
and twofold again for what a dispatcher cannot see, the roundings within one fused kernel.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass
from typing import Any, Callable, Dict, Iterator, List, Optional, Set, Tuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import faults
from .precision import underflow, unit_roundoff

FACTOR = 4.0
RUNS = 3

WINOGRAD = 10.0
"""F(4x4, 3x3) errs about ten times as much as the direct sum (Lavin, Gray, CVPR 2016, table 6)."""

SOURCE = (
    "4 times the largest deviation of 3 float64 runs whose every operation is perturbed by the "
    "dtype's unit roundoff (Monte Carlo arithmetic, Parker 1997)"
)

MOVES = frozenset(
    {
        *("clone", "copy_", "_to_copy", "cat", "stack", "embedding", "index", "gather"),
        *("select_backward", "slice_backward", "unsqueeze_backward", "constant_pad_nd"),
        *("zeros_like", "ones_like", "full_like", "new_zeros", "fill_", "zero_", "neg"),
        *("masked_fill", "masked_fill_", "where", "triu", "tril"),
    }
)
"""Operations that move numbers and round none."""

Run = Callable[[], Dict[str, torch.Tensor]]
"""Computes named tensors in float64 on the CPU."""


class Rounding(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Perturb the result of every operation as rounding to a narrower dtype would."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Answering True makes torch import its compiler here, which takes seconds."""
        return False

    def __init__(self, u: float, accumulator_u: float, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._u = u
        self._accumulator_u = accumulator_u
        self._generator = torch.Generator().manual_seed(seed)
        self.operations = 0
        """How many results were perturbed."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        name = func._schema.name.rpartition("::")[2]
        length = summed_length(name, args)
        if length > 1:
            share = self._accumulator_u * math.sqrt(length)
            if name.startswith("convolution"):
                share *= WINOGRAD
            args = tuple(self._perturbed(value, share) for value in args)
        out = func(*args, **(kwargs or {}))
        if name not in MOVES:
            known = _storages(args)
            for result in out if isinstance(out, (tuple, list)) else (out,):
                if _is_real(result) and (func._schema.is_mutable or _storage(result) not in known):
                    result.mul_(self._factors(result, self._u))
                    self.operations += 1
        return out

    def _factors(self, tensor: torch.Tensor, share: float) -> torch.Tensor:
        xi = torch.rand(tensor.shape, generator=self._generator, dtype=tensor.dtype)
        return xi.mul_(2 * share).add_(1.0 - share)

    def _perturbed(self, value: Any, share: float) -> Any:
        return value * self._factors(value, share) if _is_real(value) else value


def _is_real(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point()


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _storages(args: Tuple[Any, ...]) -> Set[int]:
    return {_storage(value) for value in args if isinstance(value, torch.Tensor)}


def summed_length(name: str, args: Tuple[Any, ...]) -> int:
    """How many terms one element of the result adds up; 1 for an operation that adds none."""
    if name in ("mm", "bmm", "dot", "mv"):
        return int(args[0].shape[-1])
    if name in ("addmm", "baddbmm"):
        return int(args[1].shape[-1])
    if name == "convolution":
        return int(args[1][0].numel())
    if name == "convolution_backward":  # of input, of weight: the longer of the two
        grad, weight = args[0], args[2]
        return max(int(weight[:, 0].numel()), int(grad[:, 0].numel()))
    if name in ("sum", "mean"):
        return _reduced_length(args)
    return 1


def _reduced_length(args: Tuple[Any, ...]) -> int:
    dims = args[1] if len(args) > 1 else None
    if not dims:
        return int(args[0].numel())
    return math.prod(int(args[0].shape[d]) for d in dims)


@dataclass(frozen=True)
class Expected:
    """What one tensor should be, and the two norms by which it may differ."""

    value: torch.Tensor
    root_bound: float
    """Of the root of the sum of squares."""
    largest_bound: float
    """Of the largest element."""


@contextlib.contextmanager
def single_thread() -> Iterator[None]:
    """Compute on one core: these tensors are too small for two, and the cores have other users.

    A second thread that is not scheduled keeps the first one spinning at every barrier.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def expect(run: Run, dtype: torch.dtype, seed: int) -> Dict[str, Expected]:
    """The float64 results of ``run`` and the bounds for a run in ``dtype``.

    Sums are taken to be accumulated in float32 (in float64 for float64).
    """
    with single_thread():
        exact, root, largest = _deviations(run, dtype, seed)
    u = unit_roundoff(dtype)
    floor = underflow(dtype)  # a gradient that is zero may come out as what flushing loses
    return {
        name: Expected(
            value=value,
            root_bound=FACTOR * root[name]
            + 2 * u * float(value.norm())
            + floor * math.sqrt(value.numel()),
            largest_bound=FACTOR * largest[name] + 2 * u * float(value.abs().max()) + floor,
        )
        for name, value in exact.items()
    }


def _deviations(
    run: Run, dtype: torch.dtype, seed: int
) -> Tuple[Dict[str, torch.Tensor], Dict[str, float], Dict[str, float]]:
    u = unit_roundoff(dtype)
    accumulator_u = min(u, unit_roundoff(torch.float32))
    exact = {name: tensor.detach().clone() for name, tensor in run().items()}
    root = dict.fromkeys(exact, 0.0)
    largest = dict.fromkeys(exact, 0.0)
    for turn in range(RUNS):
        with Rounding(u, accumulator_u, seed + turn):
            perturbed = run()
        for name, tensor in perturbed.items():
            deviation = tensor.detach() - exact[name]
            root[name] = max(root[name], float(deviation.norm()))
            largest[name] = max(largest[name], float(deviation.abs().max()))
    return exact, root, largest


def judge(found: Dict[str, torch.Tensor], expected: Dict[str, Expected]) -> Dict[str, Any]:
    """Error of each tensor over its bound, and the worst of them.

    ``ratio`` is at most 1 where all is right and None where something is NaN or infinite.
    """
    tensors = [_judge_one(name, faults.touch(found[name]), one) for name, one in expected.items()]
    worst = max(tensors, key=lambda entry: _size(entry["ratio"]))
    return {
        "ratio": worst["ratio"],
        "worst": worst["name"],
        "error": worst["error"],
        "bound": worst["bound"],
        "finite": all(entry["ratio"] is not None for entry in tensors),
        "tensors": tensors,
        "source": SOURCE,
    }


def _size(ratio: Optional[float]) -> float:
    return math.inf if ratio is None else ratio


def _judge_one(name: str, found: torch.Tensor, expected: Expected) -> Dict[str, Any]:
    """``error`` and ``bound`` are relative to the reference's root of the sum of squares."""
    value = expected.value
    error = found.detach().cpu().double() - value
    scale = float(value.norm()) or 1.0
    root, largest = float(error.norm()), float(error.abs().max())
    ratio: Optional[float] = max(root / expected.root_bound, largest / expected.largest_bound)
    if not math.isfinite(root):
        ratio = None
    return {
        "name": name,
        "ratio": ratio,
        "error": root / scale,
        "bound": expected.root_bound / scale,
    }


def gradients(module: torch.nn.Module) -> Dict[str, torch.Tensor]:
    """Gradient of every parameter by name; raises where one has none."""
    found: Dict[str, torch.Tensor] = {}
    missing: List[str] = []
    for name, parameter in module.named_parameters():
        if parameter.grad is None:
            missing.append(name)
        else:
            found[name] = parameter.grad
    if missing:
        raise RuntimeError(f"no gradient reached {', '.join(missing)}")
    return found
