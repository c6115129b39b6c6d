"""Where packages lie."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from preflight.auditing.places import (
    PYTHONPATH,
    WORKING_FOLDER,
    place_of_folder,
    place_of_image,
    place_of_interpreter,
    pth_folders,
)
from preflight.auditing.roots import Root
from preflight.errors import UsageError


def image(root: Path, *sites: str, torch: str = "") -> Path:
    """An image with something in each of these folders, and torch in one."""
    for site in sites:
        folder = root / site
        folder.mkdir(parents=True)
        (folder / "six.py").touch()
    if torch:
        (root / torch / "torch").mkdir()
    return root


VENV, SYSTEM = "opt/venv/lib/python3.12/site-packages", "usr/lib/python3/dist-packages"
LOCAL = "usr/local/lib/python3.12/dist-packages"


def test_the_only_environment_of_an_image_is_found(tmp_path: Path) -> None:
    """In a virtual environment below /opt, its version read from its path."""
    place = place_of_image(str(image(tmp_path, VENV)))
    assert place.sites == (tmp_path / VENV,)
    assert (place.python, place.prefix) == ("3.12", tmp_path / "opt/venv")


def test_the_folders_of_one_interpreter_belong_together(tmp_path: Path) -> None:
    """Debian's Python asks /usr/local before /usr, and root's own folder before both."""
    own = "root/.local/lib/python3.12/site-packages"
    place = place_of_image(str(image(tmp_path, SYSTEM, LOCAL, own)))
    assert place.sites == (tmp_path / own, tmp_path / LOCAL, tmp_path / SYSTEM)
    assert place.user_site == tmp_path / own


def test_the_environment_with_torch_is_meant(tmp_path: Path) -> None:
    """An image often has the system's Python beside that of the job."""
    place = place_of_image(str(image(tmp_path, VENV, SYSTEM, torch=VENV)))
    assert place.sites == (tmp_path / VENV,)


def test_several_environments_are_listed(tmp_path: Path) -> None:
    """It is for the user to choose, and the message says how."""
    image(tmp_path, VENV, SYSTEM)
    with pytest.raises(UsageError) as caught:
        place_of_image(str(tmp_path))
    for words in ("2 environments", f"/{VENV}", f"/{SYSTEM}", "--site /"):
        assert words in str(caught.value)
    assert place_of_image(str(tmp_path), f"/{SYSTEM}").sites == (tmp_path / SYSTEM,)


def test_a_folder_where_no_image_keeps_packages_can_be_named(tmp_path: Path) -> None:
    """As the image calls it; one that is not there is a mistake."""
    (tmp_path / "data/odd").mkdir(parents=True)
    assert place_of_image(str(tmp_path), "/data/odd").sites == (tmp_path / "data/odd",)
    with pytest.raises(UsageError, match="no folder of the image"):
        place_of_image(str(tmp_path), "/data/gone")


def test_etc_environment_names_more(tmp_path: Path) -> None:
    """PATH leads to a virtual environment, LD_LIBRARY_PATH to libraries, both inside the image."""
    site = "deep/er/still/lib/python3.11/site-packages"
    image(tmp_path, site)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/environment").write_text(
        'PATH="/deep/er/still/bin:/usr/bin:/../../bin"\nLD_LIBRARY_PATH=/usr/local/cuda/lib64\n'
    )
    place = place_of_image(str(tmp_path))
    assert place.sites == (tmp_path / site,)
    assert place.library_path == (tmp_path / "usr/local/cuda/lib64",)


def test_links_of_an_image_lead_into_the_image(tmp_path: Path) -> None:
    """A venv behind a link with a slash at its begin is found in the image, not on this machine."""
    image(tmp_path, "data/venv/lib/python3.12/site-packages")
    (tmp_path / "opt").mkdir()
    (tmp_path / "opt/venv").symlink_to("/data/venv")
    place = place_of_image(str(tmp_path))
    assert place.sites == (tmp_path / "data/venv/lib/python3.12/site-packages",)


@pytest.mark.parametrize("name", ["gone", "empty"])
def test_an_image_without_packages_is_a_mistake(tmp_path: Path, name: str) -> None:
    """It is named with the flag."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="--image-root"):
        place_of_image(str(tmp_path / name))


def test_a_folder_of_packages(tmp_path: Path) -> None:
    """Its version and its prefix are read from its path, where that tells them."""
    site = tmp_path / "lib/python3.10/site-packages"
    site.mkdir(parents=True)
    place = place_of_folder(str(site))
    assert (place.python, place.prefix, place.sites) == ("3.10", tmp_path, (site,))
    assert place_of_folder(str(tmp_path)).python is None
    with pytest.raises(UsageError, match="--site"):
        place_of_folder(str(tmp_path / "gone"))


def test_an_interpreter_and_what_comes_before_its_packages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The working folder, then PYTHONPATH; LD_LIBRARY_PATH is that of this process."""
    extra, libraries = tmp_path / "extra", tmp_path / "lib"
    extra.mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(extra))
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{libraries}:")
    place = place_of_interpreter(sys.executable)
    assert place.before == ((tmp_path, WORKING_FOLDER), (extra, PYTHONPATH))
    assert place.library_path == (libraries,)
    assert all(site.is_dir() for site in place.sites)
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    if sys.version_info >= (3, 11):
        assert place_of_interpreter(sys.executable).before == ((extra, PYTHONPATH),)


def test_pth_files_add_folders_and_run_nothing(tmp_path: Path) -> None:
    """Lines with a path count where it is there; lines of code, comments and others do not."""
    (tmp_path / "there").mkdir()
    (tmp_path / "a.pth").write_text(
        f"# a comment\nimport os; os.mkdir({str(tmp_path / 'ran')!r})\nthere\ngone\n\n"
    )
    (tmp_path / "b.pth").mkdir()
    assert list(pth_folders(tmp_path, Root())) == [tmp_path / "there"]
    assert not (tmp_path / "ran").exists()


def test_pth_files_of_an_image_stay_inside_it(tmp_path: Path) -> None:
    """A path with a slash at its begin is the image's, and so is one that climbs out."""
    site = tmp_path / "site"
    site.mkdir()
    (tmp_path / "data").mkdir()
    (site / "a.pth").write_text("/data\n/usr\n../../../../../../data\n")
    found = list(pth_folders(site, Root(tmp_path)))
    assert found == [tmp_path / "data", tmp_path / "data"]
