"""Gradients of small networks on a device, per dtype, against float64; and an optimizer's steps."""

from __future__ import annotations

from typing import Any, Dict, List

import torch
from torch import nn

from . import clock, forward, model, precision, reference, reply


def gradients(device: str, level: str, seed: int) -> Dict[str, Any]:
    """Gradient of every parameter; one entry for each network and dtype, with the worst named."""
    entries = []
    for what, make in (
        ("transformer", forward.make_transformer),
        ("convolution", forward.make_convolution),
    ):
        for name in forward.NAMES:
            reply.progress(f"backward {what} {name}")
            entry = _entry(make, device, level, seed, precision.DTYPES[name])
            entries.append({"model": what, "dtype": name, **entry})
    return {"entries": entries}


def _entry(
    make: forward.Make, device: str, level: str, seed: int, dtype: torch.dtype
) -> Dict[str, Any]:
    module, (inputs, targets) = make(level, seed, dtype)
    wide = forward.float64_copy(module)
    wide_inputs = forward.widened(inputs)
    expected = reference.expect(lambda: _gradients(wide, wide_inputs, targets), dtype, seed)
    module, inputs, targets = module.to(device), inputs.to(device), targets.to(device)
    forward.poison_memory(device)
    found: Dict[str, torch.Tensor] = {}
    with precision.strict():
        seconds = clock.seconds_of(
            lambda: found.update(_gradients(module, inputs, targets)), device
        )
    return {"seconds": seconds, **reference.judge(found, expected)}


def _gradients(
    module: nn.Module, inputs: torch.Tensor, targets: torch.Tensor
) -> Dict[str, torch.Tensor]:
    """Summed, not averaged: float16 loses the small gradients of an averaged loss to underflow."""
    module.zero_grad(set_to_none=True)
    model.loss(module(inputs), targets, "sum").backward()  # type: ignore[no-untyped-call]
    return reference.gradients(module)


def optimizer(device: str, level: str, seed: int) -> Dict[str, Any]:
    """AdamW under bfloat16 autocast on one batch: the loss before each step and after the last."""
    steps = 5 if level == "quick" else 20
    module, (inputs, targets) = forward.make_transformer(level, seed, torch.float32)
    module, inputs, targets = module.to(device), inputs.to(device), targets.to(device)
    adamw = torch.optim.AdamW(module.parameters(), lr=3e-3)
    losses: List[float] = []
    seconds: List[float] = []
    with precision.strict():
        for step in range(steps):
            reply.progress(f"optimizer step {step + 1}")
            seconds.append(
                clock.seconds_of(
                    lambda: losses.append(_step(module, adamw, inputs, targets)), device
                )
            )
        with torch.no_grad():
            losses.append(float(_autocast_loss(module, inputs, targets)))
    finite = all(bool(torch.isfinite(parameter).all()) for parameter in module.parameters())
    return {
        "dtype": "bfloat16",
        "optimizer": "AdamW",
        "steps": steps,
        "losses": losses,
        "finite": finite,
        "step_s": clock.spread(seconds[1:]),
    }


def _autocast_loss(module: nn.Module, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    with torch.autocast(inputs.device.type, dtype=torch.bfloat16):
        return model.loss(module(inputs), targets)


def _step(
    module: nn.Module,
    adamw: torch.optim.Optimizer,
    inputs: torch.Tensor,
    targets: torch.Tensor,
) -> float:
    adamw.zero_grad(set_to_none=True)
    loss = _autocast_loss(module, inputs, targets)
    loss.backward()  # type: ignore[no-untyped-call]
    adamw.step()
    return float(loss.detach())
