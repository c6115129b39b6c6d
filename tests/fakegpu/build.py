"""Builds the libraries of the fake devices once for each torch and source.

torch is not imported: the process of the tests must not have devices.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

NATIVE = Path(__file__).with_name("native")
KEPT = 4
"""Builds that are kept; older ones are deleted."""


class CannotBuildError(Exception):
    """There is no compiler, or no torch that the fakes can join."""


@dataclass(frozen=True, kw_only=True)
class Libraries:
    """Where the two libraries are."""

    torch: Path
    """Gives torch the devices."""
    nvml_folder: Path
    """Holds libnvidia-ml.so.1."""


def build() -> Libraries:
    """The libraries for the installed torch; raises CannotBuildError with the reason."""
    torch = _torch_folder()
    folder = _cache() / _key(torch)
    libraries = Libraries(torch=folder / "libfakecuda.so", nvml_folder=folder)
    with _locked(folder.with_suffix(".lock")):
        if not (folder / "done").exists():
            folder.mkdir(exist_ok=True)
            _compile_fake(torch, libraries.torch)
            _compile_nvml(folder / "libnvidia-ml.so.1")
            (folder / "done").touch()
            _forget_old_builds(folder.parent)
    return libraries


def libraries_or_skip() -> Libraries:
    """The same, or the test is skipped with the reason."""
    try:
        return build()
    except CannotBuildError as error:
        pytest.skip(f"no fake devices: {error}")


def _torch_folder() -> Path:
    spec = importlib.util.find_spec("torch")
    if spec is None or spec.origin is None:
        raise CannotBuildError("torch is not installed")
    folder = Path(spec.origin).parent
    if any((folder / "lib").glob("libtorch_cuda*")) or any((folder / "lib").glob("libtorch_hip*")):
        raise CannotBuildError("this torch has devices of its own; the fakes need a CPU-only build")
    return folder


def _cache() -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "preflight-fakegpu"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _key(torch: Path) -> str:
    digest = hashlib.sha256((torch / "version.py").read_bytes())
    digest.update(str(torch).encode())  # the library names this folder as its run path
    for path in (Path(__file__), *sorted(NATIVE.iterdir())):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """One process builds, those of other xdist workers wait for it."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _compile_fake(torch: Path, target: Path) -> None:
    include, lib = torch / "include", torch / "lib"
    _compile(
        "g++",
        *("-std=c++20", "-O0", "-w"),  # warnings of torch's headers are not ours
        *(f"-I{include}", f"-I{include / 'torch/csrc/api/include'}"),
        str(NATIVE / "fakecuda.cpp"),
        *(f"-L{lib}", "-ltorch_cpu", "-lc10", f"-Wl,-rpath,{lib}"),
        target=target,
    )


def _compile_nvml(target: Path) -> None:
    _compile("gcc", "-Wall", "-Werror", str(NATIVE / "nvml.c"), target=target)


def _compile(compiler: str, *arguments: str, target: Path) -> None:
    if shutil.which(compiler) is None:
        raise CannotBuildError(f"there is no {compiler}")
    command = [compiler, "-shared", "-fPIC", *arguments, "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise AssertionError(f"{target.name} cannot be built:\n{done.stderr[-4000:]}")


def _forget_old_builds(cache: Path) -> None:
    folders = [path for path in cache.iterdir() if path.is_dir()]
    for old in sorted(folders, key=lambda path: path.stat().st_mtime, reverse=True)[KEPT:]:
        shutil.rmtree(old, ignore_errors=True)
