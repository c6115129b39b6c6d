"""The command on fake devices, and what it left."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fakegpu.build import Libraries
from fakegpu.environment import fake_environment

from preflight.records import Check, Record, decode_record

ROOT = Path(__file__).parents[2]
PATIENCE_S = 900.0
"""How long a run may take on a shared machine."""
THREADS = {"OMP_NUM_THREADS": "1"}
"""Every device and rank is a process of its own; more threads than cores only wait."""


@dataclass(frozen=True, kw_only=True)
class Run:
    """How one run ended."""

    exit_code: int
    record: Record
    folder: Path
    output: str
    """Standard output and error together."""

    def named(self, check_id: str, device: str | None = None) -> Check:
        """The result of one check, of one device where it has several."""
        (found,) = [
            c for c in self.record.checks if c.id == check_id and c.device in (device, None)
        ]
        return found

    def of_status(self, *statuses: str) -> set[tuple[str, str | None]]:
        """Check and device of every result with one of these statuses."""
        return {(c.id, c.device) for c in self.record.checks if c.status in statuses}

    def guilty(self) -> set[str]:
        """Devices and ranks with a result that failed or was an error by itself."""
        found: set[str] = set()
        for check in self.record.checks:
            if check.status in ("fail", "error"):
                found |= {check.device} if check.device is not None else set()
                found |= {f"rank {check.rank}"} if check.rank is not None else set()
        return found

    def table(self) -> str:
        """What every check said, for the message of a test that fails."""
        rows = [
            f"{c.id} {c.device or ''} {c.status} rank={c.rank} {c.reason}"
            for c in self.record.checks
        ]
        return "\n".join([*rows, self.output])


def plan_text(*, gpus: int, gpu: str = "H100", performance: str = "record") -> str:
    """A plan whose software and limits fit devices without kernels of their own."""
    return (
        f'[order]\ngpus = {gpus}\ngpu = "{gpu}"\n'
        '[software]\ncompile_backend = "aot_eager"\n'
        f'[limits]\nperformance = "{performance}"\n'
    )


def run_command(
    libraries: Libraries,
    folder: Path,
    *,
    plan: str,
    only: str | None = None,
    device: str = "cuda",
    around: Sequence[str] = (),
    more: Sequence[str] = (),
    **variables: str,
) -> Run:
    """``preflight run --level quick`` in ``folder``, between the words ``around`` and ``more``."""
    (folder / "plan.toml").write_text(plan, encoding="utf-8")
    command = [
        *(*around, sys.executable, "-m", "preflight", "run", "--device", device),
        *("--level", "quick", "--deadline", "12m", "--plan", "plan.toml", "--out", "out"),
        *(("--only", only) if only else ()),
        *more,
    ]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        cwd=folder,
        env=fake_environment(libraries, root=ROOT, **{**THREADS, **variables}),
        check=False,
    )
    output = done.stdout + done.stderr
    folders = list(folder.glob("out/*/*"))
    assert len(folders) == 1, output
    file = folders[0] / "record.json"
    record = decode_record(file.read_bytes(), where=str(file))
    return Run(exit_code=done.returncode, record=record, folder=folders[0], output=output)
