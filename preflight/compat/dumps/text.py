"""Bytes that somebody pasted, as numbered lines without their wrapping; memory stays bounded.

A paste can be UTF-16 (PowerShell's ``>``), hold NUL bytes, ANSI codes, quotation marks of mail or
Markdown, prefixes of launchers and log daemons, and lines of any length.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Generator, Iterator
from typing import BinaryIO, NamedTuple

CHUNK_BYTES = 1 << 18
"""Read at once; the memory of a reading is a small multiple of it."""
LONGEST_LINE = 8192
"""Characters; a longer line is read in pieces of this size that share its number."""

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]{0,4096}(?:\x07|\x1b\\)?|[@-Z\\-_])")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f\ufeff]")
_QUOTE = re.compile(r"\s*(?:>\s?)+")
_ESCAPED_BREAK = re.compile(r"\\r?\\n|\\n")
_PREFIX = re.compile(
    r"(?:\[(?:rank|default)\d+\]:?\s"  # torchrun
    r"|\(\w[\w.-]{0,60} (?:pid|rank)=\d+[^)\n]{0,60}\)\s"  # Ray, vLLM
    r"|\d+: (?=\S)"  # srun --label
    r"|[\w.-]{1,60} +\| "  # docker compose
    r"|\{?\"\w{1,40}\": ?\""  # a value in JSON
    r"|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S{0,14}\s(?:(?:stdout|stderr) [FP] )?"  # date; Kubernetes
    r"|\[ *\d+\.\d+\]\s"  # dmesg
    r")"
)
_MAY_HAVE_PREFIX = re.compile(r"[\[({\"0-9]|[\w.-]{1,60} +\| ")
_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"PK\x03\x04": "zip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
    b"\x7fELF": "an ELF program",
    b"\x89PNG": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"%PDF": "a PDF",
}
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


class Line(NamedTuple):
    """One line, or a piece of a long one."""

    number: int
    """From 1, as an editor counts."""
    text: str
    """Without quotation marks, launcher's prefixes, ANSI codes and the blanks around it."""


class Source:
    """The lines of a stream, read once, and what was odd about its bytes."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self.encoding = "utf-8"
        self.num_bytes = 0
        self.num_lines = 0
        self.num_long_lines = 0
        self.not_text = ""
        """What the bytes are instead of text, such as ``gzip``; empty for text."""
        self._odd = 0
        self._characters = 0

    def blocks(self) -> Iterator[list[Line]]:
        """The lines in blocks of about ``CHUNK_BYTES``; never raises on content."""
        head = self._stream.read(CHUNK_BYTES)
        self.not_text = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")
        if self.not_text:
            self.num_bytes = len(head)
            return
        self.encoding = _encoding(head)
        decoder = codecs.getincrementaldecoder(self.encoding)(errors="replace")
        rest, data = "", head
        while data:
            self.num_bytes += len(data)
            rest = yield from self._split(rest + self._clean(decoder.decode(data)))
            data = self._stream.read(CHUNK_BYTES)
        rest += self._clean(decoder.decode(b"", final=True))
        if rest:
            yield list(self._pieces(rest, final=True))
        if self._characters and self._odd > 0.3 * self._characters:
            self.not_text = "binary"

    def _split(self, text: str) -> Generator[list[Line], None, str]:
        """A block of whole lines; returns the rest, never longer than a piece."""
        *whole, rest = text.split("\n")
        block = [piece for line in whole for piece in self._pieces(line, final=True)]
        if len(rest) > LONGEST_LINE:
            keep = len(rest) % LONGEST_LINE
            head, rest = rest[: len(rest) - keep], rest[len(rest) - keep :]
            block += self._pieces(head, final=False)
        if block:
            yield block
        return rest

    def _pieces(self, line: str, *, final: bool) -> Iterator[Line]:
        number = self.num_lines + 1
        if final:
            self.num_lines = number
        if not line:
            return
        if len(line) <= LONGEST_LINE and "\\n" not in line:
            yield Line(number, unwrap(line))
            return
        self.num_long_lines += len(line) > LONGEST_LINE
        for start in range(0, len(line), LONGEST_LINE):
            piece = line[start : start + LONGEST_LINE]
            # A log in JSON holds a whole traceback in one line.
            is_escaped = piece.count("\\n") > 1
            parts = _ESCAPED_BREAK.split(piece.replace("\\t", " ")) if is_escaped else [piece]
            for part in parts:
                yield Line(number, unwrap(part))

    def _clean(self, text: str) -> str:
        """Line ends as ``\\n``, no ANSI codes, no control characters; counts what was odd."""
        self._characters += len(text)
        self._odd += text.count("\ufffd") + text.count("\x00")
        if "\r" in text:
            text = text.replace("\r\n", "\n").replace("\r", "\n" if "\n" not in text else " ")
        if "\x1b" in text:
            text = _ANSI.sub("", text)
        return _CONTROL.sub("", text) if _CONTROL.search(text) else text


def unwrap(line: str) -> str:
    """A line without what mail, Markdown, launchers and log daemons put before it."""
    text = line.strip()
    for _ in range(4):
        if text[:1] == ">":
            text = _QUOTE.sub("", text, count=1).strip()
        if not _MAY_HAVE_PREFIX.match(text):
            break
        found = _PREFIX.match(text)
        if found is None:
            break
        text = text[found.end() :].lstrip()
    return text


def _encoding(head: bytes) -> str:
    """By the mark at its start, else by where its NUL bytes stand."""
    for mark, name in _BOMS:
        if head.startswith(mark):
            return name
    sample = head[:4096]
    half = len(sample) // 2
    if half and sample[1::2].count(0) > 0.4 * half and sample[0::2].count(0) < 0.1 * half:
        return "utf-16-le"
    if half and sample[0::2].count(0) > 0.4 * half and sample[1::2].count(0) < 0.1 * half:
        return "utf-16-be"
    return "utf-8"
