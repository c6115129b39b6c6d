"""Where progress and summary are printed."""

from __future__ import annotations

from typing import NoReturn

from rich.console import Console


class Terminal(Console):
    """A console that leaves it to its user what the end of a pipe means.

    rich ends the whole program with exit code 1, which is NOT READY here.
    """

    def on_broken_pipe(self) -> NoReturn:
        """Called by rich when what it writes to has ended."""
        raise BrokenPipeError("what reads the output has ended")


def open_terminal(*, errors: bool) -> Terminal:
    """The terminal at standard error, or at standard output."""
    return Terminal(stderr=errors, highlight=False)
