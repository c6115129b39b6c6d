"""Lines of Python in a process that has the fake devices."""

from __future__ import annotations

import subprocess
import sys
import textwrap

from fakegpu.build import Libraries
from fakegpu.environment import fake_environment

PATIENCE_S = 120.0


def run_python(libraries: Libraries, lines: str, **variables: str) -> str:
    """What the lines print on standard output; they must end well."""
    done = subprocess.run(
        [sys.executable, "-c", "import torch\n" + textwrap.dedent(lines)],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=fake_environment(libraries, **variables),
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()
