"""Stage compile: torch.compile works, and compilation is told apart from the steady step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from preflight.harness import Result, Situation, at_most
from preflight.plan import Plan
from preflight.records import Device

ON_CPU = {
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
    "TORCHINDUCTOR_VEC_ISA_OK": "1",
}
"""A rehearsal compiles one small graph: a pool of workers, a precompiled header (9 s, outside the
cache folder) and a trial of vector instructions cost it more than they give."""
CACHES = {"TORCHINDUCTOR_CACHE_DIR": "inductor", "TRITON_CACHE_DIR": "triton"}


@pytest.mark.check(id="compile.toolchain", stage="compile", deadline="120s")
def check_toolchain(device: Device, probe: Any, result: Result, plan: Plan) -> None:
    """What torch.compile needs on this machine is there: compiler, headers, writable caches."""
    answer = probe("compilation.toolchain", backend=plan.software.compile_backend)
    missing = answer["missing"]
    result.attach("\n".join(f"{what}: {where}" for what, where in answer["found"].items()))
    if missing:
        first = missing[0]
        result.attach(
            "\n".join(f"missing: {m['what']} ({m['looked']}): {m['why']}" for m in missing)
        )
        result.fail(
            f"{first['what']}: {first['why']}; looked at {first['looked']}",
            "install " + ", ".join(m["what"] for m in missing)
            if "cache" not in first["what"]
            else "name a writable folder in TORCHINDUCTOR_CACHE_DIR and TRITON_CACHE_DIR",
        )


@pytest.mark.check(
    id="compile.steady", stage="compile", deadline="300s", needs=("compile.toolchain",)
)
def check_steady(
    device: Device,
    fresh: Any,
    result: Result,
    situation: Situation,
    plan: Plan,
    scratch: Path,
) -> None:
    """A model compiles, cold and from a warm cache, and its steady step keeps eager's values."""
    _skip_equal_card(device, situation, result)
    caches = {name: str(scratch / folder) for name, folder in CACHES.items()}
    if device.kind == "cpu":
        caches |= ON_CPU
    asked = {"backend": plan.software.compile_backend, "level": situation.options.level}
    result.advise(
        "run the campaign without torch.compile, or with another backend in [software] "
        "compile_backend; the evidence holds the compiler's words"
    )
    cold = fresh(caches)("compilation.first_call", **asked)
    warm = fresh(caches)("compilation.first_call", **asked)
    values = cold["values"]
    limit = at_most(1, values["source"])
    result.measure("error over bound", values["ratio"], "1", limit=limit)
    result.measure("first call, cold", cold["first_call_s"], "s")
    result.measure("first call, warm cache", warm["first_call_s"], "s")
    for name, step in (("compiled step", cold["steady"]), ("eager step", cold["eager"])):
        result.measure(
            name, step["median_s"], "s", n=step["n"], p10=step["p10_s"], p90=step["p90_s"]
        )
    result.measure("gain", cold["gain"], "1")
    result.measure("steps to pay back", cold["payback_steps"], "1")
    result.attach(
        f"backend {cold['backend']}, {cold['dtype']} {cold['shape']}, graphs {cold['graphs']}, "
        f"breaks {cold['graph_breaks']}, cache hits when warm {warm['cache_hits']}"
    )
    pays = cold["payback_steps"]
    result.note(
        f"{cold['backend']}: cold {cold['first_call_s']:.1f} s, warm {warm['first_call_s']:.1f} s, "
        + (f"pays after {pays:.0f} steps" if pays else "a compiled step is not faster than eager")
    )


def _skip_equal_card(device: Device, situation: Situation, result: Result) -> None:
    """At quick, one card of each product is enough: the compiler is the same for all of them."""
    if situation.options.level != "quick":
        return
    first = next(d for d in situation.probed if d.product == device.product)
    if first.name != device.name:
        result.skip(f"{first.name} is the same product and compiles; --level standard does all")
