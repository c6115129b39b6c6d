"""Entry of the process of one phase: a pytest session out of reach of the user's configuration."""

from __future__ import annotations

import json
import os
import shlex
import sys
from pathlib import Path

from preflight.events import Inventory, Opened
from preflight.harness.children import SET_ASIDE
from preflight.harness.journal import read_journal
from preflight.harness.plugin import DEVICE_VARIABLE, NO_DEVICE, PHASE_VARIABLE
from preflight.harness.situation import read_handed
from preflight.harness.sweep import RUN_VARIABLE
from preflight.probes.lifeline import die_with_parent

CONFIGURATION = Path(__file__).with_name("checks.ini")
_PLUGINS = ("preflight.harness.plugin", "preflight.harness.fixtures")


def main() -> None:
    """Run the checks of PREFLIGHT_PHASE for the run folder PREFLIGHT_RUN; exits as pytest does."""
    die_with_parent()
    _set_aside_pytest_variables()
    import pytest

    folder, phase = Path(os.environ[RUN_VARIABLE]), os.environ[PHASE_VARIABLE]
    sys.exit(pytest.main(_arguments(folder, phase)))


def _set_aside_pytest_variables() -> None:
    """Take the user's PYTEST_* out of our sessions; probes get them back."""
    aside = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("PYTEST_")}
    os.environ[SET_ASIDE] = json.dumps(aside)
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"


def _arguments(folder: Path, phase: str) -> list[str]:
    events = read_journal(folder)
    opened = next(event for event in events if isinstance(event, Opened))
    arguments = [
        f"-c{CONFIGURATION}",
        f"--rootdir={folder}",
        "--noconftest",
        "--import-mode=importlib",
        "--continue-on-collection-errors",
        "--strict-markers",
        "--tb=short",
        "--capture=sys",
        "-pno:cacheprovider",
        "-pno:junitxml",
        *(f"-p{name}" for name in _PLUGINS),
    ]
    if phase == "devices":
        inventory = next(event for event in events if isinstance(event, Inventory))
        probed = inventory.stand_ins or inventory.devices
        names = [device.name for device in probed] or [NO_DEVICE]
        # --dist each gives every worker the whole collection, which each has made for its own
        # device; a worker that replaces a dead one has the same --tx, thus the same device.
        arguments += ["-pxdist.plugin", "--dist=each"]
        # -I: until xdist hands on our sys.path, a worker would import from the working folder.
        popen = f"popen//python={shlex.quote(sys.executable)} -I"
        arguments += [f"--tx={popen}//env:{DEVICE_VARIABLE}={name}" for name in names]
    return arguments + list(read_handed(opened.options).options.checks_folders)
