"""Memory of the host."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from preflight.hardware import memory
from preflight.hardware.files import THIS_MACHINE, Files, Space
from preflight.hardware.simulated_tree import Tree

from .machines import MALFORMED, machine, reason

READERS = (memory.memory_GiB, memory.available_GiB, memory.swap_GiB)
MEMINFO = "MemTotal:       1584738304 kB\nMemFree: 12 kB\nMemAvailable: 1048576 kB\nSwapTotal: 0 kB"


def test_lines_are_told_apart(tmp_path: Path) -> None:
    """Each size is its own line in GiB; no swap is 0, which is known."""
    files = machine(tmp_path, {"/proc/meminfo": MEMINFO})
    assert [read(files) for read in READERS] == [1511.32, 1.0, 0.0]


@pytest.mark.parametrize("text", [*MALFORMED, "MemTotal: many kB", "MemTotal: 12"])
def test_lines_of_another_form_are_absent(tmp_path: Path, text: str) -> None:
    """A line that is not as the kernel writes it is not guessed at."""
    files = machine(tmp_path, {"/proc/meminfo": text})
    assert [reason(read(files)) for read in READERS] == ["not readable"] * 3


def test_no_files(tmp_path: Path) -> None:
    """Another machine without files has no sizes."""
    files = Files(tmp_path)
    assert {reason(read(files)) for read in READERS} == {"not found"}
    assert reason(memory.shared_memory(files)) == "not found"


def test_shared_memory_below_another_root(tmp_path: Path) -> None:
    """Its size is what stands in for it."""
    Tree(tmp_path).stand_in("space", "/dev/shm", [67108864, 65536])
    found = memory.shared_memory(Files(tmp_path))
    assert found == Space(size_bytes=67108864, free_bytes=65536)


def test_this_machine() -> None:
    """Total memory is what sysconf tells, but for what the kernel adds while it starts."""
    found = memory.memory_GiB(THIS_MACHINE)
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / memory.GIB
    assert isinstance(found, float)
    assert found == pytest.approx(pages, rel=0.02)
