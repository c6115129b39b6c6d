"""What a person may give to be read: a record, the folder of a run, or what a kill left of one."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace
from rendering import sample

from preflight.errors import RecordError
from preflight.events import Ended, Inventory, Opened, Options, Planned, PlannedCheck
from preflight.harness.journal import FILE_NAME, Journal
from preflight.outputs import write_outputs
from preflight.reading import read_source
from preflight.records import Node, Record, Word, encode_record

OLD_RECORDS = sorted((Path(__file__).parent / "data" / "records").glob("*.json"))
OPTIONS = Options(
    python=sys.executable,
    level="quick",
    mode="certify",
    accelerator="auto",
    ranks=2,
    seed=7,
    deadline_s=120.0,
    selected=("order",),
    checks_folders=(),
)


def killed_run(folder: Path) -> Path:
    """The folder of a run that was killed after its first check."""
    folder.mkdir()
    row = {"stage": "order", "title": "T", "phase": "host", "nodeid": "n", "deadline_s": 10.0}
    journal = Journal(folder)
    journal.append(Opened(run=sample.run(), order=sample.order(), options=OPTIONS))
    journal.append(Inventory(host=sample.HOST, nodes=(Node(name="node-a"),)))
    journal.append(
        Planned(
            checks=(
                PlannedCheck(id="order.count", **row),  # type: ignore[arg-type]
                PlannedCheck(id="order.product", **row),  # type: ignore[arg-type]
            )
        )
    )
    journal.append(Ended(check=sample.check("order.count")))
    return folder


def test_a_record_is_read(tmp_path: Path) -> None:
    """A file is read as a record, whatever its name, and there is nothing to say about it."""
    path = tmp_path / "mine.txt"
    path.write_bytes(encode_record(sample.passing()))
    assert read_source(path) == (sample.passing(), "")


def test_the_folder_of_a_run_is_read(tmp_path: Path) -> None:
    """For a folder its ``record.json`` is read."""
    write_outputs(sample.failing(), tmp_path)
    assert read_source(tmp_path) == (sample.failing(), "")


@pytest.mark.parametrize("word", ["READY", "READY_WITH_WARNINGS", "REHEARSED"])
@pytest.mark.parametrize("make", [sample.failing, sample.nothing_found])
def test_a_good_word_above_bad_checks_is_refused(
    tmp_path: Path, make: Callable[[], Record], word: Word
) -> None:
    """A record whose checks do not give its verdict is told as altered, with both words."""
    record = make()
    verdict = replace(record.verdict, word=word, exit_code=0, reasons=())
    path = tmp_path / "record.json"
    path.write_bytes(encode_record(replace(record, verdict=verdict)))
    for source in (path, tmp_path):
        with pytest.raises(RecordError, match=f"says {word}, .* give NOT_READY.*altered") as caught:
            read_source(source)
        assert caught.value.exit_code == 2
        assert caught.value.where == str(path)


def test_a_good_word_above_a_run_that_judged_nothing_is_refused(tmp_path: Path) -> None:
    """A failure that was taken out with all else leaves nothing that speaks for a card."""
    record = replace(sample.failing(), checks=(), verdict=sample.passing().verdict)
    (tmp_path / "record.json").write_bytes(encode_record(record))
    with pytest.raises(RecordError, match=r"says READY, .* give INCONCLUSIVE"):
        read_source(tmp_path)


def test_a_rehearsal_is_never_ready(tmp_path: Path) -> None:
    """A record of the CPU whose word was changed to READY is told as altered."""
    record = sample.rehearsal()
    verdict = replace(record.verdict, word="READY", exit_code=0, reasons=())
    (tmp_path / "record.json").write_bytes(encode_record(replace(record, verdict=verdict)))
    with pytest.raises(RecordError, match=r"says READY, .* give REHEARSED.*altered"):
        read_source(tmp_path)


def test_a_worse_word_than_the_checks_give_stands(tmp_path: Path) -> None:
    """A verdict may rest on what the record does not hold, such as a floor never measured."""
    record = sample.passing()
    verdict = replace(record.verdict, word="INCONCLUSIVE", exit_code=3, reasons=("no floor",))
    record = replace(record, verdict=verdict)
    (tmp_path / "record.json").write_bytes(encode_record(record))
    assert read_source(tmp_path) == (record, "")


@pytest.mark.parametrize("path", OLD_RECORDS, ids=lambda path: path.name)
def test_an_old_record_keeps_its_verdict(path: Path) -> None:
    """What an earlier version wrote is not taken for altered."""
    assert read_source(path)[1] == ""


def test_a_killed_run_gets_its_record_and_reports(tmp_path: Path) -> None:
    """From the journal alone the record is made, written, and a note says so."""
    folder = killed_run(tmp_path / "run")
    record, note = read_source(folder)
    assert record.run.interrupted == "killed"
    assert record.verdict.word == "INCONCLUSIVE"
    assert [(c.id, c.status) for c in record.checks] == [
        ("order.count", "pass"),
        ("order.product", "error"),
    ]
    assert "killed" in note and str(folder) in note
    assert {"record.json", "report.html", "junit.xml"} <= {p.name for p in folder.iterdir()}
    assert read_source(folder) == (record, "")


def test_a_killed_run_with_a_torn_last_line(tmp_path: Path) -> None:
    """A line that the kill cut short is passed over."""
    folder = killed_run(tmp_path / "run")
    with (folder / FILE_NAME).open("ab") as file:
        file.write(b'{"type":"ended","check":{"id":"order.pro')
    assert read_source(folder)[0].run.interrupted == "killed"


def test_a_run_that_is_going_on_is_not_rebuilt(tmp_path: Path) -> None:
    """While a process of the run lives its folder is left alone, and the process is named."""
    folder = killed_run(tmp_path / "run")
    command = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"]
    environment = {**os.environ, "PREFLIGHT_RUN": str(folder.resolve())}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(RecordError, match=f"still going on.*{process.pid}"):
            read_source(folder)
        process.communicate()
    assert not (folder / "record.json").exists()
    assert read_source(folder)[1]


@pytest.mark.parametrize("kind", ["gone", "empty folder", "device"])
def test_what_is_neither_is_refused(tmp_path: Path, kind: str) -> None:
    """A path that is nothing of a run ends in exit code 2, with its name and what to give."""
    path = {"gone": tmp_path / "gone", "empty folder": tmp_path, "device": Path("/dev/null")}[kind]
    with pytest.raises(RecordError, match="neither a record nor the folder of a run") as caught:
        read_source(path)
    assert caught.value.exit_code == 2
    assert caught.value.where == str(path)


def test_a_record_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    """A folder where ``record.json`` is itself a folder ends in a message."""
    (tmp_path / "record.json").mkdir()
    with pytest.raises(RecordError, match="cannot be read: Is a directory"):
        read_source(tmp_path)


def test_a_journal_of_another_kind_is_refused(tmp_path: Path) -> None:
    """A journal that this version cannot read is named."""
    (tmp_path / FILE_NAME).write_bytes(b'{"type":"weather"}\n')
    with pytest.raises(RecordError, match=FILE_NAME):
        read_source(tmp_path)


def test_a_path_with_a_null_character_is_refused() -> None:
    """A null byte in the path ends in a message, not in a traceback."""
    with pytest.raises(RecordError):
        read_source(Path("a\0b"))
