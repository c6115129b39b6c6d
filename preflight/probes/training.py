"""One training run, written once for one process and for many.

The batch of a step is a function of the seed and the step alone, and its loss is the mean over
all its tokens, so that the numbers do not depend on how many ranks share it.
"""

from __future__ import annotations

import math
from typing import Any, Callable, Optional, Tuple

import torch
import torch.distributed as dist
from torch import nn

from . import model, precision, ranks, reference

LENGTH = 17


def rows_for(world: int) -> int:
    """Rows of the global batch: 16, or as many as give every rank one."""
    rows = 16
    while rows < world:
        rows *= 2
    return rows


def batch(seed: int, step: int, rows: int) -> Tuple[torch.Tensor, torch.Tensor]:
    """Tokens and targets of one step for all ranks, of shape BS, on the CPU."""
    tokens_BT = model.tokens(rows, LENGTH + 1, seed * 1_000_003 + step)
    return tokens_BT[:, :-1].contiguous(), tokens_BT[:, 1:].contiguous()


def share(rows: int, rank: int, world: int) -> slice:
    """The rows of one rank; every row belongs to exactly one."""
    return slice(rows * rank // world, rows * (rank + 1) // world)


def network(seed: int, dtype: torch.dtype) -> model.Transformer:
    """The model of these stages, on the CPU."""
    return model.Transformer(seed, LENGTH).to(dtype)


def lacks_float64(device: str) -> Optional[str]:
    """Why a device cannot train in float64; None where it can."""
    if torch.device(device).type == "mps":
        return "the MPS backend has no float64"
    return None


def backward(module: nn.Module, seed: int, step: int, rows: int) -> torch.Tensor:
    """Backward pass of this rank's share; its part of the global loss.

    The wrappers average gradients over ranks, so a rank's part is multiplied by their number.
    """
    group = ranks.joined()
    tokens, targets = batch(seed, step, rows)
    mine = share(rows, group.rank, group.world)
    logits = module(tokens[mine].to(group.device))
    total = model.loss(logits, targets[mine].to(group.device), "sum") / targets.numel()
    (total * group.world).backward()  # type: ignore[no-untyped-call]
    return total.detach()


def global_loss(part: torch.Tensor) -> torch.Tensor:
    """The sum of every rank's part."""
    value = part.clone()
    with ranks.collective("all_reduce", value, detail="sum of the losses"):
        dist.all_reduce(value)
    return value


def backward_alone(module: nn.Module, seed: int, step: int, rows: int) -> torch.Tensor:
    """The same by one process with the whole batch; the loss of every token."""
    tokens, targets = batch(seed, step, rows)
    losses = model.loss(module(tokens), targets, "none")
    losses.mean().backward()  # type: ignore[no-untyped-call]
    return losses.detach()


def loss_bound(losses: reference.Expected, u: float) -> float:
    """How far the mean of the tokens' losses may lie from the reference's.

    A mean of errors is at most their root mean square (Cauchy-Schwarz); adding up n losses in any
    order errs by gamma(n, u) times the mean of their sizes.
    """
    count = losses.value.numel()
    summing = precision.gamma(count, u) * float(losses.value.abs().mean())
    return losses.root_bound / math.sqrt(count) + summing


def descend(module: nn.Module, rate: float) -> None:
    """One step of gradient descent, and no gradients after it."""
    with torch.no_grad():
        for parameter in module.parameters():
            assert parameter.grad is not None
            parameter.add_(parameter.grad, alpha=-rate)
            parameter.grad = None


def full(tensor: torch.Tensor) -> torch.Tensor:
    """A whole tensor from its shards; every rank must ask."""
    gathered: Callable[[], torch.Tensor] = getattr(tensor, "full_tensor", lambda: tensor)
    return gathered().detach()


def data_parallel(module: nn.Module) -> nn.Module:
    """DistributedDataParallel on this rank's device."""
    from torch.nn.parallel import DistributedDataParallel

    index = torch.device(ranks.joined().device).index
    return DistributedDataParallel(module, device_ids=None if index is None else [index])


def fully_shard_function() -> Optional[Callable[..., Any]]:
    """FSDP2's entry, by the two names it has had; None before torch 2.4."""
    try:
        from torch.distributed.fsdp import fully_shard  # torch >= 2.6

        return fully_shard
    except ImportError:
        pass
    try:
        from torch.distributed._composable.fsdp import fully_shard as older  # type: ignore[attr-defined]

        return older
    except ImportError:
        return None


def fully_sharded(module: model.Transformer) -> nn.Module:
    """FSDP2 over all ranks, block by block, then the rest."""
    from torch.distributed.device_mesh import init_device_mesh

    group = ranks.joined()
    shard = fully_shard_function()
    assert shard is not None
    mesh = init_device_mesh(torch.device(group.device).type, (group.world,))
    for block in module.blocks:
        shard(block, mesh=mesh)
    shard(module, mesh=mesh)
    return module


def local_numbers(module: nn.Module) -> Tuple[int, int]:
    """How many numbers of the parameters this rank holds, and how many there are."""
    held = whole = 0
    for parameter in module.parameters():
        local: Any = getattr(parameter, "to_local", lambda p=parameter: p)()
        held += local.numel()
        whole += parameter.numel()
    return held, whole
