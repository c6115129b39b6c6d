"""Bytes to lines: encodings, wrapping, and input that is hostile."""

from __future__ import annotations

import gzip
import io
import os
import tracemalloc

import pytest

from preflight.compat.dumps.text import CHUNK_BYTES, LONGEST_LINE, Line, Source, unwrap


def lines_of(data: bytes) -> tuple[list[Line], Source]:
    """Every line of some bytes, and the source that read them."""
    source = Source(io.BytesIO(data))
    return [line for block in source.blocks() for line in block], source


class Endless(io.RawIOBase):
    """So many bytes of one pattern, made while they are read."""

    def __init__(self, pattern: bytes, size: int) -> None:
        super().__init__()
        self._pattern, self._left = pattern, size

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int = -1) -> bytes:
        """The next ``size`` bytes of the pattern."""
        taken = min(size, self._left)
        self._left -= taken
        return (self._pattern * (taken // len(self._pattern) + 1))[:taken]


def test_lines_are_numbered_as_an_editor_does() -> None:
    """From 1, empty ones counted and left out, the last one without an end too."""
    found, source = lines_of(b"first\n\n  third")
    assert found == [Line(1, "first"), Line(3, "third")]
    assert source.num_bytes == 14


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("> > quoted", "quoted"),
        (">quoted", "quoted"),
        ("[rank12]: words", "words"),
        ("[rank0]: > OS: Linux", "OS: Linux"),
        ("(EngineCore_0 pid=77) words", "words"),
        ("[   12.345678] NVRM: Xid", "NVRM: Xid"),
        ("2025-01-01T10:00:00.1Z stderr F words", "words"),
        ("trainer-0  | words", "words"),
        ("3: words", "words"),
        ('{"log": "words', "words"),
        ("[pip3] torch==2.7.0", "[pip3] torch==2.7.0"),
        ("| NVIDIA-SMI 570", "| NVIDIA-SMI 570"),
        ("- 7.5 which supports", "- 7.5 which supports"),
        ("(8.0) - (12.0)", "(8.0) - (12.0)"),
    ],
)
def test_what_stands_before_a_line_is_taken_off(line: str, text: str) -> None:
    """Quotes and the prefixes of launchers go; what belongs to a tool stays."""
    assert unwrap(line) == text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
def test_an_encoding_is_recognised(encoding: str) -> None:
    """By its mark, or by where its NUL bytes stand."""
    text = "PyTorch version: 2.7.0+cu126\nOS: Ubuntu 22.04 (x86_64)\n"
    found, _ = lines_of(text.encode(encoding))
    assert [line.text for line in found] == text.splitlines()


def test_codes_and_controls_go() -> None:
    """Colours, titles of windows, bells and NUL bytes leave no trace."""
    found, _ = lines_of(b"\x1b[31mred\x1b[0m \x1b]0;title\x07words\x00\x08\n")
    assert found == [Line(1, "red words")]


def test_bytes_of_no_encoding_are_replaced() -> None:
    """A byte that is no UTF-8 does not end the reading."""
    found, _ = lines_of(b"caf\xe9 CUDA\nnext\n")
    assert [line.number for line in found] == [1, 2] and "CUDA" in found[0].text


def test_a_line_of_50_MB_is_read_in_pieces() -> None:
    """Its pieces share its number, none is lost, and none is longer than the bound."""
    source = Source(Endless(b"CUDA error ", 50_000_000))  # type: ignore[arg-type]
    total = 0
    for block in source.blocks():
        for line in block:
            assert line.number == 1 and len(line.text) <= LONGEST_LINE
            total += len(line.text)
    assert total > 0.99 * 50_000_000


@pytest.mark.long
@pytest.mark.parametrize("pattern", [b"host:1:1 [0] NCCL INFO words\n", b"x", b"\x00", b" ", b"\r"])
def test_memory_does_not_grow_with_the_input(pattern: bytes) -> None:
    """8 MB are read in the memory of a few blocks."""
    tracemalloc.start()
    source = Source(Endless(pattern, 8_000_000))  # type: ignore[arg-type]
    for _ in source.blocks():
        pass
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 26 * CHUNK_BYTES


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (gzip.compress(b"text", mtime=0), "gzip"),
        (b"PK\x03\x04rest", "zip"),
        (b"\x7fELF\x02", "an ELF program"),
        (b"\x00" * 5000, "binary"),
        (os.urandom(20000), "binary"),
        (b"plain text\n" * 100, ""),
        ("Grüße aus München, κόσμε\n".encode() * 100, ""),
    ],
)
def test_what_is_no_text_is_named(data: bytes, kind: str) -> None:
    """Archives and programs by their first bytes, anything else by what it is made of."""
    assert lines_of(data)[1].not_text == kind


def test_a_log_in_json_is_taken_apart() -> None:
    """A line that holds escaped line ends is read as the lines that it was."""
    found, _ = lines_of(rb'{"msg": "one\ntwo\nthree"}')
    assert [line.text for line in found] == ["one", "two", 'three"}']
    assert {line.number for line in found} == {1}


def test_a_path_of_windows_is_not_taken_apart() -> None:
    r"""``C:\new`` holds no line end."""
    found, _ = lines_of(b"cuDNN version: C:\\new\\bin\\cudnn64_7.dll\n")
    assert len(found) == 1
