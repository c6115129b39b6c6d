"""Reads a pasted text and says what it proves; nothing of this machine is looked at."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec
from rich.console import Console

from preflight.compat.dumps.judging import Answer, Cause, judge
from preflight.compat.dumps.judging_machine import ProductMemory
from preflight.compat.dumps.reading import Pasted, read_paste
from preflight.errors import UsageError
from preflight.hardware.catalog import products
from preflight.redaction import redact_text
from preflight.rendering.explanation_text import explanation_lines
from preflight.rendering.machine_text import WIDEST
from preflight.rendering.text import NARROWEST, WIDTH
from preflight.summary import print_lines

Told = TypeVar("Told", Answer, Cause)
SCHEMA = "preflight.explanation/1"


@dataclass(frozen=True)
class Explanation:
    """What a text says of every stage, and the first cause in it."""

    pasted: Pasted
    stages: dict[str, Answer]
    cause: Cause | None

    @property
    def exit_code(self) -> int:
        """1 where a failure is proved, 3 where nothing can be told, else 0."""
        if self.cause is not None:
            return 1
        told = any(answer.status != "unknown" for answer in self.stages.values())
        return 0 if told else 3

    @property
    def trouble(self) -> str:
        """Why nothing can be told, and what to paste; empty where something can."""
        if self.exit_code != 3:
            return ""
        return f"{_what_it_is(self.pasted)}\n  paste what a command prints, such as " + (
            "python -m torch.utils.collect_env, nvidia-smi -q or rocminfo, a log with "
            "NCCL_DEBUG=INFO, or the whole traceback"
        )

    @property
    def json(self) -> str:
        """The answer as indented JSON with a final newline; secrets in it are replaced."""
        quoted = sorted({line for one in self.stages.values() for line in one.lines})
        quotes = self.pasted.quotes
        tree: dict[str, Any] = {
            "schema": SCHEMA,
            "stages": self.stages,
            "cause": self.cause,
            "facts": self.pasted.facts.summary(),
            "quotes": {str(line): redact_text(quotes[line]) for line in quoted if line in quotes},
            "input": {
                "bytes": self.pasted.num_bytes,
                "lines": self.pasted.num_lines,
                "encoding": self.pasted.encoding,
                "not_text": self.pasted.not_text or None,
            },
        }
        return msgspec.json.format(msgspec.json.encode(tree), indent=1).decode() + "\n"

    def print_to(self, console: Console) -> None:
        """Print it as wide as the terminal, from 60 to 160 columns; a file or pipe gets 100."""
        width = WIDTH
        if console.is_terminal:
            width = min(max(console.width, NARROWEST), WIDEST)
        quotes = {line: redact_text(text) for line, text in self.pasted.quotes.items()}
        lines = explanation_lines(self.stages, self.cause, quotes, self.pasted.facts, width=width)
        print_lines(lines, console)


def _product_memories() -> tuple[ProductMemory, ...]:
    """Products of the catalogue with memory of their own."""
    return tuple(
        ProductMemory(names=one.driver_names, memory_GiB=one.memory_GiB or one.device_memory_GB)
        for one in products()
        if not one.unified_memory
    )


def _what_it_is(pasted: Pasted) -> str:
    if pasted.not_text:
        return f"the input is {pasted.not_text}, not text: unpack it or copy the text out of it"
    if pasted.num_bytes == 0:
        return "the input is empty"
    return f"nothing in the {pasted.num_lines} lines of the input is of a form that is known"


def explain(source: str, *, gpu: str | None = None) -> Explanation:
    """Explain a file, or standard input for ``-``.

    Raises UsageError for a file that cannot be read and for a ``gpu`` without a name.
    """
    if gpu is not None and not gpu.strip():
        raise UsageError("no card is named", where="--gpu", mend="name one, such as H100 or MI300X")
    if source == "-":
        return explain_stream(sys.stdin.buffer, gpu=gpu)
    try:
        with Path(source).open("rb") as stream:
            return explain_stream(stream, gpu=gpu)
    except OSError as error:
        raise UsageError(
            f"cannot be read: {error.strerror or error}",
            where=source,
            mend="name a file with the text, or - and pipe the text in",
        ) from error


def explain_stream(stream: BinaryIO, *, gpu: str | None = None) -> Explanation:
    """Explain what a stream of bytes holds, read once to its end."""
    pasted = read_paste(stream)
    stages, cause = judge(pasted, gpu=gpu, products=_product_memories())
    return Explanation(
        pasted=pasted,
        stages={name: _without_secrets(answer) for name, answer in stages.items()},
        cause=_without_secrets(cause) if cause else None,
    )


def _without_secrets(told: Told) -> Told:
    """Reasons quote lines of the paste."""
    return msgspec.structs.replace(told, reason=redact_text(told.reason))
