"""Layouts that share one model among ranks, against one process that trains it alone.

Everything is float64 and plain gradient descent: nothing rounds more than float64 does, so a
gradient that is averaged wrongly, added twice or left out stands out by many orders of magnitude.
"""

from __future__ import annotations

import math
import time
from typing import Any, Callable, Dict, List, Optional

import torch
from torch import nn

from . import precision, ranks, reference, training

RATE = 0.05

SOURCE = (
    "one process on the CPU in float64; 4 times the largest deviation of 3 such runs whose every "
    "operation is perturbed by 2^-53 (Monte Carlo arithmetic, Parker 1997)"
)


def ddp(seed: int, steps: int, level: str) -> Dict[str, Any]:
    """DistributedDataParallel: loss and gradients at each step, parameters at the end."""
    return _train("ddp", training.data_parallel, seed, steps)


def fsdp2(seed: int, steps: int, level: str) -> Dict[str, Any]:
    """FSDP2: the same, and how much of the parameters this rank holds."""
    if training.fully_shard_function() is None:
        return {"absent": f"fully_shard came with torch 2.4, this is {torch.__version__}"}
    return _train("fsdp2", training.fully_sharded, seed, steps)


def _train(name: str, wrap: Callable[[Any], nn.Module], seed: int, steps: int) -> Dict[str, Any]:
    group = ranks.joined()
    reason = training.lacks_float64(group.device)
    if reason is not None:
        return {"absent": reason}
    rows = training.rows_for(group.world)
    ranks.say(f"{name} alone")
    expected = _expected(seed, steps, rows)
    start = time.perf_counter()
    module = wrap(training.network(seed, torch.float64).to(group.device))
    held, whole = training.local_numbers(module)
    entries = []
    for step in range(steps):
        with ranks.collective(f"{name} step", detail=str(step)):
            part = training.backward(module, seed, step, rows)
            found = _gradients(module, step)
        found[f"{step}.loss"] = training.global_loss(part)
        training.descend(module, RATE)
        entries.append(_entry(step, found, expected))
    with ranks.collective(f"{name} parameters"):
        final = {f"end.{key}": training.full(value) for key, value in _parameters(module).items()}
    judged = reference.judge(final, _part(expected, "end."))
    ratios = [entry["ratio"] for entry in entries] + [judged["ratio"]]
    return {
        "rank": group.rank,
        "world": group.world,
        "dtype": "float64",
        "rows": rows,
        "steps": entries,
        "parameters": {key: judged[key] for key in ("ratio", "worst", "error", "bound")},
        "ratio": _largest(ratios),
        "held_numbers": held,
        "all_numbers": whole,
        "seconds": time.perf_counter() - start,
        "source": SOURCE,
    }


def _parameters(module: nn.Module) -> Dict[str, torch.Tensor]:
    """By the names of the bare model: DDP puts ``module.`` before them."""
    return {
        name[len("module.") :] if name.startswith("module.") else name: parameter
        for name, parameter in module.named_parameters()
    }


def _gradients(module: nn.Module, step: int) -> Dict[str, torch.Tensor]:
    found = {}
    for name, parameter in _parameters(module).items():
        if parameter.grad is None:
            raise RuntimeError(f"step {step}: no gradient reached {name}")
        found[f"{step}.{name}"] = training.full(parameter.grad).clone()
    return found


def _expected(seed: int, steps: int, rows: int) -> Dict[str, reference.Expected]:
    """The run alone; its bounds grow with the steps, since errors of the parameters add up."""

    def run() -> Dict[str, torch.Tensor]:
        module = training.network(seed, torch.float64)
        found: Dict[str, torch.Tensor] = {}
        for step in range(steps):
            found[f"{step}.losses"] = training.backward_alone(module, seed, step, rows)
            found.update(
                (f"{step}.{name}", gradient.clone())
                for name, gradient in reference.gradients(module).items()
            )
            training.descend(module, RATE)
        found.update((f"end.{name}", value) for name, value in _parameters(module).items())
        return found

    return reference.expect(run, torch.float64, seed)


def _part(expected: Dict[str, reference.Expected], prefix: str) -> Dict[str, reference.Expected]:
    return {name: one for name, one in expected.items() if name.startswith(prefix)}


def _entry(
    step: int, found: Dict[str, torch.Tensor], expected: Dict[str, reference.Expected]
) -> Dict[str, Any]:
    part = _part(expected, f"{step}.")
    losses = part.pop(f"{step}.losses")
    loss, alone = float(found.pop(f"{step}.loss")), float(losses.value.mean())
    loss_bound = training.loss_bound(losses, precision.unit_roundoff(torch.float64))
    judged = reference.judge(found, part)
    ratios = [abs(loss - alone) / loss_bound if math.isfinite(loss) else None, judged["ratio"]]
    return {
        "step": step,
        "loss": loss,
        "reference_loss": alone,
        "loss_error": abs(loss - alone) / abs(alone),
        "loss_bound": loss_bound / abs(alone),
        "gradient_error": judged["error"],
        "gradient_bound": judged["bound"],
        "worst": judged["worst"].partition(".")[2],
        "ratio": _largest(ratios),
    }


def _largest(ratios: List[Optional[float]]) -> Optional[float]:
    """None, which stands for NaN or infinity, is larger than any number."""
    known = [ratio for ratio in ratios if ratio is not None]
    return max(known) if len(known) == len(ratios) else None
