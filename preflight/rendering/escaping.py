"""Making the record's strings safe to show: terminals, XML, scripts, narrow columns."""

from __future__ import annotations

import re
import unicodedata

ELLIPSIS = "…"

_UNSAFE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # C0 (tab, newline and return apart), DEL, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks and overrides of writing direction
    "\u200b\u2060\ufeff\ufff9-\ufffb\ufffe\uffff\U000e0000-\U000e007f"  # invisible, no character
    "\u2028\u2029"  # line separators that some readers split at
    "\ud800-\udfff]"  # lone surrogates: no encoding takes them
)
_BREAKS = re.compile("[\t\n\r]")
_XML_INVALID = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def visible(text: str) -> str:
    r"""Text whose characters that hide, reorder or command show as escapes: ``\x1b``, ``\u202e``.

    Newlines and tabs stay; a carriage return before a newline goes, any other one is shown.
    """
    return _UNSAFE.sub(_escape, text.replace("\r\n", "\n")).replace("\r", "\\r")


def one_line(text: str) -> str:
    r"""As :func:`visible`, on one line: tabs and newlines show as ``\t`` and ``\n``."""
    return _BREAKS.sub(_escape, _UNSAFE.sub(_escape, text.strip()))


def _escape(match: re.Match[str]) -> str:
    """Python's own escape of one character."""
    character = match.group()
    code = ord(character)
    short = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}.get(character)
    return short or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def columns(text: str) -> int:
    """Terminal columns that a line takes: wide characters two, combining ones none."""
    return len(text) if text.isascii() else sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def clip(text: str, width: int) -> str:
    """One safe line of at most ``width`` terminal columns, cut with an ellipsis."""
    line = one_line(text[: 8 * width + 64])
    if columns(line) <= width and len(text) <= 8 * width + 64:
        return line
    taken = 0
    for index, character in enumerate(line):
        taken += _columns_of(character)
        if taken > width - 1:
            return line[:index].rstrip() + ELLIPSIS
    return line + ELLIPSIS


def shorten(text: str, limit: int) -> str:
    """Text of at most ``limit`` characters; what goes is counted at the end."""
    if len(text) <= limit:
        return text
    return f"{text[:limit].rstrip()}{ELLIPSIS} ({len(text) - limit} more characters in the record)"


def last_part(text: str, limit: int) -> str:
    """The end of a text, where a traceback names its error; what goes is counted at the start."""
    if len(text) <= limit:
        return text
    return f"{ELLIPSIS} ({len(text) - limit} earlier characters in the record)\n{text[-limit:]}"


def xml_text(text: str) -> str:
    """Text of characters that XML 1.0 allows, the others as visible escapes; markup not escaped."""
    return _XML_INVALID.sub(_escape, visible(text))


def json_in_script(json: str) -> str:
    r"""JSON that no HTML parser reads as markup: ``<``, ``>``, ``&`` and two separators as \u."""
    for character in "<>&\u2028\u2029":
        json = json.replace(character, f"\\u{ord(character):04x}")
    return json
