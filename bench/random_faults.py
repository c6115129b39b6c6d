"""Random injected faults: no run may end well, late, with orphans or without a record.

``python bench/random_faults.py [RUNS] [SEED]`` prints a line for each run and fails on the first
promise that is broken. Each run is a quick rehearsal of the stage that its fault strikes.
``python bench/random_faults.py each`` strikes once with every fault, at a stage where it belongs.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from preflight.harness.sweep import survivors
from preflight.injection import FAULTS, HARMLESS, possible_faults
from preflight.records import decode_record
from preflight.stages import STAGE_NAMES

CHECK_DEADLINE_S = 30
GRACE_S = 15
GOOD = ("READY", "READY_WITH_WARNINGS", "REHEARSED")


def choose(generator: random.Random) -> tuple[str, str, str]:
    """A stage, a fault that can strike it, and both as a flag."""
    stage = generator.choice([name for name in STAGE_NAMES if possible_faults(name)])
    fault = generator.choice([name for name in FAULTS if name in possible_faults(stage)])
    place = ":0" if generator.random() < 0.3 and fault.startswith("rank") else ""
    return stage, fault, f"{stage}{place}={fault}"


def strike(stage: str, fault: str, flag: str) -> str:
    """One run; what is wrong with it, or empty."""
    with tempfile.TemporaryDirectory() as out:
        command = [
            *(sys.executable, "-m", "preflight", "run", "--device", "cpu", "--level", "quick"),
            *("--only", stage, "--inject", flag, "--out", out, "--deadline", "10m"),
            *("--check-deadline", f"{CHECK_DEADLINE_S}s"),
        ]
        began = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True)
        seconds = time.monotonic() - began
        (folder,) = Path(out).glob("*/*")
        record = decode_record((folder / "record.json").read_bytes(), where=flag)
        bad = next((c for c in record.checks if c.status in ("fail", "error")), None)
        cause = f"{bad.id} {bad.status}: {bad.reason[:90]}" if bad else "no failure"
        word = record.verdict.word
        print(f"{flag:<26} {word:<13} {done.returncode}  {seconds:5.1f} s  {cause}", flush=True)
        checks = len(record.checks)
        if word in GOOD and fault not in HARMLESS:
            return f"{flag} ended in {word}"
        if word not in GOOD and fault in HARMLESS:
            return f"{flag} ended in {word}, and it is harmless"
        if seconds > checks * (CHECK_DEADLINE_S + GRACE_S):
            return f"{flag} took {seconds:.0f} s"
        if survivors(folder):
            return f"{flag} left processes {survivors(folder)}"
        if "Traceback" in done.stderr:
            return f"{flag} printed a traceback of ours\n{done.stderr}"
    return ""


def every_fault() -> Iterator[tuple[str, str, str]]:
    """Each fault once: on a rank in collective, on a shard in checkpoint, else in kernel."""
    for fault in FAULTS:
        stages = [s for s in ("kernel", "collective", "checkpoint") if fault in possible_faults(s)]
        yield stages[0], fault, f"{stages[0]}={fault}"


def main() -> None:
    """Strike again and again, or once with each."""
    if sys.argv[1:] == ["each"]:
        troubles = [trouble for one in every_fault() if (trouble := strike(*one))]
        print(f"{len(FAULTS)} faults, {len(troubles)} broken promises")
        sys.exit("\n".join(troubles) or 0)
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 50
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 20261201
    generator = random.Random(seed)
    troubles = [trouble for _ in range(runs) if (trouble := strike(*choose(generator)))]
    print(f"{runs} runs, seed {seed}, {len(troubles)} broken promises")
    sys.exit("\n".join(troubles) or 0)


if __name__ == "__main__":
    main()
