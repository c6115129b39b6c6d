"""Prints the summary at the end of a run, in colours where the terminal has them."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from preflight.progress import STYLES
from preflight.records import Record
from preflight.rendering.text import Line, summary

_STYLES: dict[str, str] = {
    **{str(status): style for status, style in STYLES.items()},
    "good": "bold green",
    "bad": "bold red",
    "caution": "bold yellow",
    "unknown": "bold cyan",
    "strong": "bold",
    "dim": "dim",
}


def print_summary(record: Record, report: str, console: Console) -> None:
    """One screen: stages, verdict, first problem with its action, where the report lies."""
    for line in summary(record, report=report):
        console.print(_styled(line), soft_wrap=True)


def _styled(line: Line) -> Text:
    text = Text()
    for piece in line:
        text.append(piece.text, style=_STYLES.get(piece.style, ""))
    return text
