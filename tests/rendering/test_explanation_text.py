"""What ``preflight explain`` prints."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from preflight.explanation import explain_stream
from preflight.rendering.escaping import columns
from preflight.rendering.explanation_text import explanation_lines
from preflight.rendering.text import plain

CASES = Path(__file__).parents[1] / "data" / "cases"


def printed(text: str, width: int = 100) -> str:
    """The answer to a text, as lines of at most ``width`` columns."""
    found = explain_stream(io.BytesIO(text.encode()))
    pasted = found.pasted
    lines = explanation_lines(found.stages, found.cause, pasted.quotes, pasted.facts, width=width)
    return plain(lines)


@pytest.mark.parametrize("width", [60, 100, 160])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """For every dump, whatever it holds."""
    for file in sorted(CASES.glob("*.txt")):
        shown = printed(file.read_text(encoding="utf-8"), width)
        assert max(map(columns, shown.splitlines())) <= width, file.name


def test_every_stage_stands_once() -> None:
    """Told, behind a failure, or unknown with the command that decides."""
    shown = printed("RuntimeError: CUDA error: no kernel image is available\n")
    assert "  kernel      fail" in shown
    assert "not reached: kernel comes first: forward, backward" in shown
    assert "  system      unknown  cannot tell from this text; what can: preflight run" in shown


def test_the_end_says_how_much_is_known() -> None:
    """A cause, likely trouble, nothing wrong, or nothing at all."""
    healthy = next(CASES.glob("130-*.txt")).read_text(encoding="utf-8")
    ends = {
        "uncorrectable ECC error encountered": "first cause: system",
        '[0] NCCL WARN Missing "iommu=pt" from kernel command line': "likely trouble: system",
        healthy: "nothing in the text is wrong; it proves order, driver, arch and no more",
        "Good morning.": "nothing can be told from this text",
    }
    for text, end in ends.items():
        assert end in printed(text)
