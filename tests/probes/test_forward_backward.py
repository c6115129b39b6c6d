from __future__ import annotations

import pytest
import torch

from preflight.probes import backward, forward, model

from .faults import Fault, lost_row, not_a_number, one_element


@pytest.mark.parametrize("probe", [forward.transformer, forward.convolution])
def test_values_are_within_their_bounds(probe: object) -> None:
    """One entry a dtype, each with its worst tensor, its error and its bound."""
    entries = probe("cpu", "quick", 5)["entries"]  # type: ignore[operator]
    assert [e["dtype"] for e in entries] == ["float32", "bfloat16", "float16"]
    for entry in entries:
        assert entry["ratio"] < 1 and entry["finite"]
        assert entry["error"] < entry["bound"] and entry["worst"]


def test_a_wrong_product_is_placed() -> None:
    """A damaged matrix product is found in the first block that it reaches, in every dtype."""
    with Fault("mm", one_element):
        entries = forward.transformer("cpu", "quick", 5)["entries"]
    for entry in entries:
        first = next(t for t in entry["tensors"] if t["ratio"] is None or t["ratio"] > 1)
        assert first["name"] == "blocks.0.attention"


def test_a_wrong_convolution_is_found() -> None:
    """A NaN from a convolution has no ratio."""
    with Fault("convolution", not_a_number):
        entries = forward.convolution("cpu", "quick", 5)["entries"]
    assert all(entry["ratio"] is None and not entry["finite"] for entry in entries)


def test_each_attention_backend_answers_or_is_absent() -> None:
    """Torch's choice and its formula always work; what a CPU lacks is absent by torch's word."""
    entries = {
        (e["backend"], e["dtype"]): e for e in forward.attention("cpu", "quick", 5)["entries"]
    }
    for dtype in forward.NAMES:
        assert entries["default", dtype]["ratio"] < 1
        assert entries["math", dtype]["ratio"] < 1
        assert "No viable backend" in entries["cudnn", dtype]["absent"]


def test_a_broken_attention_is_no_absence(monkeypatch: pytest.MonkeyPatch) -> None:
    """An error that is no refusal is raised on."""

    def breaks(*_: object, **__: object) -> torch.Tensor:
        raise RuntimeError("CUDA error: misaligned address")

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", breaks)
    with pytest.raises(RuntimeError, match="misaligned"):
        forward.attention("cpu", "quick", 5)


def test_gradients_are_within_their_bounds() -> None:
    """Every parameter of both networks has a gradient near float64's, in every dtype."""
    entries = backward.gradients("cpu", "quick", 5)["entries"]
    assert len(entries) == 6
    names = {name for name, _ in model.Transformer(0).named_parameters()}
    for entry in entries:
        assert entry["ratio"] < 1, entry["worst"]
        if entry["model"] == "transformer":
            assert {tensor["name"] for tensor in entry["tensors"]} == names


def test_a_wrong_backward_is_found() -> None:
    """Damage in an operation that only the backward pass runs leaves the bound."""
    with Fault("silu_backward", lost_row) as fault:
        entries = backward.gradients("cpu", "quick", 5)["entries"]
    assert fault.hits > 0
    assert all(entry["ratio"] is None or entry["ratio"] > 1 for entry in entries)


def test_optimizer_lowers_the_loss() -> None:
    """Five steps of AdamW under autocast lower the loss of their batch, and all stays finite."""
    answer = backward.optimizer("cpu", "quick", 5)
    assert len(answer["losses"]) == answer["steps"] + 1
    assert answer["losses"][-1] < answer["losses"][0]
    assert answer["finite"]


def test_rotary_depends_on_position() -> None:
    """The same token at two places gives two logits, and the table is one of rotations."""
    table = model.rotary_table(8, 16)
    assert torch.allclose(table[0] ** 2 + table[1] ** 2, torch.ones(8, 16))
    module = model.Transformer(0, 8)
    logits = module(torch.tensor([[5, 5, 7, 5]]))
    assert not torch.allclose(logits[0, 1], logits[0, 3])


def test_the_written_attention_is_the_fused_one() -> None:
    """In float64 the formula and torch's kernel agree to rounding."""
    q, k, v = torch.randn(3, 2, 4, 9, 16, dtype=torch.float64).unbind()
    assert torch.allclose(model.written_attention(q, k, v), model.fused_attention(q, k, v))
