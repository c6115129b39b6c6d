"""Line of each key in a TOML text, for messages that say where a mistake stands."""

from __future__ import annotations

import contextlib
import re

KeyPath = tuple[str | int, ...]
"""Keys from the top: ``("order", "gpus")``; an element of an array by its index."""

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY = re.compile(r"[A-Za-z0-9_-]+|\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'")
_DOT = re.compile(r"[ \t]*\.[ \t]*")
_LONG_STRING = re.compile(r'"""(?:[^\\]|\\.)*?"{3,5}|\'\'\'.*?\'{3,5}', re.DOTALL)
_STRING = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'[^'\n]*'")
_PLAIN = re.compile(r"[^,\]}#\n]*")


def key_lines(text: str) -> dict[KeyPath, int]:
    """Line, from 1, on which each key, table and array element first stands.

    ``text`` is TOML that has been parsed; on any other text the result holds what came before the
    first surprise.
    """
    scan = _Scan(text)
    with contextlib.suppress(_SurpriseError, RecursionError):
        scan.document()
    return scan.lines


def show_path(path: KeyPath) -> str:
    """``order.gpus`` or ``software.extensions[1]``; a key that is not bare is quoted."""
    shown = ""
    for part in path:
        if isinstance(part, int):
            shown += f"[{part}]"
            continue
        key = part if re.fullmatch(r"[A-Za-z0-9_-]{1,80}", part) else repr(part[:80])
        shown += f".{key}" if shown else key
    return shown


class _SurpriseError(Exception):
    """The text is not what a TOML parser has accepted."""


class _Scan:
    """One pass over the text that notes the line of each key."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.lines: dict[KeyPath, int] = {}
        self._line = 1
        self._counted_to = 0
        self._tables_seen: dict[KeyPath, int] = {}

    def document(self) -> None:
        """Headers and statements up to the end."""
        table: KeyPath = ()
        while True:
            self._take(_BLANK)
            if self.position >= len(self.text):
                return
            if self._next() == "[":
                table = self._header()
            else:
                self._statement(table)

    def _header(self) -> KeyPath:
        is_array = self.text.startswith("[[", self.position)
        self.position += 2 if is_array else 1
        path = self._key(())
        self.position += 2 if is_array else 1
        if is_array:
            index = self._tables_seen.get(path, 0)
            self._tables_seen[path] = index + 1
            path = (*path, index)
            self._note(path)
        return path

    def _statement(self, table: KeyPath) -> None:
        path = self._key(table)
        self._take(_BLANK)
        if self._next() != "=":
            raise _SurpriseError
        self.position += 1
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        self._take(_BLANK)
        first = self._next()
        if first == "[":
            self._array(path)
        elif first == "{":
            self._inline_table(path)
        elif first in ('"', "'"):
            is_long = self.text.startswith(first * 3, self.position)
            if not self._take(_LONG_STRING if is_long else _STRING):
                raise _SurpriseError
        elif not self._take(_PLAIN):
            raise _SurpriseError

    def _array(self, path: KeyPath) -> None:
        self.position += 1
        index = 0
        while True:
            self._take(_BLANK)
            if self._next() in (",", "]"):
                self.position += 1
                if self.text[self.position - 1] == "]":
                    return
                continue
            self._note((*path, index))
            self._value((*path, index))
            index += 1

    def _inline_table(self, path: KeyPath) -> None:
        self.position += 1
        while True:
            self._take(_BLANK)
            if self._next() in (",", "}"):
                self.position += 1
                if self.text[self.position - 1] == "}":
                    return
                continue
            self._statement(path)

    def _key(self, table: KeyPath) -> KeyPath:
        path = table
        while True:
            self._take(_SPACE)
            key = self._take(_KEY)
            if not key:
                raise _SurpriseError
            path = (*path, _unquote(key))
            self._note(path)
            if not self._take(_DOT):
                self._take(_SPACE)
                return path

    def _next(self) -> str:
        if self.position >= len(self.text):
            raise _SurpriseError
        return self.text[self.position]

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.position)
        if found is None:
            return ""
        self.position = found.end()
        return found[0]

    def _note(self, path: KeyPath) -> None:
        self._line += self.text.count("\n", self._counted_to, self.position)
        self._counted_to = self.position
        self.lines.setdefault(path, self._line)


def _unquote(key: str) -> str:
    """The key that a bare or quoted spelling names."""
    if key.startswith("'"):
        return key[1:-1]
    if not key.startswith('"'):
        return key
    return re.sub(r"\\(u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.)", _unescape, key[1:-1])


def _unescape(found: re.Match[str]) -> str:
    code = found[1]
    if code[0] in "uU" and len(code) > 1:
        return chr(int(code[1:], 16))
    return {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", "e": "\x1b"}.get(code, code)
