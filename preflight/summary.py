"""Prints the summary at the end of a run, in colours where the terminal has them."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console
from rich.text import Text

from preflight.progress import STYLES
from preflight.records import Record
from preflight.rendering.text import NARROWEST, WIDTH, Line, summary

_STYLES: dict[str, str] = {
    **{str(status): style for status, style in STYLES.items()},
    "good": "bold green",
    "bad": "bold red",
    "caution": "bold yellow",
    "unknown": "bold cyan",
    "strong": "bold",
    "dim": "dim",
}


def print_summary(record: Record, report: str, console: Console, trouble: str = "") -> None:
    """One screen: stages, verdict, first problem with its action, where the report lies.

    Lines are as wide as the terminal, from 60 to 100 columns; in a file or pipe they have 100.
    ``trouble`` says what kept outputs from being written, and ``report`` is empty without one.
    """
    width = min(max(console.width, NARROWEST), WIDTH) if console.is_terminal else WIDTH
    print_lines(summary(record, report=report, trouble=trouble, width=width), console)


def print_lines(lines: Iterable[Line], console: Console) -> None:
    """Lines in the colours of their pieces, each as long as it is."""
    for line in lines:
        console.print(_styled(line), soft_wrap=True)


def _styled(line: Line) -> Text:
    text = Text()
    for piece in line:
        text.append(piece.text, style=_STYLES.get(piece.style, ""))
    return text
