"""Command lines for processes of our own: this interpreter, this sys.path, and nothing else."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_BOOT = (
    "import sys; sys.path[:] = sys.argv.pop(1).split({separator!r}); "
    "import importlib; importlib.import_module({module!r}).main()"
)


def own_command(module: str) -> list[str]:
    """Argument list that runs ``module.main()`` where this process finds its packages.

    The working folder is no place to import from: a ``json.py`` or ``pytest.py`` that lies there
    is the user's.
    """
    package_root = str(Path(__file__).resolve().parents[2])
    here = str(Path.cwd())  # sys.path may also call it "" or "."
    path = [p for p in sys.path if os.path.abspath(p) != here or p == package_root]  # noqa: PTH100 - a link stays one
    boot = _BOOT.format(separator=os.pathsep, module=module)
    return [sys.executable, "-c", boot, os.pathsep.join(path)]
