"""Asks an interpreter where it looks for packages, without running anything of theirs."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from preflight.errors import UsageError

DEADLINE_S = 20.0
"""An interpreter on a cold network disk takes seconds to start."""
_MARK = "preflight-sites "
# -S keeps site from running .pth files and sitecustomize, so the virtual environment is found here.
_QUESTION = f"""
import json, os, sys, site
found = [p for p in sys.path if p]
home = os.path.dirname(os.path.abspath(sys.executable))
system, venv = True, None
for folder in (home, os.path.dirname(home)):
    path = os.path.join(folder, "pyvenv.cfg")
    if os.path.isfile(path):
        with open(path, encoding="utf-8", errors="replace") as lines:
            pairs = [line.partition("=") for line in lines]
        said = {{k.strip().lower(): v.strip().lower() for k, _, v in pairs}}
        system, venv = said.get("include-system-site-packages") == "true", folder
        break
site.PREFIXES = ([venv] if venv else []) + ([sys.prefix, sys.exec_prefix] if system else [])
user = site.getusersitepackages() if system and site.check_enableusersite() else None
print({_MARK!r} + json.dumps({{
    "version": "%d.%d" % sys.version_info[:2], "search": found,
    "sites": site.getsitepackages(), "user": user, "prefix": venv or sys.prefix,
    "safe": bool(getattr(sys.flags, "safe_path", False)),
}}))
"""


class Interpreter(msgspec.Struct, frozen=True, kw_only=True):
    """Where an interpreter looks for packages, in its order."""

    version: str
    """``3.11``."""
    search: tuple[str, ...]
    """PYTHONPATH, then the standard library."""
    user: str | None
    """The user site, which comes before the others; None where it is switched off."""
    sites: tuple[str, ...]
    prefix: str
    """The virtual environment, or where Python is installed."""
    safe: bool = False
    """Whether it leaves out the working folder (``-P``, PYTHONSAFEPATH)."""


def ask_interpreter(python: str) -> Interpreter:
    """The answer of the interpreter at ``python``; raises UsageError where it gives none."""
    # The harness brings pytest along, which takes longer to load than an audit of a folder.
    from preflight.harness.children import run_child

    try:
        end = run_child([python, "-S", "-c", _QUESTION], deadline_s=DEADLINE_S)
    except OSError as error:
        raise _unusable(python, error.strerror or str(error)) from error
    for line in end.output.splitlines():
        if line.startswith(_MARK):
            return msgspec.convert(json.loads(line.removeprefix(_MARK)), Interpreter)
    raise _unusable(python, f"it {end.sentence()}: {end.output.strip()[-300:]}")


def _unusable(python: str, why: str) -> UsageError:
    return UsageError(
        f"{python} does not answer as a Python: {why}",
        where="--python",
        mend="name another interpreter, or its packages' folder with --site",
    )


def working_folder() -> Path | None:
    """The working folder; None where it is gone."""
    try:
        return Path.cwd()
    except OSError:
        return None
