from __future__ import annotations

import math

import pytest
import torch

from preflight.probes import comparison, formats, kernel, precision

from .faults import Fault, not_a_number, one_element


def test_first_kernel_is_exact_on_a_healthy_device() -> None:
    """Every element of the first kernel equals the CPU's."""
    answer = kernel.first("cpu", seed=1)
    assert answer["wrong"] == 0 and answer["first_wrong"] is None
    assert answer["elements"] == 65_537


def test_first_kernel_counts_one_wrong_element() -> None:
    """One damaged element is counted, with its place and both values."""
    with Fault("add.out", one_element) as fault:
        answer = kernel.first("cpu", seed=1)
    assert fault.hits > 0
    assert answer["wrong"] == 1
    assert answer["first_wrong"]["index"] == 65_537 // 2
    assert answer["first_wrong"]["found"] != answer["first_wrong"]["expected"]


def test_first_kernel_that_writes_nothing_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The output is poisoned, so a launch that does nothing leaves every element wrong."""
    real = torch.add
    monkeypatch.setattr(torch, "add", lambda a, b, out=None: out if out is not None else real(a, b))
    assert kernel.first("cpu", seed=1)["wrong"] == 65_537


def _entries(seed: int) -> dict[str, dict[str, object]]:
    return {str(e["dtype"]): e for e in kernel.matmul("cpu", "quick", seed)["entries"]}


def test_matmul_is_within_its_bound_in_every_dtype() -> None:
    """No element leaves its bound on a healthy device; a format it lacks is absent."""
    entries = _entries(seed=3)
    for name in ("float32", "bfloat16", "float16"):
        assert entries[name]["wrong"] == 0
        assert 0 < float(str(entries[name]["ratio"])) <= 1
        assert entries[name]["source"]
        assert entries[name]["tflops"]
    assert "NVIDIA" in str(entries["tf32"]["absent"])
    assert {"float8_e4m3fn", "int8"} <= entries.keys()


def test_matmul_finds_one_wrong_element() -> None:
    """One damaged element of a product leaves its bound in every floating dtype."""
    with Fault("mm", one_element):
        entries = _entries(seed=3)
    for name in ("float32", "bfloat16", "float16"):
        assert float(str(entries[name]["ratio"])) > 1, name
        assert int(str(entries[name]["wrong"])) >= 1


def test_matmul_nan_is_wrong() -> None:
    """NaN has no ratio and is counted as wrong."""
    with Fault("mm", not_a_number):
        entry = _entries(seed=3)["bfloat16"]
    assert entry["ratio"] is None
    assert int(str(entry["wrong"])) > 0


def test_reduction_is_within_its_bound() -> None:
    """Sum, mean and softmax of a healthy device keep within their bounds."""
    for entry in kernel.reduction("cpu", "quick", seed=2)["entries"]:
        assert entry["wrong"] == 0, entry
        assert entry["ratio"] <= 1


def test_a_sum_that_loses_one_term_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole numbers add up exactly, so a single lost term of 4099 shows in float32."""
    real = torch.sum

    def loses_one(x: torch.Tensor, dim: int, out: torch.Tensor) -> torch.Tensor:
        return out.copy_(real(x[:, :-1], dim))

    monkeypatch.setattr(torch, "sum", loses_one)
    entries = kernel.reduction("cpu", "quick", seed=2)["entries"]
    lost = next(e for e in entries if e["operation"] == "sum" and e["dtype"] == "float32")
    assert lost["wrong"] > 20


def test_unit_roundoff_is_half_the_gap() -> None:
    """2^-24, 2^-8 and 2^-11, and 2^-53 for float64."""
    powers = {"float32": -24, "bfloat16": -8, "float16": -11, "float64": -53}
    for name, power in powers.items():
        assert precision.unit_roundoff(precision.DTYPES[name]) == 2.0**power


def test_strict_restores_the_switches() -> None:
    """TF32 and reduced-precision sums are as they were, after an exception too."""
    matmul = torch.backends.cuda.matmul
    before = (matmul.allow_tf32, matmul.allow_bf16_reduced_precision_reduction)
    with pytest.raises(KeyError), precision.strict(allow_tf32=True):
        assert matmul.allow_tf32 and not matmul.allow_bf16_reduced_precision_reduction
        raise KeyError
    assert (matmul.allow_tf32, matmul.allow_bf16_reduced_precision_reduction) == before


def test_tf32_inputs_need_no_rounding() -> None:
    """The thirteen bits that TF32 drops are zero."""
    made = formats._tf32_normal(8, 8, torch.Generator().manual_seed(0))
    assert int((made.view(torch.int32) & 0x1FFF).abs().max()) == 0


def test_fault_of_the_device_is_no_absence() -> None:
    """Only a refusal is an absence; a CUDA error is raised on."""

    def refuses() -> dict[str, object]:
        raise NotImplementedError("no such operator\nmore")

    def breaks() -> dict[str, object]:
        raise RuntimeError("CUDA error: an illegal memory access was encountered")

    assert comparison.attempt("dtype", "int8", refuses) == {
        "dtype": "int8",
        "absent": "no such operator",
    }
    with pytest.raises(RuntimeError, match="illegal"):
        comparison.attempt("dtype", "int8", breaks)


def test_gamma_promises_nothing_past_one() -> None:
    """n u >= 1 has no bound."""
    assert precision.gamma(10, 0.01) == pytest.approx(0.1 / 0.9)
    assert precision.gamma(100, 0.01) == math.inf
