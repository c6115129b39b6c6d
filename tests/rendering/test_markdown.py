from __future__ import annotations

import re

import pytest

from preflight.rendering import markdown

from . import extremes, gold, machines, odd_machines, sample
from .test_protocol import RECORDS


@pytest.mark.parametrize("name", ["passing", "failing", "rehearsal", "nothing"])
def test_the_summary_is_as_frozen(name: str) -> None:
    """The page for CI changes only on purpose."""
    gold.check(f"{name}.summary.md", markdown.render(RECORDS[name]()))


def test_no_html_of_the_record_is_left() -> None:
    """Outside code blocks the only tag is our own <sub>."""
    outside = re.sub(r"(?s)(`{3,})text\n.*?\n\1\n", "", markdown.render(extremes.hostile()))
    assert set(re.findall(r"<[^>]*>", outside)) == {"<sub>", "</sub>"}


def test_a_table_row_stays_one_row() -> None:
    """Pipes and newlines of the record add no cell and no line to a table."""
    record = sample.record((sample.check("kernel.first", reason="a|b\nc | d `|`"),))
    row = next(line for line in markdown.render(record).splitlines() if "kernel" in line)
    assert len(re.findall(r"(?<!\\)\|", row)) == 5


def test_a_fence_is_longer_than_what_it_holds() -> None:
    """Backticks in the evidence do not end the code block."""
    block = markdown.fenced("before\n`````\n<script>").splitlines()
    assert block[0] == "``````text" and block[-1] == "``````"


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("# title", "\\# title"),
        ("- item", "\\- item"),
        ("1. item", "1\\. item"),
        ("580.95 stays", "580.95 stays"),
        ("a_b *c* [d](e)", "a\\_b \\*c\\* \\[d\\](e)"),
        ("<b> & `x`", "&lt;b&gt; &amp; \\`x\\`"),
    ],
)
def test_text_shows_just_its_characters(text: str, escaped: str) -> None:
    """Markup in a record is shown, and ordinary text stays readable in the source."""
    assert markdown.escaped(text) == escaped


def test_commands_in_an_action_are_code() -> None:
    """Single backticks that a check writes make code; an odd one is shown."""
    assert markdown.prose("run `a_b` now") == "run `a_b` now"
    assert markdown.prose("run `a_b now") == "run \\`a\\_b now"


def test_the_machine_stands_among_the_facts() -> None:
    """Driver, links and topology have a line each; a record without machines has none of them."""
    text = markdown.render(machines.record_of(machines.eight_mi300x()))
    assert "| Driver | 6.12.12, ROCm 6.4.1 |" in text
    assert "| Links | 7 × XGMI at 64 GB/s a direction, on each card |" in text
    assert "| Topology | XGMI between all cards |" in text
    assert "| Driver |" not in markdown.render(sample.passing())


def test_a_machine_adds_no_markup() -> None:
    """Strings of the machine show just their characters, in a table that stays one."""
    text = markdown.render(machines.record_of(odd_machines.hostile(extremes.ALL)))
    outside = re.sub(r"(?s)(`{3,})text\n.*?\n\1\n", "", text)
    assert set(re.findall(r"<[^>]*>", outside)) == {"<sub>", "</sub>"}
    rows = [line for line in text.splitlines() if line.startswith("| Driver |")]
    assert [len(re.findall(r"(?<!\\)\|", row)) for row in rows] == [3]
