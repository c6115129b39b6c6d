"""Copies what run.sh has collected, without what tells this machine from all others.

    python redact.py device-out sample [--also NAME]...

Serial numbers, UUIDs, unique identifiers of PCI functions and network ports, and the names of
hosts, users and addresses become placeholders of the same shape, the same one for the same value in
every file and in the names of files. Models, versions, PCI addresses and numbers stay. What is no
text is left out and named; look through the rest before you publish it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

IDENTITY = "identity.txt"
"""Written by run.sh: lines ``host NAME``, ``user NAME`` and ``address ADDRESS``."""
SHORTEST_NAME = 3
"""A shorter name of a host or user stands inside other words; it is told and has to be looked for
by hand."""
PLACEHOLDERS = 1000
"""Numbers below this one are taken for placeholders, so that a folder can be redacted again."""
COMMON_NAMES = {"root", "ubuntu", "user", "nobody", "localhost", "none", "unknown"}

SERIAL = r"(?=[\w-]*\d)[\w-]{4,}"
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
SHAPES: dict[str, tuple[str, Callable[[int], str]]] = {
    "UUID": (UUID, lambda n: f"00000000-0000-0000-0000-{n:012d}"),
    "UUID of AMD": (r"(?<=GPU-)[0-9a-f]{16}", lambda n: f"{n:016d}"),
    "PCI serial number": (r"[0-9a-f]{2}(?:-[0-9a-f]{2}){7}", lambda n: f"{'00-' * 7}{n:02d}"),
    "port GUID": (r"[0-9a-f]{4}(?::[0-9a-f]{4}){3}", lambda n: f"0000:0000:0000:{n:04d}"),
    "MAC address": (r"[0-9a-f]{2}(?::[0-9a-f]{2}){5}", lambda n: f"02:00:00:00:00:{n:02d}"),
}
"""Values that are known by their shape, and the placeholder with a number."""
LABELLED: dict[str, tuple[str, ...]] = {
    "serial": (
        rf"serial(?: number)?\s*[:=]\s*({SERIAL})",
        rf"<(?:\w+_)?serial(?:_number)?>\s*({SERIAL})\s*<",
        rf'"serial"\s*:\s*"({SERIAL})"',
        rf'"nvmlDeviceGetSerial",\s*"value"\s*:\s*"({SERIAL})"',
    ),
    "identifier": (
        r"(?:unique[ _]id|guid|pdi)\s*[:=]\s*(0x[0-9a-f]{6,16})",
        r"<(?:\w*_)?(?:guid|pdi)>\s*(0x[0-9a-f]{6,16})\s*<",
        r"^unique_id (\d{6,20})$",
    ),
    "host": (
        r'"host"\s*:\s*\{\s*"name"\s*:\s*"([^"\s]+)"',
        r'"nodes"\s*:\s*\[\s*\{\s*"name"\s*:\s*"([^"\s]+)"',
        r'"node"\s*:\s*"([^"\s]+)"',
    ),
    "user": (r"/home/([A-Za-z_][\w.-]*)",),
}
"""Values that are known by what stands before them, and are then replaced wherever they stand."""
BYTES_OF_A_UUID = re.compile(r'("clusterUuid"\s*:\s*)\[[^\]]*[1-9][^\]]*\]')
NOT_THERE = {"n/a", "none", "null", "unknown", "[n/a]"}


class Placeholders:
    """A placeholder for each value, numbered by kind in the order in which they are first met."""

    def __init__(self) -> None:
        self.made: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}

    def of(self, kind: str, value: str) -> str:
        """The placeholder of a value; a placeholder is its own."""
        key = (kind, value.lower())
        if key in self.made or value in self.made.values():
            return self.made.get(key, value)
        while True:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            made = _shaped(kind, value, self._counts[kind])
            if made not in self.made.values():
                self.made[key] = made
                return made


def _shaped(kind: str, value: str, number: int) -> str:
    if kind in SHAPES:
        return SHAPES[kind][1](number)
    if kind == "serial":
        return f"{number:0{len(value)}d}"
    if kind == "identifier":
        return f"0x{number:016d}" if value.lower().startswith("0x") else str(number)
    return f"192.0.2.{number}" if kind == "address" else f"{kind}-{number}"


class Redaction:
    """What is replaced in a set of files."""

    def __init__(self, texts: dict[str, str], also: tuple[str, ...] = ()) -> None:
        """``texts`` are all files by their names: what one tells of a host, others may hold."""
        self.placeholders = Placeholders()
        self.too_short: list[str] = []
        self._literal: dict[str, str] = {}
        for kind, value in [*(("name", one) for one in also), *_learn(texts)]:
            self._add(kind, value)
        # Before what has a shape, since a name may look like one; the longest first.
        names = sorted(self._literal, key=len, reverse=True)
        joined = "|".join(re.escape(name) for name in names)
        self._names = re.compile(rf"(?<![A-Za-z0-9_])(?:{joined})(?![A-Za-z0-9_])", re.IGNORECASE)

    def _add(self, kind: str, value: str) -> None:
        if value.lower() in COMMON_NAMES | NOT_THERE or _is_placeholder(kind, value):
            return
        if len(value) < SHORTEST_NAME:
            if value not in self.too_short:
                self.too_short.append(value)
            return
        if value.lower() not in self._literal:
            self._literal[value.lower()] = self.placeholders.of(kind, value)

    def apply(self, text: str) -> str:
        """The text without what identifies a machine."""
        if self._literal:
            text = self._names.sub(lambda m: self._literal[m[0].lower()], text)
        for kind, (shape, _) in SHAPES.items():
            pattern = rf"(?<![0-9a-z:_]){shape}(?![0-9a-z:_-])"
            if shape.startswith("(?<="):
                pattern = rf"{shape}(?![0-9a-z])"
            text = re.sub(pattern, lambda m, k=kind: self._placed(k, m[0]), text, flags=re.I)
        zeros = "[" + ", ".join(["0"] * 16) + "]"
        return BYTES_OF_A_UUID.sub(lambda m: m[1] + zeros, text)

    def _placed(self, kind: str, value: str) -> str:
        return value if _is_placeholder(kind, value) else self.placeholders.of(kind, value)


def _learn(texts: dict[str, str]) -> Iterator[tuple[str, str]]:
    """Kind and value of what the files tell of themselves."""
    for line in texts.get(IDENTITY, "").splitlines():
        kind, _, value = line.partition(" ")
        if kind in ("host", "user", "address") and value:
            yield kind, value
            if kind == "host" and "." in value:
                yield kind, value.partition(".")[0]
    for text in texts.values():
        for kind, patterns in LABELLED.items():
            for pattern in patterns:
                for found in re.findall(pattern, text, re.IGNORECASE | re.MULTILINE):
                    yield kind, found


def _is_placeholder(kind: str, value: str) -> bool:
    """Whether a value is one that this script has made, or holds nothing but zeros."""
    if kind in SHAPES:
        return value.lower() in _first_shapes(kind)
    if kind in ("serial", "identifier"):
        digits = value.lower().removeprefix("0x")
        return digits.isdigit() and int(digits) < PLACEHOLDERS
    return re.fullmatch(rf"{kind}-\d+|192\.0\.2\.\d+", value) is not None


@cache
def _first_shapes(kind: str) -> frozenset[str]:
    return frozenset(SHAPES[kind][1](number) for number in range(PLACEHOLDERS))


def redact(source: Path, target: Path, also: tuple[str, ...] = ()) -> dict[str, list[str]]:
    """Write the files below ``source`` anew below ``target``, which must not exist.

    What was left out (``not text``), and names that are ``too short``.
    """
    texts, left_out = {}, []
    for path in sorted(source.rglob("*")):
        if path.is_file() and not path.is_symlink():
            name = path.relative_to(source).as_posix()
            try:
                texts[name] = path.read_text(encoding="utf-8")
            except UnicodeDecodeError:
                left_out.append(name)
    redaction = Redaction(texts, also)
    target.mkdir(parents=True)
    for name, text in texts.items():
        path = target / redaction.apply(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(redaction.apply(text), encoding="utf-8")
    return {"not text": left_out, "too short": redaction.too_short}


def main() -> int:
    """Redact a folder, and say what needs a look; 1 where something does."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--also", action="append", default=[], help="a further name to replace")
    arguments = parser.parse_args()
    if arguments.target.exists():
        parser.error(f"{arguments.target} exists")
    if not arguments.source.is_dir():
        parser.error(f"{arguments.source} is no folder")
    found = redact(arguments.source, arguments.target, tuple(arguments.also))
    print(json.dumps(found), file=sys.stderr)
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
