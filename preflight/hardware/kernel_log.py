"""The kernel's log since the machine was started."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import datetime

from preflight.facts import Absence, KernelEvent
from preflight.hardware.files import Files
from preflight.hardware.kernel_events import Line, kernel_events
from preflight.hardware.pci import BUS, bus_path

MOST_BYTES = 4 * 1024**2
"""Of the end of a log: some ten thousand lines."""
_KMSG = "/dev/kmsg"
_COPIES = ("/var/log/kern.log", "/var/log/messages", "/var/log/dmesg")
"""What the system's logger writes on the families of Debian, of Red Hat, and once at the start."""
_RECORD = re.compile(r"[0-7],\d+,(\d{1,19}),[^;]*;(.*)")
"""``6,339,5140900,-;text``: priority, number, microseconds, flags (Documentation/ABI dev-kmsg).
What a program has written there has a priority of 8 or more."""
_ESCAPE = re.compile(r"\\x([0-9a-f]{2})")
_STAMP = re.compile(r"\[ *(\d{1,10}\.\d{1,6})\] ?")
_WALL = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(\.\d+)?(Z|[+-]\d\d:?\d\d)")
_START = "Linux version "
_SLACK_S = 60.0
"""The wall clock is set right some time after the start."""


def read_log(files: Files, accelerators: Mapping[str, str]) -> tuple[KernelEvent, ...] | Absence:
    """What it says of the accelerators, whose PCI addresses are given by name.

    From the kernel itself where this process may ask, else from the copy that a logger keeps.
    """
    lines = _lines(files)
    if isinstance(lines, Absence):
        return lines
    ports = {}
    for address in accelerators.values():
        path = bus_path(files, f"{BUS}/{address}")
        ports.update(dict.fromkeys((*path[-2:], address), address))
    return kernel_events(lines, ports, _uptime_s(files))


def _lines(files: Files) -> list[Line] | Absence:
    data = files.tail(_KMSG, MOST_BYTES)
    if not isinstance(data, Absence):
        return list(_records(data.decode("utf-8", "replace")))
    refused = data
    for path in _COPIES:
        copy = files.tail(path, MOST_BYTES)
        if not isinstance(copy, Absence):
            uptime_s, started_s = _uptime_s(files), _started_s(files)
            text = copy.decode("utf-8", "replace")
            return _of_this_start(_copied(text, started_s), uptime_s)
        if copy.reason == "no permission" and refused.reason != "no permission":
            refused = copy
    return refused


def _records(text: str) -> Iterator[Line]:
    """Lines of /dev/kmsg; those that begin with a blank name the device of the one before."""
    for line in text.split("\n"):
        match = _RECORD.fullmatch(line)
        if match:
            words = _ESCAPE.sub(lambda found: _letter(found[1]), match[2])
            yield Line(text=words, at_s=int(match[1]) / 1e6)


def _letter(digits: str) -> str:
    """What the kernel wrote as ``\\x0a``: one message of several lines, or bytes of a letter."""
    letter = chr(int(digits, 16))
    return letter if letter.isascii() and letter.isprintable() else " "


def _copied(text: str, started_s: float | None) -> Iterator[Line]:
    """The kernel's lines in a logger's file: ``Dec  1 09:04:12 node-a kernel: [  12.345678] ...``.

    Where the stamp of the kernel is gone, that of the logger counts if it has a year.
    """
    for line in text.split("\n"):
        head, is_kernel, words = line.partition(" kernel: ")
        if not is_kernel:
            head, words = "", line
            if not line.startswith("["):
                continue  # another program's
        stamp = _STAMP.match(words) or _STAMP.match(head)
        at_s = float(stamp[1]) if stamp else _since_start_s(head, started_s)
        yield Line(text=_bare(words), at_s=at_s)


def _bare(words: str) -> str:
    stamp = _STAMP.match(words)
    return words[stamp.end() :] if stamp else words


def _since_start_s(head: str, started_s: float | None) -> float | None:
    """Seconds from the start of the machine to a wall-clock stamp."""
    match = _WALL.match(head)
    if match is None or started_s is None:
        return None
    zone = "+00:00" if match[3] == "Z" else match[3]
    zone = zone if ":" in zone else f"{zone[:3]}:{zone[3:]}"
    try:
        moment = datetime.fromisoformat(match[1] + zone).timestamp()
    except (ValueError, OverflowError):
        return None
    return moment + float(match[2] or 0) - started_s


def _of_this_start(lines: Iterator[Line], uptime_s: float | None) -> list[Line]:
    """Lines since the kernel last named itself, and none that another start has left behind."""
    latest_s = (float("inf") if uptime_s is None else uptime_s) + _SLACK_S
    kept: list[Line] = []
    for line in lines:
        if line.text.startswith(_START):
            kept.clear()
        if line.at_s is None or -_SLACK_S <= line.at_s <= latest_s:
            kept.append(line)
    return kept


def _uptime_s(files: Files) -> float | None:
    text = files.text("/proc/uptime")
    match = None if isinstance(text, Absence) else re.match(r"\d{1,12}(?:\.\d{1,6})?", text)
    return float(match[0]) if match else None


def _started_s(files: Files) -> float | None:
    """When the machine was started, in seconds since 1970."""
    text = files.text("/proc/stat")
    match = None if isinstance(text, Absence) else re.search(r"(?m)^btime (\d{1,12})$", text)
    return float(match[1]) if match else None
