"""A file of which only the slices that are asked for are read.

Not a mapped file: one that shrinks while it is read, or whose disk fails, would end the process.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BLOCK = 256
"""Least that is read at once: a fat binary's header and the first entry's together."""


class FileBytes:
    """Part of an open file as bytes; a slice raises OSError where the file cannot be read."""

    def __init__(self, descriptor: int, offset: int, num_bytes: int) -> None:
        self._descriptor = descriptor
        self._offset = offset
        self._num_bytes = num_bytes
        self._at = 0
        self._block = b""

    def __len__(self) -> int:
        return self._num_bytes

    def __getitem__(self, place: slice, /) -> bytes:
        start, stop, _ = place.indices(self._num_bytes)
        size = stop - start
        if size <= 0:
            return b""
        inside = start - self._at
        if not 0 <= inside <= len(self._block) - size:
            self._fill(start, max(size, min(BLOCK, self._num_bytes - start)))
            inside = 0
        return self._block[inside : inside + size]

    def _fill(self, start: int, size: int) -> None:
        block = os.pread(self._descriptor, size, self._offset + start)
        while len(block) < size:  # a signal, or more than one call can read
            more = os.pread(self._descriptor, size - len(block), self._offset + start + len(block))
            if not more:
                raise OSError(errno.EIO, "the file became shorter while it was read")
            block += more
        self._at, self._block = start, block


@contextmanager
def open_bytes(path: Path) -> Iterator[FileBytes]:
    """A regular file; raises OSError for what is none, and never blocks on a pipe or device."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        state = os.fstat(descriptor)
        if stat.S_ISDIR(state.st_mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if not stat.S_ISREG(state.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        yield FileBytes(descriptor, 0, state.st_size)
    finally:
        os.close(descriptor)
