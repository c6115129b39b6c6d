"""The summary that a run prints at its end."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import pytest
from rendering import extremes, sample
from rich.console import Console

from preflight.records import Record
from preflight.rendering.escaping import columns
from preflight.rendering.text import plain, summary
from preflight.summary import print_summary

RECORDS = [sample.passing, sample.failing, sample.rehearsal, sample.nothing_found, extremes.hostile]


def printed(record: Record, *, colours: bool, width: int = 100, **more: str) -> str:
    """The summary of a record as it goes to a terminal or a file."""
    screen = Console(
        file=io.StringIO(),
        force_terminal=colours,
        color_system="standard" if colours else None,
        width=width,
        highlight=False,
        legacy_windows=False,
        _environ={},
    )
    print_summary(record, "out/report.html", screen, **more)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


@pytest.mark.parametrize("make", RECORDS, ids=lambda make: make.__name__)
def test_without_colours_it_is_the_text_report(make: Callable[[], Record]) -> None:
    """A file or pipe gets the very text, whatever its width, without one escape."""
    record = make()
    text = plain(summary(record, report="out/report.html"))
    assert printed(record, colours=False, width=40).strip() == text.strip()


@pytest.mark.parametrize(("terminal", "width"), [(40, 60), (60, 60), (73, 73), (240, 100)])
@pytest.mark.parametrize("make", RECORDS, ids=lambda make: make.__name__)
def test_it_is_as_wide_as_the_terminal(
    make: Callable[[], Record], terminal: int, width: int
) -> None:
    """Lines have the terminal's width, but no less than 60 columns and no more than 100."""
    bare = re.sub(r"\x1b\[[0-9;]*m", "", printed(make(), colours=True, width=terminal))
    assert bare.strip() == plain(summary(make(), report="out/report.html", width=width)).strip()
    assert max(map(columns, bare.splitlines())) <= width


@pytest.mark.parametrize("make", RECORDS, ids=lambda make: make.__name__)
def test_colours_change_no_letter(make: Callable[[], Record]) -> None:
    """With the colours taken away, a terminal shows the same."""
    record = make()
    bare = re.sub(r"\x1b\[[0-9;]*m", "", printed(record, colours=True))
    assert bare == printed(record, colours=False)
    assert "\x1b" not in bare


@pytest.mark.parametrize(
    ("make", "start"),
    [
        (sample.passing, "\x1b[1;32mREADY"),
        (sample.failing, "\x1b[1;31mNOT READY"),
        (sample.rehearsal, "\x1b[1;36mREHEARSED"),
    ],
    ids=["ready", "not ready", "rehearsed"],
)
def test_the_verdict_has_its_colour(make: Callable[[], Record], start: str) -> None:
    """Green, red and cyan tell the verdicts apart at a glance."""
    assert start in printed(make(), colours=True)


def test_it_says_what_kept_outputs_from_being_written() -> None:
    """The trouble that the command gives stands in it; without one there is no such line."""
    assert "  trouble   disk full" in printed(sample.failing(), colours=False, trouble="disk full")
    assert "  trouble" not in printed(sample.failing(), colours=False)


def test_it_says_where_the_report_lies() -> None:
    """The path of the report stands in it."""
    assert "out/report.html" in printed(sample.failing(), colours=False)
