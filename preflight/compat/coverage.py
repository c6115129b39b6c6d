"""Which GPU executes the device code of a library or a package: pure judgement.

The CUDA runtime looks for a kernel in the fat binary of its own translation unit alone, so a
library is fine on a GPU only where each of its fat binaries has code for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import msgspec

from preflight.compat.architectures import runs_on
from preflight.compat.device_code import DeviceLibrary
from preflight.compat.ptx import compiles

Word = Literal["yes", "partly", "no", "none"]
"""``none``: there is no device code, so nothing speaks against the GPU, and nothing for it."""


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """How much of a library runs on one GPU."""

    word: Word
    num_fatbins: int = 0
    num_running: int = 0
    """Fat binaries with code that the GPU executes."""
    num_through_ptx: int = 0
    """Of these, how many only through PTX, which the driver must compile first."""


def cover(library: DeviceLibrary, architecture: str, driver: str | None = None) -> Coverage:
    """How much of a library a GPU executes.

    Without a driver's version its PTX counts as compiled. A library that could not be read to its
    end is at best ``partly`` fine.
    """
    if library.kind == "none":
        return Coverage(word="none")
    has_jit = driver is None or compiles(driver, library.isas)
    running = through_ptx = 0
    for targets, count in library.fatbins.items():
        if runs_on([t for t in targets if not t.startswith("compute_")], architecture):
            running += count
        elif has_jit and runs_on(targets, architecture):
            running += count
            through_ptx += count
    total = library.num_fatbins
    return Coverage(
        word=_word(running, total, is_whole=not library.trouble and not library.is_unlinked),
        num_fatbins=total,
        num_running=running,
        num_through_ptx=through_ptx,
    )


def _word(running: int, total: int, *, is_whole: bool) -> Word:
    if not running and total:
        return "no"
    return "yes" if running == total and is_whole else "partly"


def combined(words: Iterable[Word]) -> Word:
    """The word for several libraries that are all used; those without device code do not count."""
    found = set(words) - {"none"}
    if not found:
        return "none"
    return found.pop() if len(found) == 1 else "partly"


def best(words: Iterable[Word]) -> Word:
    """The word for several libraries of which one is used."""
    found = list(words)
    order: tuple[Word, ...] = ("yes", "partly", "no")
    return next((word for word in order if word in found), "none")
