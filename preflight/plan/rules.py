"""Rules between the keys of a plan: sizes that contradict each other."""

from __future__ import annotations

import math
from collections.abc import Iterator

from preflight.plan.reading import Mistake
from preflight.plan.tables import Plan, Strategy

_MULTIPLYING = ("data", "shard", "tensor", "pipeline", "context")
"""Sizes whose product is the number of ranks; experts are spread over ranks counted already."""
_KINDS_WITH = {
    "data": {"ddp", "hsdp", "accelerate", "deepspeed"},
    "shard": {"fsdp2", "hsdp", "accelerate", "deepspeed"},
    "tensor": {"tp", "accelerate", "deepspeed"},
    "pipeline": {"pp", "accelerate", "deepspeed"},
    "context": {"cp", "accelerate", "deepspeed"},
}
"""Kinds of strategy in which a size may be more than 1 without being written."""


def contradictions(plan: Plan) -> list[Mistake]:
    """Mistakes that no key shows alone, each at the key that is likeliest to be wrong."""
    return [*_order(plan), *_model(plan), *_strategy(plan)]


def _order(plan: Plan) -> Iterator[Mistake]:
    gpus, nodes = plan.order.gpus, plan.order.nodes
    if gpus and nodes and gpus < nodes:
        yield Mistake(
            path=("order", "nodes"),
            what=f"{nodes} nodes cannot share {gpus} cards",
            mend="accepted: at least one card a node; gpus counts the cards over all nodes",
        )


def _model(plan: Plan) -> Iterator[Mistake]:
    hidden, heads = plan.model.hidden, plan.model.heads
    if hidden and heads and hidden % heads:
        yield Mistake(
            path=("model", "heads"),
            what=f"{heads} heads do not divide the {hidden} of model.hidden",
            mend="accepted: a number of heads that divides hidden, such as hidden / 128",
        )


def _strategy(plan: Plan) -> Iterator[Mistake]:
    strategy, gpus = plan.strategy, plan.order.gpus
    sizes = {name: size for name in _MULTIPLYING if (size := getattr(strategy, name))}
    product = math.prod(sizes.values())
    shown = " x ".join(f"{name} {size}" for name, size in sizes.items())
    if strategy.kind == "single" and product > 1:
        yield Mistake(
            path=("strategy", "kind"),
            what=f"single is one rank, but {shown} = {product}",
            mend="accepted: another kind, or no sizes",
        )
    elif gpus and sizes and (gpus % product or (gpus != product and not _open_sizes(strategy))):
        yield Mistake(
            path=("strategy", next(name for name in sizes if sizes[name] > 1 or product == 1)),
            what=f"{shown} = {product} contradicts the {gpus} cards of order.gpus",
            mend=f"accepted: sizes whose product is {gpus}; data and shard may be left out, and "
            "then take up what remains",
        )
    if gpus and strategy.expert and gpus % strategy.expert:
        yield Mistake(
            path=("strategy", "expert"),
            what=f"{strategy.expert} does not divide the {gpus} cards of order.gpus",
            mend="accepted: a number that divides gpus",
        )


def _open_sizes(strategy: Strategy) -> list[str]:
    """Sizes that are not written and may be more than 1 in this kind of strategy."""
    kinds = set(strategy.kind.split("+")) if strategy.kind else {"hsdp"}
    return [
        name
        for name in _MULTIPLYING
        if getattr(strategy, name) is None and kinds & _KINDS_WITH[name]
    ]
