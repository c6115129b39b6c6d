"""Entry of a probe process: started by path, answers one command after another.

A command is a JSON line on standard input, ``{"call": "kernel.first", "params": {...}}``; the
answer goes to the reply pipe, either ``returned`` with a value or ``raised`` with the exception.
The process ends when standard input does.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

PACKAGE = "preflight_probes"


def _load_package() -> None:
    """Make this folder the package ``preflight_probes``, without putting any folder on sys.path.

    Running by path puts this folder first on sys.path, where a module named ``kernel`` would
    shadow one of the user's; it is taken off again.
    """
    here = Path(__file__).resolve().parent
    if sys.path and Path(sys.path[0]).resolve() == here:
        del sys.path[0]
    spec = importlib.util.spec_from_file_location(
        PACKAGE, here / "__init__.py", submodule_search_locations=[str(here)]
    )
    if spec is None or spec.loader is None:
        raise ImportError(f"the probe package cannot be loaded from {here}")
    package = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = package
    spec.loader.exec_module(package)


def _describe(error: BaseException) -> dict[str, Any]:
    """Facts of an exception that survive the pipe."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    code = getattr(error, "error_code", None)  # torch.AcceleratorError: the CUDA or HIP code
    return {
        "type": type(error).__name__,
        "message": str(error)[:4000],
        "traceback": text[-8000:],
        "errno": getattr(error, "errno", None),
        "code": code if isinstance(code, int) else None,
        "out_of_memory": type(error).__name__ in ("OutOfMemoryError", "MemoryError"),
    }


def main() -> None:
    """Serve until standard input ends."""
    _load_package()
    importlib.import_module(PACKAGE + ".lifeline").die_with_parent()
    reply = importlib.import_module(PACKAGE + ".reply")
    reply.open_stream()
    reply.send("ready", pid=os.getpid(), python=sys.version.split()[0])
    commands = os.fdopen(os.dup(0), "r", encoding="utf-8")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)  # the probed code cannot eat our commands
    os.close(null)
    faults = importlib.import_module(PACKAGE + ".faults")
    for line in commands:
        command = json.loads(line)
        module, _, function = command["call"].rpartition(".")
        params = command.get("params", {})
        try:
            faults.arm(command.get("fault"), params.get("device", "cpu"))
            target = getattr(importlib.import_module(PACKAGE + "." + module), function)
            value = target(**params)
        except BaseException as error:  # noqa: BLE001 - SystemExit and KeyboardInterrupt of probed code are facts too
            reply.send("raised", **_describe(error))
        else:
            reply.send("returned", value=value, fault_waits=faults.waits())


if __name__ == "__main__":
    main()
