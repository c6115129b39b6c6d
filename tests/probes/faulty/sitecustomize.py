"""On PYTHONPATH: a fault in the ranks named by FAULT_RANK, under unmodified probes."""

from __future__ import annotations

import os
from typing import Any

FAULT = os.environ.get("FAULT")

if FAULT and os.environ.get("RANK") in os.environ.get("FAULT_RANK", "1").split():
    import torch.distributed
    from torch.nn import functional

    dist: Any = torch.distributed
    losses: Any = functional
    all_reduce, cross_entropy = dist.all_reduce, losses.cross_entropy

    def _adds_one(tensor: Any, *args: Any, **kwargs: Any) -> Any:
        work = all_reduce(tensor, *args, **kwargs)
        tensor.view(-1)[-1:].add_(1)
        return work

    def _maximum(tensor: Any, *_: Any, **__: Any) -> Any:
        return all_reduce(tensor, dist.ReduceOp.MAX)

    def _slightly_larger(*args: Any, **kwargs: Any) -> Any:
        return cross_entropy(*args, **kwargs) * (1 + 1e-6)

    if FAULT == "adds one":
        dist.all_reduce = _adds_one
    elif FAULT == "maximum":
        dist.all_reduce = _maximum
    elif FAULT == "loss":
        losses.cross_entropy = _slightly_larger
    elif FAULT == "no barrier":
        dist.barrier = lambda *_, **__: None
    else:
        raise ValueError(FAULT)

LIMIT = os.environ.get("FILE_LIMIT")

if LIMIT:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (int(LIMIT), int(LIMIT)))
