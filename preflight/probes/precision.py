"""Units in the last place, and the switches of torch that trade accuracy for speed."""

from __future__ import annotations

import contextlib
from typing import Any, Dict, Iterator, List, Tuple

import torch

DTYPES: Dict[str, torch.dtype] = {
    "float64": torch.float64,
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}


def unit_roundoff(dtype: torch.dtype) -> float:
    """Largest relative error of rounding to nearest: 2^-24 float32, 2^-11 float16, 2^-8 bfloat16.

    ``finfo.eps`` is the gap between 1 and the next number; rounding errs by half of it.
    """
    return torch.finfo(dtype).eps / 2


def underflow(dtype: torch.dtype) -> float:
    """What a result near zero may lose, absolutely.

    float16 kernels keep subnormal numbers, so it is half the gap between those; float32 and
    bfloat16 kernels may flush them to zero.
    """
    limits = torch.finfo(dtype)
    return limits.tiny * limits.eps / 2 if dtype == torch.float16 else limits.tiny


def gamma(n: int, u: float) -> float:
    """Higham's constant for a chain of ``n`` roundings, n u / (1 - n u).

    N. J. Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., lemma 3.1. Infinite
    where n u reaches 1: nothing is promised there.
    """
    return n * u / (1 - n * u) if n * u < 1 else float("inf")


def _switches(allow_tf32: bool) -> List[Tuple[Any, str, bool]]:
    matmul = torch.backends.cuda.matmul
    return [
        (matmul, "allow_tf32", allow_tf32),
        (torch.backends.cudnn, "allow_tf32", allow_tf32),
        (matmul, "allow_fp16_reduced_precision_reduction", False),
        (matmul, "allow_bf16_reduced_precision_reduction", False),
    ]


@contextlib.contextmanager
def strict(allow_tf32: bool = False) -> Iterator[None]:
    """Accumulate in float32 and, unless asked for, keep TF32 off; restore the switches after.

    The ROCm build reads the same switches.
    """
    switches = _switches(allow_tf32)
    before = [getattr(owner, name) for owner, name, _ in switches]
    try:
        for owner, name, value in switches:
            setattr(owner, name, value)
        yield
    finally:
        for (owner, name, _), value in zip(switches, before):
            setattr(owner, name, value)
