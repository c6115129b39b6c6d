"""The folder of a run: where it lies, and that it can be written before anything runs."""

from __future__ import annotations

import re
import shutil
import socket
from datetime import datetime
from pathlib import Path

from preflight.errors import UsageError
from preflight.order_folder import order_folder_name

VARIABLE = "PREFLIGHT_REPORTS"
DEFAULT = "preflight-reports"
_MOST_RUNS_A_SECOND = 1000


def make_run_folder(out: Path, reference: str | None, started: datetime) -> Path:
    """Create ``<out>/<order>/<UTC>-<host>``, with ``-2``, ``-3`` where that is taken.

    Raises UsageError, naming --out, when nothing can be written there.
    """
    host = re.sub(r"[^A-Za-z0-9.-]+", "-", socket.gethostname())[:60].strip(".-") or "host"
    name = f"{started:%Y%m%dT%H%M%SZ}-{host}"
    parent = out.absolute() / order_folder_name(reference)
    try:
        parent.mkdir(parents=True, exist_ok=True)
        folder = _first_free(parent, name)
        _try_writing(folder)
    except OSError as error:
        raise UsageError(
            f"nothing can be written to {error.filename or parent}: {error.strerror}",
            where="--out",
            mend=f"name a writable folder with --out or {VARIABLE}",
        ) from error
    return folder


def _try_writing(folder: Path) -> None:
    """Write and remove a file; where that fails the folder goes again."""
    probe = folder / ".write-test"
    try:
        probe.write_bytes(b"preflight can write here\n")
        probe.unlink()
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def _first_free(parent: Path, name: str) -> Path:
    for number in range(1, _MOST_RUNS_A_SECOND):
        folder = parent / (name if number == 1 else f"{name}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise OSError(17, "too many runs in one second", str(parent / name))
