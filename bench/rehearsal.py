"""What the harness costs: a quick rehearsal over a bare script that does the same probe work.

``python bench/rehearsal.py [RUNS]`` runs both in turn and prints the median ratio of their wall
times, and where the time of the last pair went.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from preflight.records import Record, decode_record

BARE = Path(__file__).with_name("bare.py")


def rehearse() -> tuple[float, Record]:
    """Wall seconds of the command, and its record."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "preflight", "run", "--device", "cpu", "--level", "quick"]
        began = time.monotonic()
        done = subprocess.run([*command, "--out", out], capture_output=True, text=True)
        seconds = time.monotonic() - began
        if done.returncode:
            sys.exit(done.stdout + done.stderr)
        (path,) = Path(out).glob("*/*/record.json")
        return seconds, decode_record(path.read_bytes(), where=str(path))


def bare() -> tuple[float, str]:
    """Wall seconds of the bare script, and what it printed."""
    began = time.monotonic()
    done = subprocess.run([sys.executable, str(BARE)], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return time.monotonic() - began, done.stdout


def main() -> None:
    """Alternate, so that a machine that grows slower hits both."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    ratios = []
    for _ in range(runs):
        bare_s, shares = bare()
        rehearsal_s, record = rehearse()
        ratios.append(rehearsal_s / bare_s)
        print(f"bare {bare_s:.1f} s, rehearsal {rehearsal_s:.1f} s, ratio {ratios[-1]:.2f}")
    print(f"median ratio of {runs}: {median(ratios):.2f}\n\nbare script\n{shares}\nrehearsal")
    spent = 0.0
    for stage in record.stages:
        spent += stage.duration_s or 0.0
        print(f"{stage.name:<28} {stage.duration_s:6.1f} s")
    print(f"{'between the checks':<28} {(record.run.duration_s or 0.0) - spent:6.1f} s")


if __name__ == "__main__":
    main()
