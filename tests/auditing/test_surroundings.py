"""What libraries find around them."""

from __future__ import annotations

from pathlib import Path

import pytest
from compat.binaries import elf, library

from preflight.auditing.environment import look_at
from preflight.auditing.places import Place, place_of_folder
from preflight.auditing.roots import Root
from preflight.compat.installed import Library

from .site import install, install_torch

OLD, NEW = "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs", "_ZN3c1010TensorImpl4sizeEv"
OWN = "_ZN5torch5audio4loadEv"


def extension(site: Path, *undefined: str, defined: tuple[str, ...] = ()) -> Library:
    """An extension of torch in an environment whose torch has NEW and not OLD."""
    install_torch(
        site,
        {
            "torch/lib/libc10.so": library(soname="libc10.so", defined=[NEW]),
            "torch/lib/libtorch_cpu.so": library(soname="libtorch_cpu.so", defined=["_ZN2at1aEv"]),
        },
    )
    files = {
        "x/_C.so": library(needed=["libc10.so", "libtorch_cpu.so"], undefined=undefined),
        "x/libown.so": library(soname="libown.so", defined=defined),
    }
    install(site, "x", "1.0", files)
    found = look_at(place_of_folder(str(site)), frozenset({"x"}))
    return found.distributions[0].libraries[0]


@pytest.mark.parametrize(
    ("undefined", "unresolved"),
    [
        ((NEW, "_ZN2at1aEv", "memcpy"), ()),
        ((NEW, OLD), (OLD,)),
        ((OLD, "_ZN2at4goneEv"), (OLD, "_ZN2at4goneEv")),
        ((OWN,), (OWN,)),
    ],
)
def test_symbols_are_looked_for_in_the_torch_that_is_installed(
    tmp_path: Path, undefined: tuple[str, ...], unresolved: tuple[str, ...]
) -> None:
    """What an import would end with is known before it."""
    assert extension(tmp_path, *undefined).unresolved == unresolved


def test_symbols_of_the_packages_own_libraries_are_resolved(tmp_path: Path) -> None:
    """A package may define names in torch's namespace itself."""
    assert extension(tmp_path, OWN, NEW, defined=(OWN,)).unresolved == ()


def test_nothing_is_unresolved_without_a_torch(tmp_path: Path) -> None:
    """Where no torch is there is nothing to compare with."""
    install(tmp_path, "x", "1.0", {"x/_C.so": library(needed=["libc10.so"], undefined=[OLD])})
    (one,) = look_at(place_of_folder(str(tmp_path))).distributions[0].libraries
    assert one.unresolved == ()
    assert one.missing == ("libc10.so",)


def test_a_torch_that_is_damaged_defines_nothing(tmp_path: Path) -> None:
    """A library without a table of symbols resolves none, and ends in no exception."""
    install_torch(tmp_path, {"torch/lib/libc10.so": elf({".text": b"\x90"})})
    install(tmp_path, "x", "1.0", {"x/_C.so": library(needed=["libc10.so"], undefined=[NEW])})
    found = look_at(place_of_folder(str(tmp_path)), frozenset({"x"}))
    assert found.distributions[0].libraries[0].unresolved == (NEW,)


def conflicts(tmp_path: Path, **paths: str) -> list[tuple[str, str]]:
    """What an extension with these paths takes, where the environment has its own cuDNN."""
    site, toolkit = tmp_path / "site", tmp_path / "cuda/lib64"
    toolkit.mkdir(parents=True, exist_ok=True)
    cudnn = library(soname="libcudnn.so.9")
    (toolkit / "libcudnn.so.9").write_bytes(cudnn)
    (toolkit / "libother.so").write_bytes(cudnn)
    install(site, "nvidia-cudnn-cu13", "9.0", {"nvidia/cudnn/lib/libcudnn.so.9": cudnn})
    needed = ["libcudnn.so.9", "libother.so", "libc.so.6"]
    path = paths.pop("library_path", "")
    install(site, "x", "1.0", {"x/_C.so": library(needed=needed, **paths)})
    place = Place(
        subject="x", root=Root(), sites=(site,), library_path=(Path(path),) if path else ()
    )
    found = look_at(place, frozenset({"x"})).distributions[0].libraries[0]
    return [(one.because, one.taken) for one in found.conflicts]


def test_a_toolkit_on_ld_library_path_comes_before_the_environments_own(tmp_path: Path) -> None:
    """DT_RUNPATH, which wheels have, comes after LD_LIBRARY_PATH."""
    toolkit = tmp_path / "cuda/lib64"
    own = "$ORIGIN/../nvidia/cudnn/lib"
    expected = [("LD_LIBRARY_PATH", str(toolkit / "libcudnn.so.9"))]
    assert conflicts(tmp_path, runpath=own, library_path=str(toolkit)) == expected
    assert conflicts(tmp_path, rpath=own, library_path=str(toolkit)) == []
    assert conflicts(tmp_path, runpath=own) == []


@pytest.mark.parametrize("kind", ["rpath", "runpath"])
def test_a_path_into_a_toolkit_comes_before_the_environments_own(tmp_path: Path, kind: str) -> None:
    """An extension that was built on this machine has the toolkit's folder in it."""
    toolkit = tmp_path / "cuda/lib64"
    assert conflicts(tmp_path, **{kind: str(toolkit)}) == [
        (kind.upper(), str(toolkit / "libcudnn.so.9"))
    ]


def test_the_same_file_under_another_name_is_no_conflict(tmp_path: Path) -> None:
    """A folder of links to the environment's own libraries leads to these."""
    links = tmp_path / "links"
    links.mkdir()
    (links / "libcudnn.so.9").symlink_to(tmp_path / "site/nvidia/cudnn/lib/libcudnn.so.9")
    assert conflicts(tmp_path, library_path=str(links)) == []


def test_a_copy_of_the_system_is_no_conflict(tmp_path: Path) -> None:
    """It comes last, and torch has loaded the environment's own by then."""
    cudnn = library(soname="libcudnn.so.9")
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "usr/lib/libcudnn.so.9").write_bytes(cudnn)
    site = tmp_path / "site"
    install(site, "nvidia-cudnn-cu13", "9.0", {"nvidia/cudnn/lib/libcudnn.so.9": cudnn})
    install(site, "x", "1.0", {"x/_C.so": library(needed=["libcudnn.so.9"])})
    place = Place(subject="x", root=Root(tmp_path), sites=(site,))
    (found,) = look_at(place, frozenset({"x"})).distributions[0].libraries
    assert (found.conflicts, found.missing) == ((), ())
