"""Values of small networks on a device, per dtype, against float64 on the CPU."""

from __future__ import annotations

import copy
import math
import warnings
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from torch import nn
from torch.nn import functional

from . import clock, comparison, model, precision, reference, reply

NAMES = ("float32", "bfloat16", "float16")

Inputs = Tuple[torch.Tensor, torch.Tensor]
"""What a network takes, and the targets of its loss; on the CPU."""

Make = Callable[[str, int, torch.dtype], Tuple[nn.Module, Inputs]]
"""A network and its inputs by level, seed and dtype."""


def transformer(device: str, level: str, seed: int) -> Dict[str, Any]:
    """Parts of every block and the logits; one entry a dtype."""
    return {"entries": _over_dtypes("transformer", make_transformer, device, level, seed)}


def convolution(device: str, level: str, seed: int) -> Dict[str, Any]:
    """Result of every layer and the logits; one entry a dtype."""
    return {"entries": _over_dtypes("convolution", make_convolution, device, level, seed)}


def make_transformer(level: str, seed: int, dtype: torch.dtype) -> Tuple[nn.Module, Inputs]:
    """A transformer in ``dtype`` on the CPU, and a batch of odd length."""
    rows, length = (2, 33) if level == "quick" else (4, 127)
    module = model.Transformer(seed, length).to(dtype)
    return module, (model.tokens(rows, length, seed + 1), model.tokens(rows, length, seed + 2))


def make_convolution(level: str, seed: int, dtype: torch.dtype) -> Tuple[nn.Module, Inputs]:
    """A convolution network in ``dtype`` on the CPU, and a batch of images of odd size."""
    rows, height, width = (3, 17, 19) if level == "quick" else (8, 65, 67)
    generator = torch.Generator().manual_seed(seed + 1)
    images = torch.randn(rows, 3, height, width, generator=generator).to(dtype)
    targets = torch.randint(0, 10, (rows,), generator=generator)
    return model.Convolution(seed).to(dtype), (images, targets)


def float64_copy(module: nn.Module) -> nn.Module:
    """The same parameters in float64 on the CPU; attention by its formula."""
    wide = copy.deepcopy(module).double()
    if isinstance(wide, model.Transformer):
        wide.attend_with(model.written_attention)
    return wide


def widened(inputs: torch.Tensor) -> torch.Tensor:
    """Images in float64; tokens as they are."""
    return inputs.double() if inputs.is_floating_point() else inputs


def poison_memory(device: str) -> None:
    """Fill memory with NaN and free it, so that what a kernel leaves unwritten is likely NaN.

    A caching allocator hands the same blocks out next: small ones (below 1 MiB, in CUDA's own
    pool) and one larger.
    """
    blocks = [torch.full((1 << 17,), math.nan, device=device) for _ in range(8)]
    blocks.append(torch.full((1 << 22,), math.nan, device=device))
    clock.synchronize(device)
    blocks.clear()


def _over_dtypes(what: str, make: Make, device: str, level: str, seed: int) -> List[Dict[str, Any]]:
    entries = []
    for name in NAMES:
        reply.progress(f"{what} {name}")
        entries.append({"dtype": name, **_entry(make, device, level, seed, name)})
    return entries


def _entry(make: Make, device: str, level: str, seed: int, name: str) -> Dict[str, Any]:
    dtype = precision.DTYPES[name]
    module, (inputs, _) = make(level, seed, dtype)
    wide = float64_copy(module)
    with torch.no_grad():
        expected = reference.expect(lambda: _taps(wide, widened(inputs)), dtype, seed)
        module, inputs = module.to(device), inputs.to(device)
        poison_memory(device)
        found: Dict[str, torch.Tensor] = {}
        with precision.strict():
            seconds = clock.seconds_of(lambda: found.update(_taps(module, inputs)), device)
    return {"seconds": seconds, **reference.judge(found, expected)}


def _taps(module: nn.Module, inputs: torch.Tensor) -> Dict[str, torch.Tensor]:
    taps: model.Taps = {}
    module(inputs, taps)
    return taps


def attention(device: str, level: str, seed: int) -> Dict[str, Any]:
    """Causal attention by every backend that torch has for the device, and by its own choice.

    One entry for each backend and dtype; a combination that torch refuses is ``absent``, with
    torch's reason.
    """
    shape = (2, 4, 65, 32) if level == "quick" else (2, 4, 257, 64)
    entries = []
    for name in NAMES:
        dtype = precision.DTYPES[name]
        generator = torch.Generator().manual_seed(seed)
        qkv = torch.randn(3, *shape, generator=generator).to(dtype)
        expected = reference.expect(lambda: _written(qkv.double()), dtype, seed)  # noqa: B023 - called at once
        for backend in ("default", *_backends()):
            reply.progress(f"attention {backend} {name}")
            entry = _attend(backend, qkv.to(device), device, expected)
            entries.append({"backend": backend, "dtype": name, **entry})
    return {"entries": entries, "shape": list(shape)}


def _written(qkv: torch.Tensor) -> Dict[str, torch.Tensor]:
    return {"output": model.written_attention(*qkv.unbind())}


def _backends() -> List[str]:
    """Those of ``math``, ``flash``, ``efficient``, ``cudnn`` that this torch can be told to use."""
    try:
        from torch.nn.attention import SDPBackend
    except ImportError:  # before torch 2.3
        return []
    return [name for name, member in _MEMBERS.items() if hasattr(SDPBackend, member)]


_MEMBERS = {
    "math": "MATH",
    "flash": "FLASH_ATTENTION",
    "efficient": "EFFICIENT_ATTENTION",
    "cudnn": "CUDNN_ATTENTION",
}


def _attend(
    backend: str, qkv: torch.Tensor, device: str, expected: Dict[str, reference.Expected]
) -> Dict[str, Any]:
    poison_memory(device)
    with precision.strict(), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            output = _attention_by(backend, qkv)
            clock.synchronize(device)
        except RuntimeError as error:
            refusal = _refusal(error, [str(warning.message) for warning in told])
            if refusal is None:
                raise
            return {"absent": refusal}
    return reference.judge({"output": output}, expected)


def _attention_by(backend: str, qkv: torch.Tensor) -> torch.Tensor:
    q, k, v = qkv.unbind()
    if backend == "default":
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(getattr(SDPBackend, _MEMBERS[backend])):
        return functional.scaled_dot_product_attention(q, k, v, is_causal=True)


def _refusal(error: RuntimeError, told: List[str]) -> Optional[str]:
    """torch's reason for having no such kernel; None for every other error.

    torch says only that there is none, and why in warnings before.
    """
    text = str(error)
    if "No available kernel" not in text and "No viable backend" not in text:
        return None
    reasons = [line.split(" (Triggered internally")[0] for line in told]
    return " ".join([comparison.reason_of(error), *reasons])[:600]
