"""Where check files and report templates lie: in the package, or beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def checks_folder() -> Path:
    """Folder of the shipped check files."""
    return _folder("checks")


def reports_folder() -> Path:
    """Folder of the report templates, the SVG macros and the style sheet."""
    return _folder("reports")


def _folder(name: str) -> Path:
    """``preflight/<name>`` as a wheel installs it, else ``<name>`` at the root of the checkout."""
    inside = _PACKAGE / name
    return inside if inside.is_dir() else _PACKAGE.parent / name
