"""Set-up of the project's own tests, and places that are short of room."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

TINY_KiB = 256


def pytest_configure(config: pytest.Config) -> None:
    """Check files carry a marker of preflight's own plugin, which is not loaded here."""
    config.addinivalue_line("markers", "check: declares a check of preflight")


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KiB; skips where none can be mounted."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={TINY_KiB}k", "none", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, text=True, timeout=10, check=False)
    except OSError as error:
        pytest.skip(f"mount cannot be run: {error}")
    if done.returncode:
        pytest.skip(f"a small file system cannot be mounted: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", str(folder)], timeout=10, check=True)


@pytest.fixture
def full_disk(tiny_disk: Path) -> Path:
    """A file system without a free byte, in which ``filler`` lies."""
    descriptor = os.open(tiny_disk / "filler", os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(descriptor, b"x" * 4096):
            pass
    except OSError:
        pass  # it is full, as it should be
    finally:
        os.close(descriptor)
    return tiny_disk
