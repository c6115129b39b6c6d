"""Finds the record in what a person gives: a record, a run's folder, or what a kill left of one."""

from __future__ import annotations

from pathlib import Path

from preflight.engine import rebuild
from preflight.errors import RecordError
from preflight.harness.journal import FILE_NAME, Journal
from preflight.harness.sweep import survivors
from preflight.outputs import RECORD, write_outputs
from preflight.records import Record, Word, decode_record
from preflight.verdict import judge

_GOOD: frozenset[Word] = frozenset(("READY", "READY_WITH_WARNINGS", "REHEARSED"))


def read_source(path: Path) -> tuple[Record, str]:
    """The record at ``path`` and a note for the person, empty where there is nothing to say.

    The folder of a run that was killed gets its record and reports. Raises RecordError.
    """
    if path.is_dir():
        if (path / RECORD).exists():
            return _read(path / RECORD), ""
        if (path / FILE_NAME).exists():
            return _rebuilt(path.resolve())
    if not path.is_file():
        raise RecordError(
            "neither a record nor the folder of a run",
            where=str(path),
            mend="give the record.json of a preflight run, or its folder",
        )
    return _read(path), ""


def _read(path: Path) -> Record:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise RecordError(
            f"cannot be read: {error.strerror}", where=str(path), mend="check its permissions"
        ) from error
    record = decode_record(data, where=str(path))
    _check_verdict(record, path)
    return record


def _check_verdict(record: Record, path: Path) -> None:
    """Raises RecordError where a record calls good what its checks do not.

    A worse word than that of the checks stands: the plan's floors, which no record holds, may ask
    for more.
    """
    stored, found = record.verdict.word, judge(record.run, record.checks).word
    ready_unseen = stored.startswith("READY") and found == "REHEARSED"
    if ready_unseen or (stored in _GOOD and found not in _GOOD):
        raise RecordError(
            f"its verdict says {stored}, but its checks give {found}: the record was altered",
            where=str(path),
            mend="take the record.json that the run wrote, or run again",
        )


def _rebuilt(folder: Path) -> tuple[Record, str]:
    running = survivors(folder)
    if running or Journal(folder).is_held():
        process = f" (process {running[0]})" if running else ""
        raise RecordError(
            f"this run is still going on{process}",
            where=str(folder),
            mend="wait for its end, or end it",
        )
    record = rebuild(folder)
    write_outputs(record, folder)
    return record, f"this run was killed; its record was made from the journal in {folder}"
