"""torch.compile on a device: what the first call costs, what a step gains, and what it needs.

Meant for a process of its own, twice with one cache folder (TORCHINDUCTOR_CACHE_DIR and, for
accelerators, TRITON_CACHE_DIR in its environment): cold, then warm.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
import sysconfig
import tempfile
import time
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from torch import nn
from torch.nn import functional

from . import clock, model, precision, reference, reply

MISSING = {
    "c++ compiler": "TorchInductor compiles C++ for the CPU",
    "c compiler": "Triton compiles its launcher with one",
    "python.h": "Triton's launcher is a Python extension",
    "triton": "TorchInductor writes its kernels in Triton",
}


class Gate(nn.Module):
    """One matrix product and a chain of pointwise operations: the least that fuses both ways."""

    def __init__(self, width: int, seed: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width, width))
        model.initialize(self, seed)

    def forward(self, x_BD: torch.Tensor) -> torch.Tensor:
        """x + silu(x W) tanh(x), of shape BD."""
        out_BD: torch.Tensor = x_BD + functional.silu(x_BD @ self.weight) * x_BD.tanh()
        return out_BD


def first_call(device: str, backend: str, seed: int, level: str) -> Dict[str, Any]:
    """Compile one forward and backward pass, then compare its values and its time with eager.

    ``gain`` is eager over compiled, by medians; ``payback_steps`` the number of steps after which
    the first call has paid for itself, None where a step gains nothing.
    """
    rows, width = (4096, 64) if level == "quick" else (65_536, 256)
    module = Gate(width, seed)
    x = torch.randn(rows, width, generator=torch.Generator().manual_seed(seed + 1))
    expected = _expected(module, x, seed)
    module, x = module.to(device), x.to(device).requires_grad_()
    n = 20 if level == "quick" else 100
    with precision.strict():
        reply.progress("eager")
        eager = clock.timed(lambda: _step(module, module, x), device, n=n, warmup=3)
        first, compiled = _compile(module, x, device, backend)
        reply.progress("compiled values")
        judged = reference.judge(_step(compiled, module, x), expected)
        reply.progress("compiled steps")
        steady = clock.timed(lambda: _step(compiled, module, x), device, n=n, warmup=3)
    saved = eager["median_s"] - steady["median_s"]
    return {
        "backend": backend,
        "dtype": "float32",
        "shape": [rows, width],
        **first,
        "eager": eager,
        "steady": steady,
        "gain": eager["median_s"] / steady["median_s"],
        "payback_steps": first["first_call_s"] / saved if saved > 0 else None,
        "values": judged,
        **_counters(),
        "cache": cache_folders(),
    }


def _expected(module: Gate, x: torch.Tensor, seed: int) -> Dict[str, reference.Expected]:
    wide = Gate(module.weight.shape[0], seed).double()
    wide_x = x.double().requires_grad_()
    return reference.expect(lambda: _step(wide, wide, wide_x), torch.float32, seed)


def _compile(
    module: Gate, x: torch.Tensor, device: str, backend: str
) -> Tuple[Dict[str, float], Callable[[torch.Tensor], torch.Tensor]]:
    """Seconds of the first forward and backward pass, compiler's import apart; and the function."""
    reply.progress("import the compiler")
    start = time.perf_counter()
    _import_compiler(backend)
    imported_s = time.perf_counter() - start
    compiled: Callable[[torch.Tensor], torch.Tensor] = torch.compile(module, backend=backend)
    output: List[torch.Tensor] = []
    module.weight.grad = None
    x.grad = None
    reply.progress("compile forward")
    forward_s = clock.seconds_of(lambda: output.append(compiled(x)), device)
    reply.progress("compile backward")
    weights = _weights(output[0])
    backward_s = clock.seconds_of(lambda: _backward(output[0], weights), device)
    first = {
        "import_s": imported_s,
        "first_forward_s": forward_s,
        "first_backward_s": backward_s,
        "first_call_s": forward_s + backward_s,
    }
    return first, compiled


def _import_compiler(backend: str) -> None:
    """Import it apart, so that its seconds are not taken for compilation."""
    import torch._dynamo

    if backend == "inductor":
        import torch._inductor.compile_fx  # noqa: F401


def _weights(output: torch.Tensor) -> torch.Tensor:
    """What stands for the gradient that comes in: neither constant nor random."""
    ramp = torch.linspace(-1, 1, output.numel(), dtype=torch.float32, device=output.device)
    return ramp.view_as(output).to(output.dtype)


