"""Prints from which files this process takes the modules that SHOW names."""

from __future__ import annotations

import importlib
import os
import sys


def main() -> None:
    """One line for each."""
    for name in os.environ["SHOW"].split(","):
        module = sys.modules.get(name) or importlib.import_module(name)
        print(module.__file__)
