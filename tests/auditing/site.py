"""Folders of packages, made of real files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from compat.binaries import elf, fatbin


def cuda(*targets: str) -> bytes:
    """A library with one fat binary."""
    return elf({".nv_fatbin": fatbin(*targets)})


def install(
    site: Path,
    name: str,
    version: str,
    files: Mapping[str, bytes] | None = None,
    *,
    extra: Mapping[str, str] | None = None,
    record: bool = True,
) -> Path:
    """Put a distribution into a site with its RECORD; the folder of its metadata."""
    rows = []
    for path, data in (files or {}).items():
        place = site / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
        rows.append(f"{path},sha256=x,{len(data)}")
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\nX"
    )
    for path, text in (extra or {}).items():
        (folder / path).write_text(text)
    if record:
        (folder / "RECORD").write_text("\n".join([*rows, f"{folder.name}/RECORD,,"]) + "\n")
    return folder


def install_torch(
    site: Path, files: Mapping[str, bytes] | None = None, *, version: str = "2.14.1+cu130"
) -> None:
    """Put a torch there; the part after the plus says what it is built for."""
    _, _, build = version.partition("+")
    cuda_version = f"{build[2:4]}.{build[4:]}" if build.startswith("cu") else None
    hip_version = build[4:] if build.startswith("rocm") else None
    text = (
        "from typing import Optional\n"
        f"__version__ = {version!r}\n"
        f"cuda: Optional[str] = {cuda_version!r}\n"
        f"hip: Optional[str] = {hip_version!r}\n"
    )
    own = {"torch/__init__.py": b"raise SystemExit('imported')", "torch/version.py": text.encode()}
    install(site, "torch", version.partition("+")[0], {**own, **(files or {})})
