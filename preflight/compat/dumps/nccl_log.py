"""Logs of NCCL and RCCL: who took part, over what, and whether it came up."""

from __future__ import annotations

import re
from collections.abc import Iterator

from preflight.compat.dumps.facts import Collectives, Reading
from preflight.compat.dumps.text import Line

_RANKS = re.compile(r"\bn[rR]anks (\d+)")
_NODES = re.compile(r"\bnNodes (\d+)")
_NETWORK = re.compile(r"Using network (\w+)")
_VERSION = re.compile(r"[NR]CCL version ?:? ?(\d[\w.+:-]*)")
_INTERFACE = re.compile(r"Bootstrap ?: Using (\S+)")
_HOST_PATH = re.compile(r"\btype (?:PHB|NODE|SYS)/")
_NAMES = {
    "Using network": ("network", _NETWORK),
    "Bootstrap": ("interface", _INTERFACE),
    "CCL version": ("version", _VERSION),
    "anks": ("ranks", _RANKS),
    "nNodes": ("nodes", _NODES),
}
_TROUBLE = (
    "ail",
    "rror",
    "endor err",
    "Got completion",
    "refused",
    "imed out",
    "imeout",
    "nable",
    "No route",
    "annot",
    " -> ",
)
HARMLESS = re.compile(
    r"NET/Plugin|Plugin load|libn?ccl-(?:net|tuner|profiler)|librccl-net|No plugin found|"
    r"TUNER|PROFILER|gdrcopy|GDR ?[Cc]opy|libgdrapi|cuMem host|Kernel version|"
    r"P2P/direct pointer|-> (?:-1|\d+)[/\[]|->\d"
)
"""What every healthy run prints: a plugin that is not there, trees and rings."""


class NcclLog:
    """Gathers what a log tells; only the first of each kind is kept."""

    def __init__(self) -> None:
        self._found: dict[str, Reading] = {}
        self._num_lines = 0
        self.warnings: list[Reading] = []

    def read(self, line: Line) -> bool:
        """Take what a line has of interest; whether it may hold a trouble."""
        self._num_lines += 1
        text = line.text
        position = text.find("CCL INFO ")
        if position < 0:
            if "CCL WARN " in text and len(self.warnings) < 8:
                words = text[text.index("CCL WARN ") + 9 :].strip()
                self.warnings.append(Reading(value=words[:300], line=line.number))
            self._words(text, line.number)
            return True
        words = text[position + 9 :]
        self._words(words, line.number)
        return any(sign in words for sign in _TROUBLE) and not HARMLESS.search(words)

    def _words(self, words: str, number: int) -> None:
        for sign, (name, pattern) in _NAMES.items():
            if sign not in words or (name in self._found and name not in ("nodes", "ranks")):
                continue
            if found := pattern.search(words):
                self._larger(name, found[1], number)
        if "NET/IB : No device found" in words:
            self._keep("no_ib_device", "no InfiniBand device", number)
        elif "ibverbs" in words and ("ailed to open" in words or "cannot open" in words):
            self._keep("no_verbs", words[:200], number)
        elif "intraNodeP2pSupport 0" in words:
            self._keep("no_peer_access", "intraNodeP2pSupport 0", number)
        elif "Pattern" in words and (found := _HOST_PATH.search(words)):
            self._keep("host_path", found[0], number)
        elif "Init COMPLETE" in words:
            self._keep("completed", "Init COMPLETE", number)

    def _larger(self, name: str, value: str, number: int) -> None:
        """The first value, but the most ranks and nodes: a job has smaller groups too."""
        old = self._found.get(name)
        if old is None or (name in ("ranks", "nodes") and int(value) > int(old.value)):
            self._found[name] = Reading(value=value[:100], line=number)

    def _keep(self, name: str, value: str, number: int) -> None:
        if name not in self._found:
            self._found[name] = Reading(value=value, line=number)

    def lines(self) -> Iterator[int]:
        """Lines that something was read from."""
        yield from (one.line for one in self._found.values())
        yield from (one.line for one in self.warnings)

    def finish(self) -> Collectives:
        """What was found, and the first warnings that are not of a harmless kind."""
        warnings = tuple(one for one in self.warnings if not HARMLESS.search(one.value))
        return Collectives(lines=self._num_lines, warnings=warnings, **self._found)
