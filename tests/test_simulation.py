"""``--simulate`` through the whole command: marked everywhere, nothing of this machine in it."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from preflight.records import Record, decode_record

PLAN = Path(__file__).parents[1] / "examples" / "plan-2xb200.toml"
STATIC = ("--only", "order,driver,system,arch")


@dataclass(frozen=True)
class Run:
    """What one command left."""

    exit_code: int
    output: str
    record: Record
    folder: Path


def command(out: Path, *arguments: str) -> Run:
    """``preflight run --simulate``, quick."""
    line = [sys.executable, "-m", "preflight", "run", "--level", "quick", "--out", str(out)]
    done = subprocess.run(
        [*line, "--deadline", "10m", "--simulate", *arguments],
        capture_output=True,
        text=True,
        timeout=900,
    )
    (path,) = out.glob("*/*/record.json")
    record = decode_record(path.read_bytes(), where=str(path))
    return Run(done.returncode, done.stdout + done.stderr, record, path.parent)


def test_a_missing_card_is_told_first(tmp_path: Path) -> None:
    """1 of 2 B200 was found, where the other one is, and what to send the seller: exit code 1."""
    run = command(tmp_path, "2xB200:missing-1", "--order", "ORD-7", "--plan", str(PLAN), *STATIC)
    assert run.exit_code == 1, run.output
    first = run.record.verdict.reasons[0]
    assert first.startswith("order.count failed: 1 of 2 B200 was found")
    assert "0000:2b:00.0" in first
    (count,) = [check for check in run.record.checks if check.id == "order.count"]
    assert "ORD-7" in count.action and "seller" in count.action
    assert run.record.run.mode == "simulate"
    assert "NOT READY   order.count failed: 1 of 2 B200 was found" in run.output


def test_every_output_says_simulated(tmp_path: Path) -> None:
    """The terminal and each report name the profile, and the verdict is REHEARSED at best."""
    run = command(tmp_path, "8xMI300X", *STATIC)
    assert (run.exit_code, run.record.verdict.word) == (0, "REHEARSED"), run.output
    assert "SIMULATED 8xMI300X" in run.output
    for name in ("report.html", "summary.md", "junit.xml", "ctrf.json", "record.json"):
        assert "8xMI300X" in (run.folder / name).read_text(encoding="utf-8"), name
    for name in ("report.html", "summary.md"):
        assert "SIMULATED" in (run.folder / name).read_text(encoding="utf-8"), name


def test_nothing_of_this_host_enters(tmp_path: Path) -> None:
    """Host, kernel and cards are those of the profile."""
    run = command(tmp_path, "2xB200", *STATIC)
    assert run.record.host.name == "node-a" != socket.gethostname()
    assert [d.product for d in run.record.devices if d.kind == "cuda"] == ["NVIDIA B200"] * 2
    assert [d.name for d in run.record.devices if d.kind == "cpu"] == ["cpu"]
    (machine,) = run.record.machines
    assert machine.environment == {}


def test_a_driver_that_blocks_is_an_error_that_names_the_call(tmp_path: Path) -> None:
    """The run ends in time, order and driver could not be judged, the host could: exit code 3."""
    run = command(tmp_path, "2xB200:nvml-hang", "--plan", str(PLAN), *STATIC)
    assert (run.exit_code, run.record.verdict.word) == (3, "INCONCLUSIVE"), run.output
    by_id = {check.id: check for check in run.record.checks}
    for name in ("order.count", "order.product", "driver.present", "system.ecc"):
        assert by_id[name].status == "error", name
        assert "nvmlDeviceGetCount has not answered" in by_id[name].reason
    assert by_id["system.shm"].status == "pass"
    assert by_id["system.disk"].status in ("pass", "skip")


@pytest.mark.long
def test_the_whole_path_rehearses_on_the_cpu(tmp_path: Path) -> None:
    """The later stages run on the CPU, two ranks over gloo: REHEARSED and exit code 0."""
    run = command(tmp_path, "2xB200", "--plan", str(PLAN))
    assert (run.exit_code, run.record.verdict.word) == (0, "REHEARSED"), run.output
    kernels = {check.device for check in run.record.checks if check.stage == "kernel"}
    assert "cpu" in kernels and not {"gpu0", "gpu1"} & kernels
    (reduce,) = [check for check in run.record.checks if check.id == "collective.all_reduce"]
    assert "gloo" in reduce.reason


def test_a_plan_that_orders_other_cards_fails(tmp_path: Path) -> None:
    """Eight MI300X delivered for two B200: product and link are others."""
    run = command(tmp_path, "8xMI300X", "--plan", str(PLAN), *STATIC)
    assert run.exit_code == 1
    failed = {check.id for check in run.record.checks if check.status == "fail"}
    assert {"order.product", "order.link"} <= failed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["2xB300"], "no machine is called '2xB300'"),
        (["2xB200:kfd-eacces"], "is a fault of AMD machines"),
        (["2xB200", "--device", "cuda"], "brings its own devices"),
    ],
)
def test_a_profile_that_is_none_is_refused(
    tmp_path: Path, arguments: list[str], words: str
) -> None:
    """Exit code 2, the flag, and nothing ran."""
    line = [sys.executable, "-m", "preflight", "run", "--out", str(tmp_path), "--simulate"]
    done = subprocess.run([*line, *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert words in done.stderr and "--simulate" in done.stderr
    assert not any(tmp_path.iterdir())


def test_inspect_shows_the_profile() -> None:
    """Tables and JSON are of the simulated machine and say so."""
    line = [sys.executable, "-m", "preflight", "inspect", "--simulate", "8xH100:nvlink-down-3"]
    text = subprocess.run(line, capture_output=True, text=True, timeout=60)
    assert text.returncode == 0
    assert "SIMULATED 8xH100:nvlink-down-3" in text.stdout
    assert "17" in text.stdout and "NV18" in text.stdout
    as_json = subprocess.run([*line, "--json"], capture_output=True, text=True, timeout=60)
    assert json.loads(as_json.stdout)["simulated"] == "8xH100:nvlink-down-3"
