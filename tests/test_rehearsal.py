"""The whole path on the CPU, as the README's first command runs it."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import jsonschema
import pytest

from preflight.harness.sweep import survivors
from preflight.records import STATUSES, decode_record
from preflight.schemas import record_schema
from preflight.stages import STAGE_NAMES

ROOT = Path(__file__).parents[1]
ORDER = "ORD-1042/../a <b>"

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a quick rehearsal with two ranks under the example plan."""
    out = tmp_path_factory.mktemp("rehearsal") / "out"
    plan = out.with_name("plan.toml")
    plan.write_text((ROOT / "examples" / "plan-2xb200.toml").read_text())
    command = [
        *(sys.executable, "-m", "preflight", "run", "--device", "cpu", "--gpus", "2"),
        *("--level", "quick", "--deadline", "10m", "--order", ORDER),
        *("--plan", str(plan), "--out", str(out)),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=700, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder,) = out.glob("*/*")
    return folder


def test_the_folder_holds_every_output(run_folder: Path) -> None:
    """A run leaves the files that README.md names, and nothing of its own making besides."""
    assert {path.name for path in run_folder.iterdir()} == {
        "record.json",
        "report.html",
        "junit.xml",
        "ctrf.json",
        "summary.md",
        "constraints.txt",
        "journal.jsonl",
        "run.log",
    }


def test_nothing_leaves_the_output_folder(run_folder: Path) -> None:
    """An order reference with slashes and dots stays one folder below --out."""
    assert run_folder.parent.parent.name == "out"
    assert run_folder.parent.name.startswith("ord-1042-a-b-")


def test_the_record_is_valid_and_rehearsed(run_folder: Path) -> None:
    """record.json validates against the schema, and every check of the path has a status."""
    data = (run_folder / "record.json").read_bytes()
    jsonschema.validate(json.loads(data), record_schema())
    record = decode_record(data, where="record.json")
    assert record.verdict.word == "REHEARSED"
    assert record.order.reference == ORDER
    assert all(check.status in STATUSES for check in record.checks)
    assert {check.stage for check in record.checks} == set(STAGE_NAMES) - {"soak"}
    assert not [check.id for check in record.checks if check.status in ("fail", "error")]


def test_every_skip_has_its_reason(run_folder: Path) -> None:
    """Nothing is skipped in silence."""
    record = decode_record((run_folder / "record.json").read_bytes(), where="record.json")
    assert all(check.reason for check in record.checks if check.status == "skip")


def test_what_a_card_alone_can_show_is_skipped(run_folder: Path) -> None:
    """A rehearsal passes nothing about cards."""
    record = decode_record((run_folder / "record.json").read_bytes(), where="record.json")
    for check in record.checks:
        if check.stage in ("order", "driver", "arch"):
            assert (check.status, check.reason) == ("skip", "a rehearsal has no cards")


def test_junit_counts_every_check(run_folder: Path) -> None:
    """A JUnit reader sees as many cases as the record has checks."""
    record = decode_record((run_folder / "record.json").read_bytes(), where="record.json")
    cases = ElementTree.parse(run_folder / "junit.xml").getroot().iter("testcase")
    assert len(list(cases)) == len(record.checks)


def test_pip_accepts_the_constraints(run_folder: Path) -> None:
    """constraints.txt can be given to pip."""
    text = (run_folder / "constraints.txt").read_text()
    assert "torch==" in text
    # The index of local torch builds is left out: nothing is looked up there, and it may be far.
    offline = "\n".join(x for x in text.splitlines() if not x.startswith("--extra-index-url"))
    (run_folder.parent / "offline.txt").write_text(offline)
    pip = [sys.executable, "-m", "pip", "install", "--dry-run", "-q", "--no-deps"]
    done = subprocess.run(
        [*pip, "-c", str(run_folder.parent / "offline.txt"), "packaging"],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr


def test_no_process_is_left(run_folder: Path) -> None:
    """No process of the run outlives it."""
    assert survivors(run_folder) == ()


def test_the_disk_of_the_checkpoints_is_as_it_was(run_folder: Path) -> None:
    """The plan's checkpoint path, which does not exist, is not littered, nor the folder above."""
    names = {path.name for path in run_folder.parents[2].iterdir()}
    assert names == {"out", "plan.toml"}