def _backward(output: torch.Tensor, weights: torch.Tensor) -> None:
    output.backward(weights)  # type: ignore[no-untyped-call]


def _step(
    call: Callable[[torch.Tensor], torch.Tensor], module: Gate, x: torch.Tensor
) -> Dict[str, torch.Tensor]:
    module.weight.grad = None
    x.grad = None
    output = call(x)
    _backward(output, _weights(output))
    found = {"output": output.detach(), "input.grad": x.grad, "weight.grad": module.weight.grad}
    return {name: tensor for name, tensor in found.items() if tensor is not None}


def _counters() -> Dict[str, Optional[int]]:
    """Graphs and breaks as dynamo counted them; None where this torch keeps no such count."""
    counters = getattr(sys.modules.get("torch._dynamo.utils"), "counters", None)
    if counters is None:
        return {"graphs": None, "graph_breaks": None, "cache_hits": None}
    return {
        "graphs": int(counters["stats"].get("unique_graphs", 0)),
        "graph_breaks": sum(counters["graph_break"].values()),
        "cache_hits": int(counters["inductor"].get("fxgraph_cache_hit", 0)),
    }


def cache_folders() -> Dict[str, str]:
    """Where compiled code is kept: TorchInductor's folder, and Triton's."""
    user = os.environ.get("USER") or os.environ.get("LOGNAME") or str(os.getuid())
    inductor = os.environ.get("TORCHINDUCTOR_CACHE_DIR") or str(
        Path(tempfile.gettempdir()) / f"torchinductor_{user}"
    )
    home = os.environ.get("TRITON_HOME") or str(Path.home())
    triton = os.environ.get("TRITON_CACHE_DIR") or str(Path(home) / ".triton" / "cache")
    return {"inductor": inductor, "triton": triton}


def toolchain(backend: str, device: str, seed: int = 0) -> Dict[str, Any]:
    """What compiling needs and this machine lacks; ``missing`` is empty where all is there.

    Each entry holds ``what``, ``why`` and ``looked`` (where it was looked for). A backend other
    than inductor needs nothing.
    """
    reply.progress("look for the toolchain")
    missing: List[Dict[str, str]] = []
    if backend != "inductor":
        return {"backend": backend, "missing": missing, "found": {}}
    on_cpu = torch.device(device).type == "cpu"
    found: Dict[str, Optional[str]] = {}
    if on_cpu:
        found["c++ compiler"] = _program("CXX", ("g++", "clang++", "c++"))
    else:
        found["c compiler"] = _program("CC", ("gcc", "clang", "cc"))
        found["python.h"] = _python_header()
        found["triton"] = _triton()
    looked = {
        "c++ compiler": f"CXX={os.environ.get('CXX', '')}, g++, clang++, c++ on PATH",
        "c compiler": f"CC={os.environ.get('CC', '')}, gcc, clang, cc on PATH",
        "python.h": sysconfig.get_paths()["include"],
        "triton": "sys.path",
    }
    for what, where in found.items():
        if where is None:
            missing.append({"what": what, "why": MISSING[what], "looked": looked[what]})
    folders = cache_folders()
    for name in ("inductor",) if on_cpu else ("inductor", "triton"):
        missing += _unwritable(name, folders[name])
    return {"backend": backend, "missing": missing, "found": found}


def _program(variable: str, names: Tuple[str, ...]) -> Optional[str]:
    """The compiler that the variable names, and it alone where it is set; else the first found."""
    chosen = os.environ.get(variable)
    for name in (chosen.split()[0],) if chosen and chosen.strip() else names:
        found = shutil.which(name)
        if found:
            return found
    return None


def _python_header() -> Optional[str]:
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    return str(header) if header.is_file() else None


def _triton() -> Optional[str]:
    spec = importlib.util.find_spec("triton")
    return spec.origin if spec is not None else None


NEEDED_BYTES = 64 << 20
"""A cold cache of the small model takes a few megabytes; a precompiled header some fifty."""


def _unwritable(name: str, folder: str) -> List[Dict[str, str]]:
    """Whether a file can be made in the folder, or where the folder would be made."""
    what = f"{name} cache folder"
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\0" * 4096)
    except OSError as error:
        return [{"what": what, "why": f"it cannot be written: {error}", "looked": folder}]
    free = shutil.disk_usage(folder).free
    if free < NEEDED_BYTES:
        why = f"{free >> 20} MiB are free, less than {NEEDED_BYTES >> 20} MiB"
        return [{"what": what, "why": why, "looked": folder}]
    return []
