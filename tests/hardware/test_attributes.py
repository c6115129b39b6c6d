"""Single attributes of sysfs: a value, or the reason why there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.facts import Absence
from preflight.hardware.attributes import number, scaled, whole, word
from preflight.hardware.files import Files


def written(root: Path, content: bytes) -> Files:
    """A root with the file ``/it``."""
    (root / "it").write_bytes(content)
    return Files(root)


def reason(fact: object) -> str:
    """The reason of an absence; empty for a value."""
    return fact.reason if isinstance(fact, Absence) else ""


@pytest.mark.parametrize(
    ("content", "fact"), [(b"SPX\n", "SPX"), (b" AMD Instinct MI300X \n", "AMD Instinct MI300X")]
)
def test_a_word(tmp_path: Path, content: bytes, fact: str) -> None:
    """Blanks and the end of the line are no part of it."""
    assert word(written(tmp_path, content), "/it") == fact


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "not found"),
        (b"\n", "not found"),
        (b"\xff\xfe", "not readable"),
        (b"SP\0X", "not readable"),
        (b"SPX\nCPX", "not readable"),
        (b"XPS", "not readable"),
    ],
)
def test_no_word(tmp_path: Path, content: bytes, why: str) -> None:
    """Empty is not there; bytes, several lines and what does not match are not readable."""
    assert reason(word(written(tmp_path, content), "/it", "SPX|CPX")) == why


@pytest.mark.parametrize(("content", "fact"), [(b"16\n", 16), (b"-1\n", -1), (b"0x10\n", 16)])
def test_a_whole_number(tmp_path: Path, content: bytes, fact: int) -> None:
    """Decimal and hexadecimal numbers, signed where no bound is given."""
    assert whole(written(tmp_path, content), "/it") == fact


@pytest.mark.parametrize("content", [b"-1", b"zz", b"9" * 30, b"9" * 9000, b"\xff"])
def test_no_whole_number(tmp_path: Path, content: bytes) -> None:
    """Below its bound, past 64 bits or no number at all: not readable, and never 0."""
    assert reason(whole(written(tmp_path, content), "/it", least=0)) == "not readable"


def test_a_missing_file(tmp_path: Path) -> None:
    """A file that is not there is not found, whatever is asked of it."""
    files = Files(tmp_path)
    assert {reason(ask(files, "/it")) for ask in (word, whole)} == {"not found"}
    assert reason(scaled(files, "/it", 1000)) == "not found"


def test_another_unit(tmp_path: Path) -> None:
    """42500 millidegrees are 42.5 degrees; a number that no float holds is not readable."""
    assert scaled(written(tmp_path, b"42500\n"), "/it", 1000) == 42.5
    assert reason(scaled(written(tmp_path, b"9" * 400), "/it", 1000)) == "not readable"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", None),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
        ("", None),
        ("9" * 9000, None),
    ],
)
def test_a_number_in_a_text(text: str, value: int | None) -> None:
    """Only the digits of a number without a sign count, up to 64 bits."""
    assert number(text) == value
