"""Libraries that nvcc itself has built, where it is installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from preflight.auditing.library_files import read_library
from preflight.compat.coverage import cover
from preflight.compat.device_code import DeviceLibrary

SOURCE = """
__global__ void add(float *x) { x[threadIdx.x] += 1; }
extern "C" void go(float *x) { add<<<1, 32>>>(x); }
"""
TARGETS = ("sm_75", "sm_90", "sm_90a", "sm_100", "sm_100a", "sm_103", "sm_120")
"""Without sm_100f, which nvcc does not build beside sm_100."""
WITHOUT_RUNTIME = ("-cudart", "none")
"""Keeps the library small; it could not be loaded."""


class Builder:
    """Builds small libraries, each once."""

    def __init__(self, folder: Path, nvcc: str) -> None:
        self._folder = folder
        self._nvcc = nvcc
        self._built: dict[tuple[str, ...], DeviceLibrary] = {}
        (folder / "add.cu").write_text(SOURCE)

    def __call__(self, *flags: str) -> DeviceLibrary:
        """The device code of a library that is built with these flags."""
        if flags not in self._built:
            path = self._folder / f"lib{len(self._built)}.so"
            command = [self._nvcc, "-shared", "-Xcompiler", "-fPIC", *flags, "-o", str(path)]
            done = subprocess.run(
                [*command, "add.cu"],
                cwd=self._folder,
                capture_output=True,
                text=True,
                timeout=120,
                check=False,
            )
            if "Unsupported gpu architecture" in done.stderr:
                pytest.skip(f"this nvcc is too old or too new: {done.stderr.strip()}")
            assert not done.returncode, done.stderr
            self._built[flags] = read_library(path, shown=path.name).device
        return self._built[flags]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    """A builder; skips where there is no nvcc."""
    nvcc = shutil.which("nvcc")
    if nvcc is None:
        pytest.skip("nvcc is not installed")
    return Builder(tmp_path_factory.mktemp("nvcc"), nvcc)


def code(target: str, *more: str) -> str:
    """The flag for one target: ``sm_90a``; ``more`` are further codes of the same PTX."""
    ptx = target.replace("sm_", "compute_")
    return f"-gencode=arch={ptx},code=[{','.join([target, *more])}]"


@pytest.mark.parametrize("packing", [(), ("-Xfatbin", "-compress-all"), ("--no-compress",)])
def test_every_target_is_read_whatever_the_packing(
    build: Builder, packing: tuple[str, ...]
) -> None:
    """All suffixes, compressed and not, are those that nvcc was asked for."""
    found = build(*WITHOUT_RUNTIME, *packing, *map(code, TARGETS))
    assert (found.kind, found.num_fatbins, found.trouble) == ("cuda", 1, "")
    assert found.in_all == set(TARGETS)


def test_ptx_alone(build: Builder) -> None:
    """A library without a cubin runs on what is newer, through the driver's compiler."""
    found = build(*WITHOUT_RUNTIME, "-gencode=arch=compute_90,code=compute_90")
    assert found.in_all == {"compute_90"}
    assert len(found.isas) == 1
    on_100, on_89 = cover(found, "sm_100"), cover(found, "sm_89")
    assert (on_100.word, on_100.num_through_ptx, on_89.word) == ("yes", 1, "no")
    assert cover(found, "sm_100", driver="450.80.02").word == "no"


def test_the_linkers_dummy_is_not_counted(build: Builder) -> None:
    """With the CUDA runtime nvcc links device code too, and adds a fat binary without kernels."""
    found = build(code("sm_90a", "compute_90a"), code("sm_100"))
    assert found.num_fatbins == 1
    assert found.in_all == {"sm_90a", "compute_90a", "sm_100"}


def test_relocatable_code_counts_once_it_is_linked(build: Builder) -> None:
    """With -rdc=true the linked code counts, without the PTX of the relocatable code."""
    found = build("-rdc=true", code("sm_90", "compute_90"))
    assert (found.num_fatbins, found.in_all, found.is_unlinked) == (1, {"sm_90"}, False)


def test_relocatable_code_that_nobody_linked(build: Builder) -> None:
    """Without the runtime nvcc leaves the link out, and none of the kernels can be launched."""
    found = build("-rdc=true", *WITHOUT_RUNTIME, code("sm_90"))
    assert (found.in_all, found.is_unlinked) == ({"sm_90"}, True)


@pytest.mark.parametrize(
    ("architecture", "word"),
    [
        ("sm_75", "yes"),
        ("sm_80", "no"),
        ("sm_89", "no"),
        ("sm_90", "yes"),
        ("sm_100", "yes"),
        ("sm_103", "yes"),
        ("sm_120", "yes"),
        ("sm_121", "yes"),
        ("sm_110", "no"),
    ],
)
def test_what_it_covers(build: Builder, architecture: str, word: str) -> None:
    """Turing's code runs on no Ampere, and 12.0 serves 12.1."""
    found = build(*WITHOUT_RUNTIME, *map(code, TARGETS))
    assert cover(found, architecture).word == word


@pytest.mark.parametrize(
    ("target", "runs", "fails"),
    [
        ("sm_90a", ("sm_90",), ("sm_100",)),
        ("sm_100a", ("sm_100",), ("sm_103",)),
        ("sm_100f", ("sm_100", "sm_103"), ("sm_110", "sm_120")),
    ],
)
def test_suffixes_bind(
    build: Builder, target: str, runs: tuple[str, ...], fails: tuple[str, ...]
) -> None:
    """Code with an ``a`` runs on one architecture, with an ``f`` on a family."""
    found = build(*WITHOUT_RUNTIME, code(target))
    assert all(cover(found, one).word == "yes" for one in runs)
    assert all(cover(found, one).word == "no" for one in fails)
