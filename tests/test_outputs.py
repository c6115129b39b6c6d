"""The files of a run: each whole or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from rendering import sample

from preflight.errors import OutputError
from preflight.outputs import RECORD, REPORT, write_file, write_outputs
from preflight.records import Record, decode_record

GOOD = {"record.json", "report.html", "junit.xml", "ctrf.json", "summary.md", "constraints.txt"}
BAD = GOOD - {"constraints.txt"} | {"constraints.failed.txt"}


def names(folder: Path) -> set[str]:
    """Names in a folder, hidden ones too."""
    return {path.name for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("make", "expected"),
    [(sample.passing, GOOD), (sample.rehearsal, GOOD), (sample.failing, BAD)],
    ids=["ready", "rehearsed", "not ready"],
)
def test_every_output_is_there(
    tmp_path: Path, make: Callable[[], Record], expected: set[str]
) -> None:
    """All files of the design and no draft; versions that failed are not called constraints.txt."""
    assert write_outputs(make(), tmp_path) == tmp_path / REPORT
    assert names(tmp_path) == expected


def test_the_record_reads_back(tmp_path: Path) -> None:
    """``record.json`` is the record."""
    write_outputs(sample.failing(), tmp_path)
    data = (tmp_path / RECORD).read_bytes()
    assert decode_record(data, where=RECORD) == sample.failing()


def test_outputs_are_written_over_older_ones(tmp_path: Path) -> None:
    """Reports made again replace those that are there."""
    write_outputs(sample.failing(), tmp_path)
    write_outputs(sample.passing(), tmp_path)
    assert json.loads((tmp_path / RECORD).read_bytes())["verdict"]["word"] == "READY"


def test_a_file_is_replaced_whole(tmp_path: Path) -> None:
    """A reader that holds the old file keeps the old text: the new one takes its name at once."""
    path = tmp_path / "report.html"
    write_file(path, b"old")
    with path.open("rb") as held:
        write_file(path, b"new")
        assert held.read() == b"old"
    assert path.read_bytes() == b"new"
    assert names(tmp_path) == {"report.html"}


def test_a_folder_that_is_gone_is_told(tmp_path: Path) -> None:
    """A vanished folder is an output error, exit code 4, that names the file."""
    with pytest.raises(OutputError, match=r"record\.json: cannot be written") as caught:
        write_outputs(sample.passing(), tmp_path / "gone")
    assert caught.value.exit_code == 4
    assert "preflight report" in caught.value.mend


def test_a_folder_in_the_way_is_told_and_leaves_no_draft(tmp_path: Path) -> None:
    """Where the name is taken by a folder nothing is written, not even a draft."""
    (tmp_path / "out.txt").mkdir()
    with pytest.raises(OutputError):
        write_file(tmp_path / "out.txt", b"text")
    assert names(tmp_path) == {"out.txt"}


def test_a_full_disk_leaves_no_half_written_file(tiny_disk: Path) -> None:
    """When room runs out in the middle of a file, that file and its draft are not there."""
    with pytest.raises(OutputError, match="No space left on device"):
        write_file(tiny_disk / "report.html", os.urandom(1024 * 1024))
    assert names(tiny_disk) == set()


def test_a_full_disk_keeps_the_old_file(tiny_disk: Path) -> None:
    """A file that cannot be replaced stays what it was."""
    write_file(tiny_disk / "report.html", b"old")
    with pytest.raises(OutputError):
        write_file(tiny_disk / "report.html", os.urandom(1024 * 1024))
    assert (tiny_disk / "report.html").read_bytes() == b"old"
    assert names(tiny_disk) == {"report.html"}


def test_the_record_is_the_first_to_be_written(tiny_disk: Path) -> None:
    """With room for little more than the record, the record is whole and nothing is half there."""
    filler = tiny_disk / "filler"
    room = 48 * 1024
    filler.write_bytes(b"x" * (os.statvfs(tiny_disk).f_bavail * 4096 - room))
    with pytest.raises(OutputError):
        write_outputs(sample.passing(), tiny_disk)
    assert names(tiny_disk) == {"filler", RECORD}
    decode_record((tiny_disk / RECORD).read_bytes(), where=RECORD)
