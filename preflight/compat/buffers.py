"""Bytes that are read piece by piece: all that the readers of files ask of what they read."""

from __future__ import annotations

from typing import Protocol

PAGE = 4096


class Buffer(Protocol):
    """Bytes, or a file of which only the slices that are asked for are read."""

    def __len__(self) -> int:
        """Bytes in all."""

    def __getitem__(self, place: slice, /) -> bytes:
        """A slice, shorter at the end as slices of bytes are."""


def skip_zeros(data: Buffer, at: int, end: int, *, most: int) -> int | None:
    """Where the first byte from ``at`` on is that is not zero; ``end`` where there is none.

    None after ``most`` zeros with more to come: nobody pads as much, and a file of zeros is not to
    be read to its end.
    """
    start = at
    while at < end:
        block = data[at : min(end, at + PAGE)]
        rest = block.lstrip(b"\0")
        if rest:
            return at + len(block) - len(rest)
        at += len(block)
        if at - start > most and at < end:
            return None
    return end
