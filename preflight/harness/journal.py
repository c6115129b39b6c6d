"""The journal of a run: one JSON event a line, appended by every process of the run."""

from __future__ import annotations

import contextlib
import fcntl
import os
from pathlib import Path
from typing import BinaryIO

import msgspec

from preflight.errors import OutputError, RecordError
from preflight.events import Event

FILE_NAME = "journal.jsonl"

_START = b'{"type":'
"""How every line begins; within a line it cannot stand again, for strings escape their quotes."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Event)


class Journal:
    """Appends events to ``journal.jsonl`` of a run folder and reads those of all processes.

    Each event is one ``write`` on a file opened for appending, so that lines of several processes
    do not mix; a torn line (power, a full disk) is passed over when reading.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE_NAME
        self._read = 0
        self._held: BinaryIO | None = None

    def append(self, event: Event) -> None:
        """Write one event; raises OutputError when the folder is full or gone."""
        data = _encoder.encode(event) + b"\n"
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            try:
                written = os.write(descriptor, data)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise OutputError(
                f"cannot write the journal: {error.strerror}",
                where=str(self.path),
                mend="free space there, or name another folder with --out",
            ) from error
        if written != len(data):
            raise OutputError(
                "the journal could be written only in part: the disk is full",
                where=str(self.path),
                mend="free space there, or name another folder with --out",
            )

    def hold(self) -> None:
        """Lock the journal as long as this process lives, so that others see that the run goes on.

        Where the file system knows no locks nothing is held.
        """
        with contextlib.suppress(OSError):
            self._held = self.path.open("ab")
            fcntl.flock(self._held, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def release(self) -> None:
        """Let go of the lock."""
        if self._held is not None:
            self._held.close()

    def is_held(self) -> bool:
        """Whether another process holds the journal."""
        with self.path.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            except OSError:
                return False
        return False

    def new_events(self) -> tuple[Event, ...]:
        """Events appended since the last call, by any process."""
        if not self.path.exists():
            return ()
        with self.path.open("rb") as file:
            file.seek(self._read)
            data = file.read()
        complete, newline, _ = data.rpartition(b"\n")
        self._read += len(complete) + len(newline)
        return tuple(_decode(line, self.path) for line in complete.split(b"\n") if line)


def read_journal(folder: Path) -> tuple[Event, ...]:
    """All events of a run folder; raises RecordError for a line that is no event."""
    journal = Journal(folder)
    if not journal.path.exists():
        raise RecordError(
            "there is no journal here",
            where=str(folder),
            mend="give the folder that `preflight run` made",
        )
    return journal.new_events()


def _decode(line: bytes, path: Path) -> Event:
    # What a full disk cut short has no end of line, and the next event stands right behind it.
    whole = line[max(line.rfind(_START), 0) :]
    try:
        return _decoder.decode(whole)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise RecordError(
            f"a line of the journal is not an event of this version: {error}",
            where=str(path),
            mend="rebuild with the preflight that wrote it",
        ) from error
