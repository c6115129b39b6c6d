"""Machines made of a few files, for the readers of the host."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from preflight.facts import Absence
from preflight.hardware.files import Files
from preflight.hardware.simulated_tree import Tree

MALFORMED = ("", "\x00", "what", "-", "1 2 3", "\N{SNOWMAN}", "9" * 5000, "a:b:c - d", "\n\n\n")
"""What no kernel writes where a number, a list or a line is expected."""


def machine(root: Path, texts: Mapping[str, object], links: Mapping[str, str] = {}) -> Files:
    """The machine whose files, by absolute path, hold these texts."""
    tree = Tree(root)
    for path, text in texts.items():
        tree.text(path, text)
    for path, target in links.items():
        tree.link(path, target)
    return Files(root)


def reason(fact: object) -> str:
    """Why a fact is absent."""
    assert isinstance(fact, Absence), f"{fact!r} is known"
    return fact.reason


@contextlib.contextmanager
def without_privileges() -> Iterator[None]:
    """Root reads everything; for a while this process is nobody, with none of root's rights."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)
