"""A result against its float64 reference and a bound for every element of it."""

from __future__ import annotations

from typing import Any, Callable, Dict, List

import torch

from . import faults


def against_bound(
    found: torch.Tensor, reference: torch.Tensor, bound: torch.Tensor
) -> Dict[str, Any]:
    """How often and how far ``found`` leaves ``reference``; all three of one shape, on the CPU.

    ``ratio`` is the largest error over its own bound: at most 1 where the result is right,
    None where an element is NaN or infinite.
    """
    found = faults.touch(found)
    error = (found.double() - reference).abs()
    bad = ~(error <= bound)  # NaN compares false with everything, and so is bad
    finite = bool(torch.isfinite(found).all())
    # A bound of zero (a sum of zeros) admits no error: 0/0 is fine, anything else is infinite.
    ratio = torch.where(error == 0, torch.zeros_like(error), error / bound)
    place = int(torch.argmax(torch.where(torch.isnan(ratio), torch.inf, ratio)))
    return {
        "elements": found.numel(),
        "wrong": int(bad.sum()),
        "first_wrong": first_wrong(bad, found, reference),
        "finite": finite,
        "ratio": float(ratio.max()) if finite else None,
        "worst_error": float(error.flatten()[place]) if finite else None,
        "bound": float(bound.flatten()[place]),
    }


def exact(found: torch.Tensor, expected: torch.Tensor) -> Dict[str, Any]:
    """How many elements differ at all, and the first of them; both on the CPU."""
    found = faults.touch(found)
    bad = found != expected
    return {
        "elements": found.numel(),
        "wrong": int(bad.sum()),
        "first_wrong": first_wrong(bad, found, expected),
    }


def first_wrong(bad: torch.Tensor, found: torch.Tensor, expected: torch.Tensor) -> Any:
    """Flat index, expected and found value of the first bad element; None where there is none."""
    if not bool(bad.any()):
        return None
    place = int(bad.flatten().to(torch.uint8).argmax())
    return {
        "index": place,
        "expected": float(expected.flatten()[place]),
        "found": float(found.flatten()[place]),
    }


def reason_of(error: BaseException) -> str:
    """First line of what torch said, for an absence."""
    lines: List[str] = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:300]


def attempt(name: str, value: str, run: Callable[[], Dict[str, Any]]) -> Dict[str, Any]:
    """``run()``, or ``{name: value, "absent": reason}`` where torch says it has no such thing.

    Only refusals count: an error of the device (torch.AcceleratorError) or a lack of memory is
    raised on, since it is a fault and no absence.
    """
    try:
        return run()
    except NotImplementedError as error:
        return {name: value, "absent": reason_of(error)}
    except RuntimeError as error:
        if type(error) is not RuntimeError or "CUDA error" in str(error):
            raise
        return {name: value, "absent": reason_of(error)}
