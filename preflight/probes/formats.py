"""Number formats that a matrix unit may have, and how to ask whether it has them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable, List, Optional, Tuple

import torch

from .precision import underflow, unit_roundoff

SINGLE = 2.0**-24
TENSOR_CORE = 2.0**-23
"""Unit roundoff of a matrix unit's float32 accumulator, which cuts off instead of rounding.

Fasi, Higham, Mikaitis, Pranesh, Numerical behavior of NVIDIA tensor cores, PeerJ CS 2021.
"""
FLOAT8_ACCUMULATOR = 2.0**-13
"""Hopper keeps about 14 bits of a float8 sum (DeepSeek-V3 technical report, section 3.3.2)."""

Make = Callable[[int, int, torch.Generator], torch.Tensor]
Multiply = Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]


def _normal(rows: int, columns: int, generator: torch.Generator) -> torch.Tensor:
    return torch.randn(rows, columns, generator=generator)


def _multiply(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    return torch.matmul(a, b, out=out)


@dataclass(frozen=True)
class Format:
    """One format: how to make inputs, multiply, and bound the error."""

    name: str
    accumulator: float = TENSOR_CORE
    """Unit roundoff of the sums; 0 where they are exact."""
    output: torch.dtype = torch.float32
    make: Make = _normal
    """Random matrix on the CPU, already rounded to the format."""
    multiply: Multiply = _multiply
    source: str = ""
    """The bound, in a sentence."""
    any_shape: bool = True
    """False where the kernels ask for sizes that are multiples of 16."""
    certain: bool = True
    """The device says that it has the format; False where only trying tells."""
    absent: str = ""
    """Why the device has it not, where that is known without trying."""
    poison: float = math.nan

    @property
    def output_roundoff(self) -> float:
        """Unit roundoff of the result; 0 where the accumulator is returned as it is."""
        if self.output in (torch.float32, torch.int32):
            return 0.0
        return unit_roundoff(self.output)

    @property
    def tiny(self) -> float:
        """What a result near zero may lose."""
        return underflow(self.output) if self.output.is_floating_point else 0.0

    def poisoned(self, rows: int, columns: int, device: str) -> torch.Tensor:
        """An output full of what no product gives."""
        return torch.full((rows, columns), self.poison, dtype=self.output, device=device)


def of_device(device: str) -> List[Format]:
    """All formats, those that the device has not with the reason."""
    return [_float32(), _tf32(device), *_half(), _float8(device), _int8(device)]


def _capability(device: str) -> Optional[Tuple[int, int]]:
    """Compute capability of an NVIDIA device; None for every other."""
    if torch.device(device).type != "cuda" or getattr(torch.version, "hip", None):
        return None
    major, minor = torch.cuda.get_device_capability(torch.device(device))
    return major, minor


def _float32() -> Format:
    source = "any order of K float32 products and sums: gamma(K, 2^-24) |A||B|; TF32 off"
    return Format("float32", accumulator=SINGLE, source=source)


def _tf32(device: str) -> Format:
    capability = _capability(device)
    if capability is None:
        return Format("tf32", absent="TF32 is a format of NVIDIA devices")
    if capability < (8, 0):
        major, minor = capability
        return Format("tf32", absent=f"compute capability {major}.{minor} is below 8.0")
    source = (
        "inputs that TF32 holds exactly, K sums cut off at 24 bits: gamma(K, 2^-23) |A||B| "
        "(Fasi et al. 2021)"
    )
    return Format("tf32", make=_tf32_normal, source=source)


def _tf32_normal(rows: int, columns: int, generator: torch.Generator) -> torch.Tensor:
    """Random numbers with 10 bits after the point, so that no unit has to round its inputs."""
    bits = _normal(rows, columns, generator).view(torch.int32)
    return (bits & ~0x1FFF).view(torch.float32)


def _half() -> List[Format]:
    found = []
    for name, dtype in (("bfloat16", torch.bfloat16), ("float16", torch.float16)):
        source = (
            "products exact, K sums cut off at 24 bits: gamma(K, 2^-23) |A||B| (Fasi et al. "
            f"2021), and one rounding to {name}"
        )
        found.append(Format(name, output=dtype, make=_rounded_to(dtype), source=source))
    return found


def _rounded_to(dtype: torch.dtype) -> Make:
    return lambda rows, columns, generator: _normal(rows, columns, generator).to(dtype)


def _float8(device: str) -> Format:
    name = "float8_e4m3fn"
    if not hasattr(torch, name) or not hasattr(torch, "_scaled_mm"):
        return Format(name, absent="this torch has no float8 product")
    capability = _capability(device)
    if capability is not None and capability < (8, 9):
        major, minor = capability
        return Format(name, absent=f"compute capability {major}.{minor} is below 8.9")
    architecture = _hip_architecture(device)
    if architecture.startswith("gfx94"):  # CDNA 3 has the other encoding: no negative zero
        name = "float8_e4m3fnuz"
    source = (
        "K sums kept to 14 bits: gamma(K, 2^-13) |A||B| (DeepSeek-V3 report, 3.3.2), and one "
        "rounding to bfloat16"
    )
    return Format(
        name,
        accumulator=FLOAT8_ACCUMULATOR,
        output=torch.bfloat16,
        make=_rounded_to(getattr(torch, name)),
        multiply=_scaled_multiply,
        source=source,
        any_shape=False,
        certain=capability is not None,
    )


def _hip_architecture(device: str) -> str:
    if torch.device(device).type != "cuda" or not getattr(torch.version, "hip", None):
        return ""
    return str(torch.cuda.get_device_properties(torch.device(device)).gcnArchName)


def _scaled_multiply(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    """``torch._scaled_mm`` wants the second matrix by columns, and scales that are tensors."""
    one = torch.ones((), device=a.device)
    scaled_mm: Any = torch._scaled_mm
    result = scaled_mm(a, b.t().contiguous().t(), scale_a=one, scale_b=one, out_dtype=out.dtype)
    return out.copy_(result)


def _int8(device: str) -> Format:
    if not hasattr(torch, "_int_mm"):
        return Format("int8", absent="this torch has no int8 product")
    capability = _capability(device)
    return Format(
        "int8",
        accumulator=0.0,
        output=torch.int32,
        make=_whole_numbers,
        multiply=_int_multiply,
        source="int32 sums of int8 products are exact",
        any_shape=False,
        certain=capability is not None and capability >= (8, 0),
        poison=-(2**31),
    )


def _whole_numbers(rows: int, columns: int, generator: torch.Generator) -> torch.Tensor:
    return torch.randint(-127, 128, (rows, columns), dtype=torch.int8, generator=generator)


def _int_multiply(a: torch.Tensor, b: torch.Tensor, out: torch.Tensor) -> torch.Tensor:
    return torch._int_mm(a, b, out=out)
