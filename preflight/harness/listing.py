"""The checks of some folders without running any, for ``preflight list``."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

from preflight.errors import CheckContractError
from preflight.harness.contract import MARKER, CheckSpec, read_spec, refuse_duplicates
from preflight.stages import position_of

PATTERN = "check_*.py"


def list_checks(folders: Iterable[Path]) -> tuple[CheckSpec, ...]:
    """Checks in the order in which they run.

    Raises CheckContractError, naming the file, for one that does not import or breaks the contract.
    """
    specs = [spec for path in _files(folders) for spec in _specs(path)]
    refuse_duplicates(specs)
    return tuple(sorted(specs, key=lambda spec: position_of(spec.stage)))


def _files(folders: Iterable[Path]) -> Iterator[Path]:
    for folder in folders:
        yield from sorted(folder.glob(PATTERN))


def _specs(path: Path) -> Iterator[CheckSpec]:
    module = _load(path)
    for name, function in vars(module).items():
        if name.startswith("check_") and inspect.isfunction(function):
            marks = [m for m in getattr(function, "pytestmark", []) if m.name == MARKER]
            where = f"{path}:{function.__code__.co_firstlineno}"
            yield read_spec(function, marks[0] if marks else None, where)


def _load(path: Path) -> ModuleType:
    name = f"preflight_listed_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None, "a .py file has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a user's file may raise anything
        raise CheckContractError(
            f"does not import: {type(error).__name__}: {error}", where=str(path), mend="mend it"
        ) from error
    finally:
        del sys.modules[name]
    return module
