"""The probe work of a quick rehearsal with two ranks, as a bare script: no harness, no judgement.

``python bench/bare.py`` runs the same probes in the same number of processes, one after another, as
a person would who wrote the script by hand. ``bench/rehearsal.py`` is measured against it.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PROBES = Path(__file__).resolve().parents[1] / "preflight" / "probes"
SIZES = [2**k for k in range(10, 23, 2)]
COLLECTIVES = [
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "broadcast",
    "all_to_all",
    "send_recv",
    "barrier",
]
COMPILE = {
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
    "TORCHINDUCTOR_VEC_ISA_OK": "1",
}
STATE = {"seed": 1, "steps": 3, "more_steps": 3}


def probe(name: str) -> Any:
    """A module of the probes, loaded without the rest of preflight."""
    if "probes" not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            "probes", PROBES / "__init__.py", submodule_search_locations=[str(PROBES)]
        )
        assert spec is not None and spec.loader is not None
        sys.modules["probes"] = importlib.util.module_from_spec(spec)
    return importlib.import_module(f"probes.{name}")


def work(part: str, folder: str) -> None:
    """One process's share."""
    given = {"device": "cpu", "seed": 1}
    if part == "environment":
        probe("environment").facts()
    elif part == "numpy":
        probe("extension").load(name="numpy")
    elif part == "device":
        for module, function in (
            ("kernel", "first"),
            ("kernel", "matmul"),
            ("kernel", "reduction"),
            ("forward", "transformer"),
            ("forward", "convolution"),
            ("forward", "attention"),
            ("backward", "gradients"),
            ("backward", "optimizer"),
        ):
            level = {} if function == "first" else {"level": "quick"}
            getattr(probe(module), function)(**given, **level)
        probe("compilation").toolchain(backend="inductor", **given)
    elif part == "compile":
        probe("compilation").first_call(backend="inductor", level="quick", **given)
    else:
        ranks = probe("ranks")
        ranks.join(backend="gloo", device="cpu", timeout_s=600.0)
        if part == "ranks":
            share_ranks(folder)
        else:
            probe("checkpoints").restore(folder=folder + "/state", **STATE)
        ranks.leave()


def share_ranks(folder: str) -> None:
    """What the first group of ranks does."""
    collectives, layouts = probe("collectives"), probe("layouts")
    for name in COLLECTIVES:
        getattr(collectives, name)(level="quick", seed=1)
        if name == "all_reduce":
            collectives.sweep(collective=name, sizes_bytes=SIZES, iterations=5)
    for name in ("ddp", "fsdp2"):
        getattr(layouts, name)(seed=1, steps=3, level="quick")
    probe("checkpoints").write(folder=folder + "/state", **STATE)


def start(part: str, folder: str, **environment: str) -> subprocess.Popen[bytes]:
    """A process for one share."""
    command = [sys.executable, __file__, part, folder]
    return subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL)


def group(part: str, folder: str, count: int) -> None:
    """``count`` ranks, to their end."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = str(listener.getsockname()[1])
    places = {"WORLD_SIZE": str(count), "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    finish(
        *(
            start(part, folder, RANK=str(r), LOCAL_RANK=str(r), OMP_NUM_THREADS="1", **places)
            for r in range(count)
        )
    )


def finish(*processes: subprocess.Popen[bytes]) -> None:
    """Wait for processes; one that fails ends the script."""
    for process in processes:
        if process.wait():
            sys.exit(f"{process.args} failed")


def main() -> None:
    """Run every share and print the seconds of each."""
    with tempfile.TemporaryDirectory() as folder:
        caches = {"TORCHINDUCTOR_CACHE_DIR": folder + "/inductor", **COMPILE}
        shares = {
            "import torch": lambda: finish(start("environment", folder)),
            "import numpy": lambda: finish(start("numpy", folder)),
            "kernel, forward, backward": lambda: finish(start("device", folder)),
            "compile, cold": lambda: finish(start("compile", folder, **caches)),
            "compile, warm": lambda: finish(start("compile", folder, **caches)),
            "collective, strategy, write": lambda: group("ranks", folder, 2),
            "restore": lambda: group("restore", folder, 2),
            "reshard": lambda: group("restore", folder, 1),
        }
        for name, share in shares.items():
            began = time.monotonic()
            share()
            print(f"{name:<28} {time.monotonic() - began:6.1f} s", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        work(sys.argv[1], sys.argv[2])
    else:
        main()
