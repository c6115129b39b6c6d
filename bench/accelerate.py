"""``accelerate test`` beside the stages of preflight that cover the same ground, on the CPU.

``python bench/accelerate.py`` needs `pip install accelerate`. It runs Accelerate's own self-test
with two processes, then ``preflight run`` over the same stages with two ranks, and prints wall
seconds and how each ended.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STAGES = "import,kernel,forward,backward,collective,strategy"
CONFIG = """\
compute_environment: LOCAL_MACHINE
distributed_type: MULTI_CPU
num_processes: 2
num_machines: 1
machine_rank: 0
use_cpu: true
mixed_precision: 'no'
main_training_function: main
main_process_ip: 127.0.0.1
main_process_port: 29555
"""


def timed(command: list[str], **environment: str) -> tuple[float, int, str]:
    """Wall seconds, exit code and the last lines of a command."""
    began = time.monotonic()
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=1200
    )
    tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-6:])
    return time.monotonic() - began, done.returncode, tail


def main() -> None:
    """Run both and print."""
    bin_folder = Path(sys.executable).parent
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "config.yaml"
        config.write_text(CONFIG)
        accelerate = [str(bin_folder / "accelerate"), "test", "--config_file", str(config)]
        preflight = [
            *(sys.executable, "-m", "preflight", "run", "--device", "cpu", "--level", "quick"),
            *("--only", STAGES, "--out", folder, "--deadline", "10m"),
        ]
        for name, command in (("accelerate test", accelerate), (f"preflight {STAGES}", preflight)):
            path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
            seconds, code, tail = timed(command, OMP_NUM_THREADS="1", PATH=path)
            print(f"== {name}: {seconds:.1f} s, exit code {code}\n{tail}\n", flush=True)


if __name__ == "__main__":
    main()
