"""Distributions and their files."""

from __future__ import annotations

import json
from pathlib import Path

from preflight.auditing.distributions import (
    Found,
    find_distributions,
    linked_folders,
    walk_libraries,
)
from preflight.auditing.roots import Root

from .site import install


def find(site: Path) -> dict[str, Found]:
    """Distributions of a site by name."""
    return {one.name: one for one in find_distributions(site, Root())}


def test_a_distribution_and_its_libraries(tmp_path: Path) -> None:
    """Name as spelled, version, libraries with the sizes that RECORD has, and modules."""
    files = {"flash/__init__.py": b"", "flash/_C.abi3.so": b"12345", "flash_cuda.abi3.so": b"1"}
    install(tmp_path, "Flash-Attn", "2.8.3+cu130", files)
    found = find(tmp_path)["Flash-Attn"]
    assert found.version == "2.8.3+cu130"
    assert [(file.path, file.recorded_bytes) for file in found.files] == [
        (tmp_path / "flash/_C.abi3.so", 5),
        (tmp_path / "flash_cuda.abi3.so", 1),
    ]
    assert found.modules == {"flash", "flash_cuda"}


def test_a_record_may_lead_above_the_site(tmp_path: Path) -> None:
    """Scripts and data lie beside lib, and so can libraries."""
    site = tmp_path / "lib/python3.12/site-packages"
    folder = install(site, "x", "1.0")
    (folder / "RECORD").write_text("../../libx.so,,9\n")
    (file,) = find(site)["x"].files
    assert file.path == tmp_path / "lib/libx.so"


def test_an_editable_installation(tmp_path: Path) -> None:
    """Its libraries lie in the checkout, where earlier builds do not count."""
    project, site = tmp_path / "my project", tmp_path / "site"
    for path in ("src/x/_C.so", "build/lib/x/_C.so", ".git/y.so", "node_modules/z.so"):
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).touch()
    url = {"url": project.as_uri(), "dir_info": {"editable": True}}
    install(site, "x", "1.0", extra={"direct_url.json": json.dumps(url)})
    found = find(site)["x"]
    assert found.checkout == project
    assert [file.path for file in found.files] == [project / "src/x/_C.so"]


def test_an_installation_from_a_folder_is_not_editable(tmp_path: Path) -> None:
    """It was copied, and the folder has nothing to do with it any more."""
    url = {"url": tmp_path.as_uri(), "dir_info": {}}
    install(tmp_path / "site", "x", "1.0", extra={"direct_url.json": json.dumps(url)})
    assert find(tmp_path / "site")["x"].checkout is None


def test_eggs(tmp_path: Path) -> None:
    """Old metadata, and a project whose metadata lie beside its source."""
    site = tmp_path / "site-packages"
    egg = site / "old-0.9-py3.12.egg-info"
    egg.mkdir(parents=True)
    (egg / "PKG-INFO").write_text("Metadata-Version: 1.0\nName: old\nVersion: 0.9\n")
    (egg / "installed-files.txt").write_text("../old/_x.so\n../old/__init__.py\n")
    (file,) = find(site)["old"].files
    assert (file.path, file.recorded_bytes) == (site / "old/_x.so", None)
    source = tmp_path / "source"
    (source / "dev.egg-info").mkdir(parents=True)
    (source / "dev.egg-info/PKG-INFO").write_text("Name: dev\nVersion: 2\n")
    (source / "dev.so").touch()
    found = find(source)["dev"]
    assert (found.checkout, [file.path for file in found.files]) == (source, [source / "dev.so"])


def test_metadata_that_cannot_be_read(tmp_path: Path) -> None:
    """Without METADATA the folder's name tells; bytes that are no text end in no exception."""
    broken = tmp_path / "torch_thing-1.2.dist-info"
    broken.mkdir()
    (broken / "METADATA").write_bytes(b"\xff\xfe\x00")
    (broken / "RECORD").write_bytes(b'"torch.so,,5\n\xff\n')
    (broken / "direct_url.json").write_text("[1, 2")
    assert find(tmp_path)["torch_thing"].version == "1.2"


def test_libraries_below_a_folder(tmp_path: Path) -> None:
    """Folders with the name of a library are told, too; links to folders are not followed."""
    (tmp_path / "a/deep").mkdir(parents=True)
    (tmp_path / "a/deep/x.so.1").touch()
    (tmp_path / "a/y.so").mkdir()
    (tmp_path / "a/y.so/inside.so").touch()
    (tmp_path / "a/__pycache__").mkdir()
    (tmp_path / "a/__pycache__/z.so").touch()
    (tmp_path / "a/back").symlink_to(tmp_path)
    found = [str(path.relative_to(tmp_path)) for path in walk_libraries(tmp_path)]
    assert found == ["a/y.so", "a/deep/x.so.1"]


def test_folders_behind_links(tmp_path: Path) -> None:
    """A site may have a package by a link; a link to nowhere is none."""
    site, source = tmp_path / "site", tmp_path / "source"
    site.mkdir()
    source.mkdir()
    (site / "package").symlink_to(source)
    (site / "gone").symlink_to(tmp_path / "gone")
    assert linked_folders(site, Root()) == [source]
    assert linked_folders(tmp_path / "gone", Root()) == []
