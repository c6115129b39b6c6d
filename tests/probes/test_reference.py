"""The derived bound must admit every honest run and no broken one."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from preflight.probes import backward, forward, model, precision, reference

DTYPES = ("float32", "bfloat16", "float16")
Break = Callable[[model.Transformer], object]


def _ratio(name: str, seed: int, damage: Break | None = None, what: str = "transformer") -> float:
    """Worst ratio over values and gradients of a run in one dtype, broken or not."""
    dtype = precision.DTYPES[name]
    make = forward.make_transformer if what == "transformer" else forward.make_convolution
    module, (inputs, targets) = make("quick", seed, dtype)
    wide = forward.float64_copy(module)
    if damage is not None:
        assert isinstance(module, model.Transformer)
        damage(module)

    def run(network: nn.Module, given: torch.Tensor) -> dict[str, torch.Tensor]:
        return {**forward._taps(network, given), **backward._gradients(network, given, targets)}

    expected = reference.expect(lambda: run(wide, forward.widened(inputs)), dtype, seed)
    judged = reference.judge(run(module, inputs), expected)
    return float("inf") if judged["ratio"] is None else float(judged["ratio"])


@pytest.mark.parametrize("what", ["transformer", "convolution"])
@pytest.mark.parametrize("name", DTYPES)
def test_honest_runs_stay_well_within(name: str, what: str) -> None:
    """Over three seeds, values and gradients use less than 0.7 of their bounds."""
    assert max(_ratio(name, seed, what=what) for seed in range(3)) < 0.7


@pytest.mark.long
@pytest.mark.parametrize("what", ["transformer", "convolution"])
@pytest.mark.parametrize("name", DTYPES)
def test_honest_runs_stay_well_within_over_twenty_seeds(name: str, what: str) -> None:
    """The same over twenty seeds; and the bound is no more than a hundred times what is seen."""
    ratios = [_ratio(name, seed, what=what) for seed in range(20)]
    assert max(ratios) < 0.7
    assert min(ratios) > 0.01


def _scale_one_weight(module: model.Transformer) -> None:
    with torch.no_grad():
        module.blocks[1].feed_forward.down.weight.mul_(1.1)  # type: ignore[union-attr, operator]


def _drop_rotary(module: model.Transformer) -> None:
    with torch.no_grad():
        for block in module.blocks:
            block.attention.table_2SK[0].fill_(1)  # type: ignore[union-attr, index]
            block.attention.table_2SK[1].fill_(0)  # type: ignore[union-attr, index]


def _flip_a_head(module: model.Transformer) -> None:
    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        out = model.fused_attention(q, k, v)
        sign = torch.ones(out.shape[1], 1, 1, dtype=out.dtype)
        sign[2] = -1
        return out * sign

    module.attend_with(attend)


def _see_the_future(module: model.Transformer) -> None:
    def attend(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return nn.functional.scaled_dot_product_attention(q, k, v)

    module.attend_with(attend)


@pytest.mark.parametrize("name", DTYPES)
@pytest.mark.parametrize("damage", [_scale_one_weight, _drop_rotary, _flip_a_head, _see_the_future])
def test_a_real_fault_leaves_the_bound(name: str, damage: Break) -> None:
    """A weight times 1.1, no rotary, a head of wrong sign, no mask: none passes."""
    assert _ratio(name, 0, damage) > 1


def test_one_wrong_element_of_many_leaves_the_bound() -> None:
    """The largest element is judged beside the norm, where one of 6402 would be lost."""
    module, (inputs, _) = forward.make_transformer("quick", 0, torch.bfloat16)
    wide = forward.float64_copy(module)
    with torch.no_grad():
        expected = reference.expect(lambda: forward._taps(wide, inputs), torch.bfloat16, 0)
        found = forward._taps(module, inputs)
        found["logits"].view(-1)[77] += 3
    assert reference.judge(found, expected)["worst"] == "logits"
    assert reference.judge(found, expected)["ratio"] > 1


def test_rounding_reaches_the_backward_pass() -> None:
    """Operations of the backward pass are perturbed too, so gradients get bounds of their own."""
    module = model.Transformer(0, 9).double()
    tokens = model.tokens(1, 9, 1)
    loss = model.loss(module(tokens), tokens, "sum")
    with reference.Rounding(2.0**-24, 2.0**-24, 0) as rounding:
        loss.backward()  # type: ignore[no-untyped-call]
    assert rounding.operations > 20


def test_a_zero_gradient_has_a_bound() -> None:
    """A tensor that is zero in both has ratio 0; one that is not has a ratio past 1."""
    expected = reference.expect(
        lambda: {"g": torch.zeros(3, dtype=torch.float64)}, torch.float16, 0
    )
    assert reference.judge({"g": torch.zeros(3)}, expected)["ratio"] == 0
    assert reference.judge({"g": torch.full((3,), 1e-3)}, expected)["ratio"] > 1


def test_nan_has_no_ratio_and_is_the_worst() -> None:
    """A NaN is worse than any finite error."""
    run = {"a": torch.ones(3, dtype=torch.float64), "b": torch.ones(3, dtype=torch.float64)}
    expected = reference.expect(lambda: run, torch.float32, 0)
    judged = reference.judge(
        {"a": torch.full((3,), 9.0), "b": torch.tensor([1, 1, torch.nan])}, expected
    )
    assert (judged["ratio"], judged["worst"], judged["finite"]) == (None, "b", False)


def test_a_missing_gradient_is_named() -> None:
    """A parameter that the backward pass does not reach raises, by name."""
    layer = nn.Linear(2, 2)
    with pytest.raises(RuntimeError, match="weight, bias"):
        reference.gradients(layer)
