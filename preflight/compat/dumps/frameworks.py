"""What frameworks print of themselves, and whose code a traceback ends in.

``python -m bitsandbytes``, ``python -m xformers.info``, ``ds_report``; ``accelerate env`` has the
form of a list that ``collect_env`` reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from preflight.compat.dumps.facts import Reading
from preflight.compat.dumps.text import Line

MOST_FRAMES = 64
_BNB = re.compile(
    r"ighest.?[Cc]ompute.?[Cc]apability(?: among GPUs detected)?(?:=|: )\(?(\d+)(?:, |\.)(\d)"
)
_BNB_CUDA = re.compile(r"CUDA_VERSION=(\d{2,3})\b|cuda_version_string='(\d{2,3})'")
_DS_TORCH = re.compile(r"torch version ?\.{2,} ?(\S+)")
_DS_CUDA = re.compile(r"torch cuda version ?\.{2,} ?(\S+)")
_DS_NVCC = re.compile(r"nvcc version ?\.{2,} ?(\d[\d.]*)")
_DS_HIP = re.compile(r"torch hip version ?\.{2,} ?(\d\S*)")
_SITE = re.compile(r"(?:site|dist)-packages[/\\](\w+)")
_CUSTOM = re.compile(r"(_custom_ops|[/\\]torch[/\\]_ops)\.py$")
"""Where Python hands over to an operator of an extension."""
_FRAME = re.compile(r'File "([^"]{1,400})", line \d+')
_COLLECTOR = re.compile(r"collect_env\.py|get_pretty_env_info|check_env\.py")


class Frameworks:
    """Gathers versions that frameworks print, and the frames of tracebacks."""

    def __init__(self) -> None:
        self.capability: Reading | None = None
        self.torch: Reading | None = None
        self.cuda: Reading | None = None
        self.hip: Reading | None = None
        self.nvcc: Reading | None = None
        self.frames: list[Reading] = []
        self.is_collector_crash = False

    def read(self, line: Line) -> None:
        """Take what a line has of interest."""
        text = line.text
        if text.startswith('File "') and (found := _FRAME.match(text)):
            self._frame(found[1], line)
        elif "ompute" in text and (found := _BNB.search(text)):
            self.capability = Reading(value=f"sm_{found[1]}{found[2]}", line=line.number)
            if digits := _BNB_CUDA.search(text):
                number = digits[1] or digits[2]
                self.cuda = Reading(value=f"{number[:-1]}.{number[-1]}", line=line.number)
        elif " .." in text:
            self._deepspeed(line)

    def lines(self) -> Iterator[int]:
        """Lines that something was read from."""
        yield from (one.line for one in self.frames)
        found = (self.capability, self.torch, self.cuda, self.hip, self.nvcc)
        yield from (one.line for one in found if one is not None)

    def _deepspeed(self, line: Line) -> None:
        for name, pattern in (
            ("cuda", _DS_CUDA),
            ("hip", _DS_HIP),
            ("torch", _DS_TORCH),
            ("nvcc", _DS_NVCC),
        ):
            if found := pattern.search(line.text):
                setattr(self, name, Reading(value=found[1][:100], line=line.number))
                return

    def _frame(self, path: str, line: Line) -> None:
        """The package that a frame belongs to; a new traceback follows after its message."""
        if _COLLECTOR.search(path):
            self.is_collector_crash = True
        found = _CUSTOM.search(path) or _SITE.search(path)
        if found:
            self.frames = [*self.frames[-MOST_FRAMES:], Reading(value=found[1], line=line.number)]
