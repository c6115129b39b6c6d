"""Lines of keys in a TOML text."""

from __future__ import annotations

import random
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from preflight.plan.locations import KeyPath, key_lines, show_path

toml: Any = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
FULL = (Path(__file__).parents[1] / "data" / "plans" / "full.toml").read_text()


def _paths(tree: Any, path: KeyPath = ()) -> set[KeyPath]:
    """Every key path and index path in a tree."""
    found = {path} if path else set()
    if isinstance(tree, (dict, list)):
        for key, child in tree.items() if isinstance(tree, dict) else enumerate(tree):
            found |= _paths(child, (*path, key))
    return found


@pytest.mark.parametrize(
    ("text", "path", "line"),
    [
        ("a = 1\nb = 2", ("b",), 2),
        ("[a]\n\nb = 2", ("a", "b"), 3),
        ("[a]\n\nb = 2", ("a",), 1),
        ("a.b.c = 1", ("a", "b", "c"), 1),
        ("a . 'b c' . \"d\\u0065\" = 1", ("a", "b c", "de"), 1),
        ("x = [\n1, # ]\n[2,\n3]]", ("x", 1, 1), 4),
        ('x = """\na = 1\n"""\na = 2', ("a",), 4),
        ("x = '''\na = 1'''\na = 2", ("a",), 3),
        ('x = """a"""""\na = 2', ("a",), 2),
        ('x = "[a]\\"#"\na = 2', ("a",), 2),
        ("x = {a = 1, b = [{c = 2}]}", ("x", "b", 0, "c"), 1),
        ("[[a]]\nb = 1\n[[a]]\nb = 2", ("a", 1, "b"), 4),
        ("x = 2026-12-01 09:00:00\ny = 1", ("y",), 2),
    ],
)
def test_the_line_of_a_key_is_found(text: str, path: KeyPath, line: int) -> None:
    """In each of the ways TOML can write a key."""
    toml.loads(text)
    assert key_lines(text)[path] == line


def test_every_path_of_a_full_plan_has_its_line() -> None:
    """Strings, comments and inline tables that look like keys do not lead astray."""
    lines = key_lines(FULL)
    assert set(lines) == _paths(toml.loads(FULL))
    written = FULL.splitlines()
    for path, line in lines.items():
        if isinstance(path[-1], str):
            assert path[-1] in written[line - 1]


@pytest.mark.parametrize("text", ["= 1", "a", "[a", "a = ", "a = [", "a = {b", 'a = """', "a = [}"])
def test_a_text_that_is_no_toml_ends_the_scan(text: str) -> None:
    """It never hangs and never raises; the parser has refused such a text before."""
    key_lines(text)


def test_random_text_ends_the_scan() -> None:
    """As above, for whatever comes."""
    generator = random.Random(5)
    for _ in range(500):
        key_lines("".join(generator.choices("ab.=[]{}\"'#,\n \\1", k=60)))


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (("order", "gpus"), "order.gpus"),
        (("software", "extensions", 1), "software.extensions[1]"),
        (("limits", "a b"), "limits.'a b'"),
        (("\x1b[31m",), r"'\x1b[31m'"),
    ],
)
def test_a_path_is_shown_as_toml_would_write_it(path: KeyPath, shown: str) -> None:
    """Control characters are escaped."""
    assert show_path(path) == shown
