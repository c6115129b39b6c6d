"""The assemblers (ptxas) that turn compiled kernels into code: which there are, and their CUDA.

Sources of the paths: Triton, ``knobs.py`` (before 3.3 ``compiler.py``); torch,
``_inductor/runtime/compile_tasks.py``. Triton is found and not imported.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
from pathlib import Path
from typing import Dict, List, Optional

ANSWER_S = 20.0
"""ptxas tells its version in milliseconds; from a cold network disk it is 30 MB to read."""
_VERSION = re.compile(r"release \d+\.\d+, V(\d+\.\d+\.\d+)")
_FOLDERS = ("backends/nvidia/bin", "third_party/cuda/bin")
"""Of Triton 3, and of Triton 2."""
_VARIABLES = {"ptxas": "TRITON_PTXAS_PATH", "ptxas-blackwell": "TRITON_PTXAS_BLACKWELL_PATH"}


def found(torch_file: str) -> Dict[str, Dict[str, Optional[str]]]:
    """``path``, ``version`` and ``error`` of each assembler that is there.

    ``ptxas`` and ``ptxas-blackwell`` are those that Triton would call, a path from the environment
    before its own as Triton does it; ``torch`` is the one in torch's own folder.
    """
    paths = {name: _paths(name, variable) for name, variable in _VARIABLES.items()}
    paths["torch"] = [Path(torch_file).parent / "bin" / "ptxas"]
    answers = {}
    for name, places in paths.items():
        asked = [ask(place) for place in places if place.exists()]
        if asked:
            answers[name] = next((one for one in asked if one["version"]), asked[-1])
    return answers


def ask(path: Path) -> Dict[str, Optional[str]]:
    """Run one assembler for its version; ``error`` says why it has none."""
    try:
        done = subprocess.run(
            [str(path), "--version"], capture_output=True, text=True, timeout=ANSWER_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return {"path": str(path), "version": None, "error": f"{type(error).__name__}: {error}"}
    match = _VERSION.search(done.stdout)
    if match is None:
        silent = f"it ended with {done.returncode} and told no version"
        return {"path": str(path), "version": None, "error": silent}
    return {"path": str(path), "version": match[1], "error": None}


def _paths(name: str, variable: str) -> List[Path]:
    named = os.environ.get(variable)
    spec = importlib.util.find_spec("triton")
    roots = list(spec.submodule_search_locations or ()) if spec is not None else []
    owned = [Path(root, folder, name) for root in roots for folder in _FOLDERS]
    return [Path(named), *owned] if named else owned
