"""Writes the record and its reports into the folder of a run."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from preflight.errors import OutputError
from preflight.records import Record
from preflight.rendering.protocol import FILES, file_name, renderer

RECORD = FILES["json"]
REPORT = FILES["html"]


def write_outputs(record: Record, folder: Path) -> Path:
    """Write every output of a run; the path of the HTML report.

    The record comes first, so that it is there whatever happens to the reports. Raises OutputError
    when the folder is full or gone; no half-written file stays.
    """
    for form in FILES:
        write_file(folder / file_name(form, record), renderer(form)(record).encode())
    return folder / REPORT


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all; raises OutputError naming it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_bytes(data)
        draft.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise OutputError(
            f"cannot be written: {error.strerror}",
            where=str(path),
            mend="free space there; `preflight report RUN_DIR` makes the reports from the journal",
        ) from error
