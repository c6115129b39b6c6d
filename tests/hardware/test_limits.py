"""Limits of a process."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from preflight.hardware.files import THIS_MACHINE, Files
from preflight.hardware.limits import locked_memory_KiB, open_files

from .machines import MALFORMED, machine, reason

LIMITS = """Limit                     Soft Limit           Hard Limit           Units
Max open files            1024                 unlimited            files
Max locked memory         65536                8388608              bytes
"""


def test_soft_and_hard_limits_in_their_units(tmp_path: Path) -> None:
    """Locked memory is in KiB, open files are counted, and unlimited is -1."""
    files = machine(tmp_path, {"/proc/self/limits": LIMITS})
    memory, number = locked_memory_KiB(files), open_files(files)
    assert (memory.soft, memory.hard) == (64, 8192)
    assert (number.soft, number.hard) == (1024, -1)


@pytest.mark.parametrize("text", [*MALFORMED, "Max open files few many files"])
def test_lines_of_another_form_are_absent(tmp_path: Path, text: str) -> None:
    """A limit that cannot be read is neither 0 nor unlimited."""
    files = machine(tmp_path, {"/proc/self/limits": text})
    assert reason(open_files(files).soft) == "not readable"
    assert reason(open_files(files).hard) == "not readable"
    assert reason(locked_memory_KiB(files).hard) == "not readable"


def test_another_machine_borrows_no_limit(tmp_path: Path) -> None:
    """Without the file nothing is known, whatever this process may do."""
    assert reason(locked_memory_KiB(Files(tmp_path)).soft) == "not found"


def test_this_process() -> None:
    """The file says what getrlimit says."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = open_files(THIS_MACHINE)
    assert (limit.soft, limit.hard) == tuple(
        -1 if n == resource.RLIM_INFINITY else n for n in (soft, hard)
    )


def test_a_process_with_lower_limits() -> None:
    """A child that lowers its limits reads them back."""
    code = (
        "import resource\n"
        "from preflight.hardware.files import THIS_MACHINE\n"
        "from preflight.hardware.limits import locked_memory_KiB, open_files\n"
        "resource.setrlimit(resource.RLIMIT_MEMLOCK, (32768, 49152))\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (99, 101))\n"
        "for limit in (locked_memory_KiB(THIS_MACHINE), open_files(THIS_MACHINE)):\n"
        "    print(limit.soft, limit.hard)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["32", "48", "99", "101"]
