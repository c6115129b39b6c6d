"""One module of the plan, imported in a process that has imported nothing else."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import site
import sys
import sysconfig
import time
from pathlib import Path
from typing import Any, Dict, List, Optional

from . import reply


def load(name: str, kernel: Optional[str] = None) -> Dict[str, Any]:
    """Import ``name``; ``kernel`` (``module:function``) is then called, without arguments.

    ``place`` says where the file lies: ``site-packages``, ``standard library``, and as signs of
    shadowing ``working folder`` and ``user site``; ``elsewhere`` is a path entry of the user's own.
    """
    reply.progress(f"import {name}")
    start = time.perf_counter()
    module = importlib.import_module(name)
    seconds = time.perf_counter() - start
    file = getattr(module, "__file__", None) or _namespace_folder(module)
    answer: Dict[str, Any] = {
        "module": name,
        "version": _version(name, module),
        "file": file,
        "place": _place(file),
        "seconds": seconds,
        "kernel": None,
    }
    if kernel is not None:
        answer["kernel"] = _run(kernel)
    return answer


def _run(kernel: str) -> Dict[str, Any]:
    """Call ``module:function`` and wait for every device, so that a late error is its own."""
    module, colon, function = kernel.partition(":")
    if not colon or not function:
        raise ValueError(f"kernel {kernel!r}: write module:function")
    reply.progress(f"run {kernel}")
    call: Any = importlib.import_module(module)
    for part in function.split("."):
        call = getattr(call, part)
    start = time.perf_counter()
    call()
    _wait_for_devices()
    return {"call": kernel, "seconds": time.perf_counter() - start}


def _wait_for_devices() -> None:
    torch: Any = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.synchronize()


def _namespace_folder(module: Any) -> Optional[str]:
    """Folder of a package without ``__init__.py``: a leftover, or a clone in the cwd."""
    paths: List[str] = list(getattr(module, "__path__", []))
    return paths[0] if paths else None


def _version(name: str, module: Any) -> Optional[str]:
    """``__version__``, else the version of the one distribution that brings this module."""
    version = getattr(module, "__version__", None)
    if isinstance(version, str):
        return version
    top = name.partition(".")[0]
    owners = _owners(top)
    return importlib.metadata.version(owners[0]) if len(owners) == 1 else None


def _owners(top: str) -> List[str]:
    if hasattr(importlib.metadata, "packages_distributions"):  # Python >= 3.10
        return sorted(set(importlib.metadata.packages_distributions().get(top, [])))
    wanted = re.sub(r"[-_.]+", "-", top).lower()
    found = (d.metadata["Name"] or "" for d in importlib.metadata.distributions())
    return sorted({n for n in found if re.sub(r"[-_.]+", "-", n).lower() == wanted})


def _place(file: Optional[str]) -> str:
    if file is None:
        return "built in"
    path = Path(file).resolve()
    if site.ENABLE_USER_SITE and _inside(path, site.getusersitepackages()):
        return "user site"
    if "site-packages" in path.parts or "dist-packages" in path.parts:
        return "site-packages"
    if _inside(path, sysconfig.get_paths()["stdlib"]):
        return "standard library"
    return "working folder" if _inside(path, str(Path.cwd())) else "elsewhere"


def _inside(path: Path, folder: str) -> bool:
    return Path(folder).resolve() in path.parents
