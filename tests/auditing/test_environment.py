"""An environment, looked at from its folders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from compat.binaries import code_object, elf, library

from preflight.auditing.environment import look_at
from preflight.auditing.places import USER_SITE, WORKING_FOLDER, Place, place_of_folder
from preflight.auditing.roots import Root
from preflight.compat.installed import NO_DISTRIBUTION, Installed, Torch

from .site import cuda, install, install_torch


def look(site: Path, *only: str) -> Installed:
    """What stands in a folder of packages."""
    return look_at(place_of_folder(str(site)), frozenset(only))


def paths(found: Installed, name: str) -> list[str]:
    """Paths of the libraries of a distribution."""
    (one,) = (each for each in found.distributions if each.name == name)
    return [library.path for library in one.libraries]


def test_distributions_libraries_and_torch(tmp_path: Path) -> None:
    """Nothing is imported: torch here raises where it is."""
    install_torch(tmp_path, {"torch/lib/libtorch_cuda.so": cuda("sm_90", "sm_100")})
    install(tmp_path, "numpy", "2.4", {"numpy/__init__.py": b"", "numpy/x.so": elf({})})
    found = look(tmp_path)
    assert [one.name for one in found.distributions] == ["numpy", "torch"]
    assert found.torch == Torch(version="2.14.1+cu130", cuda="13.0")
    (main,) = found.distributions[1].libraries
    assert main.device.in_all == {"sm_90", "sm_100"}
    assert main.recorded_bytes == main.num_bytes


@pytest.mark.parametrize(
    ("version", "torch"),
    [
        ("2.9.1+rocm6.4", Torch(version="2.9.1+rocm6.4", hip="6.4")),
        ("2.13.0+cpu", Torch(version="2.13.0+cpu")),
    ],
)
def test_what_torch_is_built_for(tmp_path: Path, version: str, torch: Torch) -> None:
    """It stands in torch/version.py, which is read as text."""
    install_torch(tmp_path, version=version)
    assert look(tmp_path).torch == torch


def test_a_torch_without_its_version_file(tmp_path: Path) -> None:
    """The version of the distribution is all that is known then."""
    install(tmp_path, "torch", "2.1.0")
    assert look(tmp_path).torch == Torch(version="2.1.0")


def test_files_of_no_distribution(tmp_path: Path) -> None:
    """A library that no RECORD names is found, and so is a code object beside it."""
    install(tmp_path, "x", "1.0", {"x/a.so": cuda("sm_90")})
    (tmp_path / "x/b.so").write_bytes(cuda("sm_80"))
    (tmp_path / "x/c.hsaco").write_bytes(code_object(0x4C))
    found = look(tmp_path)
    assert paths(found, "x") == ["x/a.so"]
    assert paths(found, NO_DISTRIBUTION) == ["x/b.so", "x/c.hsaco"]


def test_a_library_with_several_names_counts_once(tmp_path: Path) -> None:
    """Links to a library are the library; that goes for links to its folder, too."""
    install(tmp_path, "x", "1.0", {"x/libx.so.1.2": cuda("sm_90")})
    (tmp_path / "x/libx.so.1").symlink_to("libx.so.1.2")
    (tmp_path / "x/libx.so").symlink_to("libx.so.1")
    (tmp_path / "y").symlink_to("x")
    found = look(tmp_path)
    assert [len(one.libraries) for one in found.distributions] == [1]


def test_hostile_names(tmp_path: Path) -> None:
    """A folder named x.so, a link to nowhere, a file of zeros, and a name that is no text."""
    install(tmp_path, "x", "1.0", {"x/zeros.so": b"\0" * 5000})
    (tmp_path / "x/folder.so").mkdir()
    (tmp_path / "x/gone.so").symlink_to("nowhere.so")
    (tmp_path / os.fsdecode(b"x/\xff.so")).write_bytes(cuda("sm_90"))
    found = look(tmp_path)
    (zeros,) = (one for d in found.distributions if d.name == "x" for one in d.libraries)
    assert "zeros" in zeros.device.trouble
    loose = {
        one.path: one.absence.detail if one.absence else ""
        for d in found.distributions
        if d.name == NO_DISTRIBUTION
        for one in d.libraries
    }
    assert loose == {
        "x/folder.so": "it is a folder",
        "x/gone.so": "the link points nowhere",
        "x/\\udcff.so": "",
    }


def test_a_recorded_library_that_is_gone(tmp_path: Path) -> None:
    """RECORD names it, and it is not there."""
    install(tmp_path, "x", "1.0", {"x/a.so": cuda("sm_90")})
    (tmp_path / "x/a.so").unlink()
    (one,) = look(tmp_path).distributions[0].libraries
    assert one.absence is not None
    assert one.absence.detail == "it is recorded and not there"


def test_only_some_packages(tmp_path: Path) -> None:
    """The others are known by name, and found by those that need them."""
    install(tmp_path, "x", "1.0", {"x/libx.so": library(soname="libx.so", needed=["liby.so"])})
    install(tmp_path, "y", "1.0", {"y/liby.so": library(soname="liby.so")})
    found = look(tmp_path, "x")
    assert [one.name for one in found.distributions] == ["x"]
    assert set(found.names) == {"x", "y"}
    assert found.distributions[0].libraries[0].missing == ()


def test_what_nothing_provides(tmp_path: Path) -> None:
    """Neither the environment, nor the system, nor the driver brings it."""
    needed = ["libgone.so.7", "libcuda.so.1", "libc.so.6", "liby.so"]
    install(tmp_path, "x", "1.0", {"x/libx.so": library(needed=needed)})
    install(tmp_path, "y", "1.0", {"y/liby.so.1": library(soname="liby.so")})
    (one,) = look(tmp_path, "x").distributions[0].libraries
    assert one.missing == ("libgone.so.7",)


def test_two_copies_of_a_library(tmp_path: Path) -> None:
    """cu12 beside cu13, with the distributions they belong to."""
    for name, soname in (
        ("nvidia-cublas-cu12", "libcublas.so.12"),
        ("nvidia-cublas", "libcublas.so.13"),
    ):
        install(tmp_path, name, "1.0", {f"{name}/{soname}": library(soname=soname)})
    (copies,) = look(tmp_path).copies
    assert copies.family == "libcublas"
    assert copies.sonames == ("libcublas.so.12", "libcublas.so.13")
    assert "nvidia-cublas-cu12/libcublas.so.12 (nvidia-cublas-cu12)" in copies.places


def test_two_distributions_with_one_file(tmp_path: Path) -> None:
    """Both have recorded it, one has written it last."""
    files = {"nvidia/nccl/lib/libnccl.so.2": library(soname="libnccl.so.2")}
    install(tmp_path, "nvidia-nccl-cu12", "2.27.5", files)
    install(tmp_path, "nvidia-nccl-cu13", "2.30.7", files)
    (owned,) = look(tmp_path).doubly_owned
    assert owned.distributions == ("nvidia-nccl-cu12 2.27.5", "nvidia-nccl-cu13 2.30.7")
    assert owned.files == ("nvidia/nccl/lib/libnccl.so.2",)


def test_of_two_sites_the_first_is_python_s(tmp_path: Path) -> None:
    """The user site hides a distribution of the environment, which is told and not judged."""
    user, site = tmp_path / "user", tmp_path / "site"
    install_torch(user, {"torch/lib/libtorch_cuda.so": cuda("sm_80")}, version="2.3.0+cu121")
    install_torch(site, {"torch/lib/libtorch_cuda.so": cuda("sm_100")})
    found = look_at(Place(subject="x", root=Root(), sites=(user, site), user_site=user))
    (torch,) = found.distributions
    assert (torch.version, torch.libraries[0].device.in_all) == ("2.3.0", {"sm_80"})
    assert found.torch == Torch(version="2.3.0+cu121", cuda="12.1")
    (shadow,) = found.shadows
    assert (shadow.place, shadow.module, shadow.taken, shadow.hidden_version) == (
        USER_SITE,
        "torch",
        "torch 2.3.0",
        "2.14.1",
    )


def test_the_working_folder_hides_a_package(tmp_path: Path) -> None:
    """A checkout of torch in the working folder is imported in place of the installed one."""
    work, site = tmp_path / "work", tmp_path / "site"
    install_torch(site)
    install(site, "six", "1.0", {"six.py": b""})
    (work / "torch").mkdir(parents=True)
    place = Place(subject="x", root=Root(), sites=(site,), before=((work, WORKING_FOLDER),))
    assert look_at(place).shadows == ()
    (work / "torch/__init__.py").touch()
    (work / "six.py").touch()
    found = look_at(place).shadows
    assert {(one.module, one.hidden, one.place) for one in found} == {
        ("torch", "torch", WORKING_FOLDER),
        ("six", "six", WORKING_FOLDER),
    }


def test_an_editable_installation_does_not_hide_itself(tmp_path: Path) -> None:
    """Its checkout is the working folder of whoever develops it."""
    project, site = tmp_path / "project", tmp_path / "site"
    (project / "x").mkdir(parents=True)
    (project / "x/__init__.py").touch()
    install(
        site,
        "x",
        "1.0",
        extra={
            "direct_url.json": f'{{"url": "{project.as_uri()}", "dir_info": {{"editable": true}}}}',
            "top_level.txt": "x",
        },
    )
    place = Place(subject="x", root=Root(), sites=(site,), before=((project, WORKING_FOLDER),))
    assert look_at(place).shadows == ()


def test_folders_of_pth_files_have_distributions(tmp_path: Path) -> None:
    """A project whose metadata lie beside its source is found by the .pth file that adds it."""
    site, project = tmp_path / "site-packages", tmp_path / "project"
    (project / "dev.egg-info").mkdir(parents=True)
    (project / "dev.egg-info/PKG-INFO").write_text("Name: dev\nVersion: 2\n")
    (project / "dev.so").write_bytes(cuda("sm_90"))
    site.mkdir()
    (site / "easy-install.pth").write_text(f"{project}\n")
    (one,) = look(site).distributions
    assert (one.name, one.libraries[0].device.in_all) == ("dev", {"sm_90"})
