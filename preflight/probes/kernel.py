"""The first kernel of a device, and its arithmetic: matrix products and reductions per dtype.

Inputs are fresh random numbers made on the CPU from the seed; every output is poisoned before it
is computed, so that a kernel that writes nothing cannot pass.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Dict, List, Tuple

import torch

from . import clock, comparison, formats, precision, reply
from .formats import SINGLE
from .precision import gamma, underflow, unit_roundoff

LARGE_ENOUGH_S = 1e-3
"""A product that takes this long is timed: launching it (some 10 us) no longer matters."""


def first(device: str, seed: int) -> Dict[str, Any]:
    """Create the context, launch one kernel, and compare every element with the CPU's.

    Adding two float32 numbers is correctly rounded by IEEE 754, so the results are equal to the
    bit. The length is odd, so that the last, partial block counts.
    """
    reply.progress("create the context")
    context_s = clock.seconds_of(lambda: torch.empty(1, device=device), device)
    a, b = torch.randn(2, 65_537, generator=torch.Generator().manual_seed(seed)).unbind()
    reply.progress("copy to the device")
    a_there, b_there = a.to(device), b.to(device)
    out = torch.full_like(a_there, math.nan)
    reply.progress("first kernel")
    launch_s = clock.seconds_of(lambda: torch.add(a_there, b_there, out=out), device)
    reply.progress("copy from the device")
    return {
        "seconds": context_s + launch_s,
        "context_s": context_s,
        "launch_s": launch_s,
        **comparison.exact(out.cpu(), a + b),
        "source": "IEEE 754: the sum of two float32 numbers is correctly rounded, so it is exact",
    }


def matmul(device: str, level: str, seed: int) -> Dict[str, Any]:
    """Matrix products per dtype against float64, and their speed on a large square.

    ``entries`` holds one dictionary a dtype, either with ``absent`` or with ``ratio`` (largest
    error over its bound), ``wrong``, ``shapes`` and, for a dtype that multiplied right, ``tflops``.
    """
    entries = []
    for form in formats.of_device(device):
        reply.progress(f"matmul {form.name}")
        if form.absent:
            entries.append({"dtype": form.name, "absent": form.absent})
        elif form.certain:  # the device says that it has it: a refusal is a fault
            entries.append(_matmul_entry(form, device, level, seed))
        else:
            entries.append(
                comparison.attempt("dtype", form.name, _entry_later(form, device, level, seed))
            )
    return {"entries": entries}


def _entry_later(
    form: formats.Format, device: str, level: str, seed: int
) -> Callable[[], Dict[str, Any]]:
    return lambda: _matmul_entry(form, device, level, seed)


def _matmul_entry(form: formats.Format, device: str, level: str, seed: int) -> Dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    # 16-byte rows are the least that float8 and int8 kernels ask for; odd sizes where allowed.
    awkward = (129, 257, 131) if form.any_shape else (144, 272, 80)
    square = (256, 256, 256) if level == "quick" else (1024, 1024, 1024)
    with precision.strict(allow_tf32=form.name == "tf32"):
        shapes = [_check_product(form, device, shape, generator) for shape in (awkward, square)]
        reply.progress(f"matmul {form.name} speed")
        speed, large = _speed(form, device, level, generator)
        shapes.append(large)
    ratios = [shape["ratio"] for shape in shapes]
    return {
        "dtype": form.name,
        "ratio": None if None in ratios else max(ratios),
        "wrong": sum(shape["wrong"] for shape in shapes),
        "shapes": shapes,
        "source": form.source,
        **speed,
    }


def _check_product(
    form: formats.Format, device: str, shape: Tuple[int, int, int], generator: torch.Generator
) -> Dict[str, Any]:
    """One product of shape (M, K) x (K, N), every element against float64 of the same inputs."""
    M, K, N = shape
    a_MK, b_KN = form.make(M, K, generator), form.make(K, N, generator)
    out_MN = form.poisoned(M, N, device)
    form.multiply(a_MK.to(device), b_KN.to(device), out_MN)
    clock.synchronize(device)
    return {"shape": [M, K, N], "rows": M, **_judge(form, a_MK, b_KN, out_MN.cpu())}


def _judge(
    form: formats.Format, a_MK: torch.Tensor, b_KN: torch.Tensor, found_MN: torch.Tensor
) -> Dict[str, Any]:
    """Errors of a product on the CPU, with a bound for every element.

    |fl(AB) - AB| <= gamma(K, u) |A||B| for any order of summation (Higham, section 3.5), where u
    is the accumulator's; then one rounding to the output dtype adds u_out |fl(AB)|.
    """
    a64_MK, b64_KN = a_MK.double(), b_KN.double()
    exact_MN = a64_MK @ b64_KN
    bound_MN = gamma(a_MK.shape[1], form.accumulator) * (a64_MK.abs() @ b64_KN.abs())
    bound_MN += form.output_roundoff * (exact_MN.abs() + bound_MN) + form.tiny
    return comparison.against_bound(found_MN, exact_MN, bound_MN)


def _speed(
    form: formats.Format, device: str, level: str, generator: torch.Generator
) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """TFLOP/s (TOP/s for int8) on a square that takes a millisecond, and 16 of its rows judged.

    The size grows from 256 until it does. The data are random, since zeros draw less power and
    run at higher clocks; the second matrix is the first upside down, to save making it.
    """
    largest = 4096 if level == "quick" else 8192
    size = 256
    while True:
        a = form.make(size, size, generator)
        b = a.flip(0)
        a_there, b_there = a.to(device), b.to(device)
        out = form.poisoned(size, size, device)

        def run() -> None:
            form.multiply(a_there, b_there, out)  # noqa: B023 - called in the same turn

        run()
        once = clock.seconds_of(run, device)
        if once >= LARGE_ENOUGH_S or size >= largest:
            break
        size = min(largest, size * (2 if once > LARGE_ENOUGH_S / 10 else 4))
    budget_s = 0.1 if level == "quick" else 1.0
    time = clock.timed(run, device, n=min(50, max(3, int(budget_s / once))), warmup=0)
    rows = slice(None, None, size // 16)
    judged = _judge(form, a[rows], b, out[rows].cpu())
    rate = {
        name: 2.0 * size**3 / time[other] / 1e12
        for name, other in (("median", "median_s"), ("p10", "p90_s"), ("p90", "p10_s"))
    }
    speed = {"square": size, "tflops": {**rate, "n": time["n"]}, "time": time}
    return speed, {"shape": [size, size, size], "rows": 16, **judged}


def reduction(device: str, level: str, seed: int) -> Dict[str, Any]:
    """Sum, mean and softmax over a long axis per dtype, every element against float64.

    Sum and mean are given whole numbers from -8 to 8: every partial sum stays below 2^24, so
    float32 accumulates exactly in any order, and one lost element shows.
    """
    rows, length = (33, 4_099) if level == "quick" else (65, 65_537)
    generator = torch.Generator().manual_seed(seed)
    whole = torch.randint(-8, 9, (rows, length), generator=generator)
    normal = torch.randn(rows, length, generator=generator)
    entries: List[Dict[str, Any]] = []
    for name in ("float32", "bfloat16", "float16"):
        dtype = precision.DTYPES[name]
        for operation, run, x in (
            ("sum", _sum, whole),
            ("mean", _mean, whole),
            ("softmax", _softmax, normal),
        ):
            reply.progress(f"{operation} {name}")
            judged = run(x.to(dtype), device)
            entries.append({"dtype": name, "operation": operation, **judged})
    return {"entries": entries, "shape": [rows, length]}


def _reduced(x: torch.Tensor, device: str, operation: Any, shape: Tuple[int, ...]) -> torch.Tensor:
    out = torch.full(shape, math.nan, dtype=x.dtype, device=device)
    operation(x.to(device), -1, out=out)
    clock.synchronize(device)
    return out.cpu()


def _output_roundoff(dtype: torch.dtype) -> float:
    """What leaving the float32 accumulator costs."""
    return 0.0 if dtype == torch.float32 else unit_roundoff(dtype)


def _sum(x: torch.Tensor, device: str) -> Dict[str, Any]:
    """The sum of whole numbers is exact; only the output dtype rounds."""
    found = _reduced(x, device, torch.sum, x.shape[:-1])
    exact = x.double().sum(-1)
    bound = _output_roundoff(x.dtype) * exact.abs()
    source = "whole numbers add up exactly in float32 in any order; one rounding to the dtype"
    return {**comparison.against_bound(found, exact, bound), "source": source}


def _mean(x: torch.Tensor, device: str) -> Dict[str, Any]:
    """An exact sum, then a division, or a product with 1/n rounded: 2 u."""
    found = _reduced(x, device, torch.mean, x.shape[:-1])
    exact = x.double().mean(-1)
    bound = gamma(2, SINGLE) * exact.abs()
    bound += _output_roundoff(x.dtype) * (exact.abs() + bound) + underflow(x.dtype)
    source = "an exact sum of whole numbers, gamma(2, 2^-24) to divide, one rounding to the dtype"
    return {**comparison.against_bound(found, exact, bound), "source": source}


def _softmax(x: torch.Tensor, device: str) -> Dict[str, Any]:
    """exp(x - max) / sum: relative errors add up, and the sum's is at most its worst term's.

    Subtracting the maximum errs by u |x - max|, which exp turns into a relative error; exp itself
    is good to 2 ulp = 4 u in CUDA's and Sleef's documented worst case, doubled here since ROCm
    and fast paths give no number; the sum adds gamma(n - 1), the division (or a reciprocal and a
    product) 2 u; rounding to the dtype comes last.
    """
    found = _reduced(x, device, torch.softmax, x.shape)
    x64 = x.double()
    exact = x64.softmax(-1)
    term = SINGLE * (x64.amax(-1, keepdim=True) - x64) + 8 * SINGLE
    relative = term + term.amax(-1, keepdim=True) + gamma(x.shape[-1] - 1, SINGLE) + 2 * SINGLE
    bound = exact * relative * (1 + relative)
    bound += _output_roundoff(x.dtype) * (exact + bound) + underflow(x.dtype)
    source = "softmax in float32: errors of exp (8 u), any order of the sum, division; one rounding"
    return {**comparison.against_bound(found, exact, bound), "source": source}
