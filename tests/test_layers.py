"""What may import what: the layers of the project, and that the controller never imports torch."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import preflight

PACKAGE = Path(preflight.__file__).parent
CHECKS = PACKAGE.parent / "checks"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "clock", "terminal", "quantities", "redaction", "folders", "facts"),
    ("stages", "order_folder"),
    ("records", "injection"),
    ("verdict", "gates", "events"),
    ("assembly", "plan", "compat", "hardware"),
    ("probes",),
    ("harness",),
    ("rendering",),
    ("schemas", "path_table", "outputs", "run_folder"),
    ("engine", "progress", "first_plan"),
    ("request", "reading", "summary"),
    ("inspection", "explanation", "auditing"),
    ("cli",),
    ("__main__",),
)
"""From the ground up; a module imports from layers below its own, a folder within itself too."""
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}

MODULES = sorted(PACKAGE.rglob("*.py"))
CHECK_FILES = sorted(CHECKS.glob("check_*.py"))
VENDORS = {"pynvml", "amdsmi", "nvidia_smi", "rocm_smi"}


def dotted(path: Path) -> str:
    """``preflight.harness.plugin`` of a file."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def family(name: str) -> str:
    """``harness`` of ``preflight.harness.plugin``; empty for the package root."""
    return name.split(".")[1] if "." in name else ""


@cache
def imports(path: Path) -> tuple[str, ...]:
    """Dotted names a file imports anywhere, in functions too; relative ones resolved."""
    names: list[str] = []
    here = dotted(path).split(".")
    package = here if path.stem == "__init__" else here[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            whole = ".".join([*base, *([node.module] if node.module else [])])
            # "from preflight import clock" imports a module, "from preflight.errors import X" not.
            names += [_module_or(whole, alias.name) for alias in node.names]
    return tuple(names)


def _module_or(whole: str, name: str) -> str:
    folder = PACKAGE.parent.joinpath(*whole.split("."))
    inside = (folder / f"{name}.py").exists() or (folder / name / "__init__.py").exists()
    return f"{whole}.{name}" if inside else whole


def of_preflight(path: Path) -> Iterator[str]:
    """Modules of preflight that a file imports."""
    return (name for name in imports(path) if name.split(".")[0] == "preflight")


def names_of(paths: list[Path]) -> list[str]:
    """Short names for the tests of some files."""
    return [str(path.relative_to(PACKAGE.parent)) for path in paths]


def test_every_module_has_a_layer() -> None:
    """A new module is put on a layer on purpose, and none is on a layer that is gone."""
    assert {family(dotted(path)) for path in MODULES} - {""} == set(LEVEL)


@pytest.mark.parametrize("path", MODULES, ids=names_of(MODULES))
def test_imports_point_down(path: Path) -> None:
    """A module imports only from layers below its own, and from its own folder."""
    mine = family(dotted(path))
    for name in of_preflight(path):
        other = family(name)
        if other and other != mine:
            assert LEVEL[other] < LEVEL[mine], f"{dotted(path)} imports {name}"


def test_there_is_no_cycle() -> None:
    """No module imports itself through others, inside a folder either."""
    graph = {dotted(path): set(of_preflight(path)) - {dotted(path)} for path in MODULES}
    # A folder's page of names imports its modules; those import the modules, not the page.
    settled: set[str] = set()
    while left := {name: needs - settled for name, needs in graph.items() if name not in settled}:
        free = {name for name, needs in left.items() if not needs & set(left)}
        assert free, f"a cycle among {sorted(left)}"
        settled |= free


@pytest.mark.parametrize("path", MODULES, ids=names_of(MODULES))
def test_only_the_version_comes_from_the_package_root(path: Path) -> None:
    """Nobody imports the root of the package, but for the version that stands there."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "preflight":
            loose = [a.name for a in node.names if _module_or("preflight", a.name) == "preflight"]
            assert loose in ([], ["__version__"])
        elif isinstance(node, ast.Import):
            assert "preflight" not in [alias.name for alias in node.names]


@pytest.mark.parametrize("path", [*MODULES, *CHECK_FILES], ids=names_of([*MODULES, *CHECK_FILES]))
def test_only_probes_import_torch(path: Path) -> None:
    """torch is imported in probe processes alone, not even inside a function elsewhere."""
    tops = {name.split(".")[0] for name in imports(path)}
    if path.parent.name != "probes":
        assert not tops & {"torch", "triton", "numpy"}


@pytest.mark.parametrize("path", [*MODULES, *CHECK_FILES], ids=names_of([*MODULES, *CHECK_FILES]))
def test_only_the_hardware_folder_names_a_vendors_library(path: Path) -> None:
    """No module outside ``hardware`` imports NVML or AMD SMI."""
    tops = {name.split(".")[0] for name in imports(path)}
    if path.parent.name != "hardware":
        assert not tops & VENDORS


PROBES = [path for path in MODULES if path.parent.name == "probes"]


@pytest.mark.parametrize("path", PROBES, ids=names_of(PROBES))
def test_probes_know_nothing_of_preflight(path: Path) -> None:
    """Probes run where preflight is not installed: the standard library, torch, and siblings."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level <= 1, "a probe reaches above its folder"
            if node.level == 0:
                assert (node.module or "").split(".")[0] in sys.stdlib_module_names | {"torch"}
        elif isinstance(node, ast.Import):
            for alias in node.names:
                assert alias.name.split(".")[0] in sys.stdlib_module_names | {"torch"}


@pytest.mark.parametrize("path", CHECK_FILES, ids=[path.name for path in CHECK_FILES])
def test_checks_use_the_open_part_of_the_harness(path: Path) -> None:
    """A check file imports words, judgement and the harness's own page, never the engine.

    Of the hardware it may know the catalogue, which is data.
    """
    allowed = {"facts", "harness", "records", "events", "plan", "compat", "quantities", "stages"}
    for name in of_preflight(path):
        if name == "preflight.hardware.catalog":
            continue
        assert family(name) in allowed
        if family(name) == "harness":
            assert name == "preflight.harness"


@pytest.mark.parametrize(
    "modules",
    [
        "preflight.cli",
        "preflight.engine",
        "preflight.rendering.report_html",
        "preflight.request, preflight.reading, preflight.first_plan, preflight.schemas",
        "preflight.harness.plugin, preflight.harness.session",
        "preflight.hardware.inventory",
    ],
)
def test_a_fresh_interpreter_imports_no_torch(modules: str) -> None:
    """After importing the controller's modules there is no torch in the process."""
    code = f"import sys; import {modules}; print('torch' in sys.modules, 'numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["False", "False"]
