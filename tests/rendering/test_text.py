from __future__ import annotations

import pytest

from preflight.records import Record
from preflight.rendering import escaping, text

from . import extremes, gold, sample
from .test_protocol import RECORDS


@pytest.mark.parametrize("name", ["passing", "failing", "rehearsal", "nothing"])
def test_the_summary_is_as_frozen(name: str) -> None:
    """The summary of the sample records changes only on purpose."""
    gold.check(f"{name}.summary.txt", text.render(RECORDS[name]()))


def every_record() -> list[Record]:
    """All sample records, a rack, and one with more stages than there are."""
    stages = tuple(sample.check(f"stage{i}.x", status="fail", reason="y" * 400) for i in range(30))
    return [*(make() for make in RECORDS.values()), extremes.rack(), sample.record(stages)]


def test_the_summary_fits_a_screen() -> None:
    """24 lines of 100 columns hold any record, also with the line of the report."""
    for record in every_record():
        lines = text.plain(text.summary(record, report="out/report.html")).splitlines()
        assert len(lines) <= text.HEIGHT
        assert max(map(escaping.columns, lines)) <= text.WIDTH


@pytest.mark.parametrize("width", [60, 61, 79, 99])
def test_the_summary_fits_a_narrow_terminal(width: int) -> None:
    """No line is wider than the terminal, whatever the record, and it stays one screen."""
    for record in every_record():
        lines = text.plain(
            text.summary(record, report="out/report.html", trouble="no space " * 50, width=width)
        ).splitlines()
        assert len(lines) <= text.HEIGHT
        assert max(map(escaping.columns, lines)) <= width
        for line in text.stage_lines(record, width=width):
            assert escaping.columns("".join(piece.text for piece in line)) <= width


def test_a_stage_of_absurd_length_keeps_to_its_line() -> None:
    """A time that no run can have takes no more room than others."""
    record = sample.record((sample.check("kernel.x", reason="y" * 400, duration_s=1e60),))
    assert max(map(len, text.render(record).splitlines())) <= text.WIDTH


def because_of(reason: str, evidence: str) -> list[str]:
    """The lines of a summary that give the cause of a failure."""
    check = sample.check("import.torch", status="fail", reason=reason, evidence=evidence)
    lines = text.render(sample.record((check,))).splitlines()
    return [line.removeprefix("  because   ") for line in lines if line.startswith("  because")]


CPP = """RuntimeError: CUDA error: an illegal memory access was encountered
Exception raised from c10_cuda_check_implementation at CUDAException.cpp:43 (most recent call first)
frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x98 (0x7f in libc10.so)
<omitting python frames>
frame #41: __libc_start_main + 0x80 (0x7f in /lib/libc.so.6)
frame #42: _start + 0x25 (0x55 in /usr/bin/python3)
"""


def test_frames_of_a_cpp_stack_are_no_cause() -> None:
    """The message above them is, where the verdict does not say it already."""
    message = CPP.splitlines()[0]
    assert because_of("the probe died (SIGABRT)", CPP) == [message]
    assert because_of("", CPP) == [message]
    assert because_of(message, CPP) == []


@pytest.mark.parametrize(
    ("reason", "evidence"),
    [
        ("ModuleNotFoundError: No module named 'torch' (in import torch)", ""),
        ("ModuleNotFoundError: No module named 'torch'", " (in import torch)"),
        ("ModuleNotFoundError:  No module named 'torch'", ""),
    ],
)
def test_the_cause_is_not_told_twice(reason: str, evidence: str) -> None:
    """A last line that the verdict holds, but for a remark in brackets, is left out."""
    line = f"ModuleNotFoundError: No module named 'torch'{evidence}"
    assert because_of(reason, f"Traceback\n{line}\n") == []


def test_trouble_stands_before_the_report() -> None:
    """What kept outputs from being written is one of the last lines, mends included."""
    trouble = "out/report.html: cannot be written: No space left\n  free space there"
    lines = text.plain(text.summary(sample.passing(), report="out", trouble=trouble)).splitlines()
    assert lines[-2:] == [
        "  trouble   out/report.html: cannot be written: No space left free space there",
        "  report    out",
    ]
    alone = text.plain(text.summary(sample.passing(), trouble=trouble))
    assert "  trouble" in alone and "  report" not in alone


def test_no_control_character_reaches_the_terminal() -> None:
    """Escape sequences, NUL and overrides of direction are shown, not sent."""
    shown = text.render(extremes.hostile())
    assert not [c for c in shown if c != "\n" and (ord(c) < 32 or 0x7F <= ord(c) < 0xA0)]
    assert "\u202e" not in shown and "\u2028" not in shown
    assert "\\x1b[31m" in shown


def test_marks_stand_in_the_order_of_the_devices() -> None:
    """Each device has one sign a stage: passed, warning, failed, skipped, or none."""
    lines = text.render(sample.failing()).splitlines()
    assert next(line for line in lines if " kernel " in line).split()[2] == "...!.x.."
    assert next(line for line in lines if " forward " in line).split()[2] == ".....-.."


def test_many_devices_are_counted() -> None:
    """More than sixteen devices are counted in place of marks."""
    assert "63 of 64" in text.render(extremes.rack())


def test_the_report_path_is_whole() -> None:
    """The path of the report is shown in full, however long, as it is to be copied."""
    path = "/very/" + "long/" * 40 + "report.html"
    assert text.plain(text.summary(sample.passing(), report=path)).rstrip().endswith(path)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        (sample.rehearsal(), "REHEARSAL"),
        (sample.simulated(), "SIMULATED 2xB200, FAULTS INJECTED"),
        (sample.record((), run=sample.run(interrupted="SIGTERM")), "ENDED EARLY"),
    ],
)
def test_the_header_says_what_is_not_ordinary(record: Record, words: str) -> None:
    """A rehearsal, a simulation, an injected fault and an early end stand in the first line."""
    assert words in text.render(record).splitlines()[0]
    assert words in text.plain(text.summary(record, width=text.NARROWEST)).splitlines()[0]


def test_pieces_carry_styles_for_the_command() -> None:
    """The structure names the tone of the verdict and the status of each stage."""
    styles = {piece.style for line in text.summary(sample.failing()) for piece in line}
    assert {"bad", "fail", "warn", "pass", "skip", "dim"} <= styles
