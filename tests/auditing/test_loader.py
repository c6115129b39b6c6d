"""Where the loader looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.auditing.loader import Loader
from preflight.auditing.roots import Root
from preflight.compat.dynamic import Dynamic


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """An image with one library in each kind of place."""
    for place in ("opt/rpath", "opt/path", "opt/run/lib", "usr/lib64", "etc/ld.so.conf.d", "conf"):
        (tmp_path / place).mkdir(parents=True)
    (tmp_path / "etc/ld.so.conf").write_text("include ld.so.conf.d/*.conf\n# a comment\n/gone\n")
    (tmp_path / "etc/ld.so.conf.d/a.conf").write_text("/conf\ninclude /etc/ld.so.conf\n")
    return tmp_path


def put(image: Path, *places: str) -> None:
    """The same library in several places."""
    for place in places:
        (image / place / "libx.so").touch()


def find(image: Path, *, rpath: str = "", runpath: str = "", path: str = "") -> object:
    """What the library at /opt/run/user.so gets for libx.so."""
    loader = Loader(Root(image), [image / path.lstrip("/")] if path else [])
    dynamic = Dynamic(
        rpath=(rpath,) if rpath else (),
        runpath=(runpath,) if runpath else (),
    )
    found = loader.find("libx.so", image / "opt/run/user.so", dynamic)
    return found and (str(found[0].relative_to(image)), found[1])


def test_the_order_of_the_search(image: Path) -> None:
    """DT_RPATH, LD_LIBRARY_PATH, DT_RUNPATH, the folders of the system."""
    put(image, "conf")
    every = {"rpath": "/opt/rpath", "path": "/opt/path", "runpath": "$ORIGIN/lib"}
    assert find(image, **every) == ("conf/libx.so", "the system")
    put(image, "opt/run/lib")
    assert find(image, **every) == ("opt/run/lib/libx.so", "RUNPATH")
    put(image, "opt/path")
    assert find(image, **every) == ("opt/path/libx.so", "LD_LIBRARY_PATH")
    put(image, "opt/rpath")
    assert find(image, **every) == ("opt/rpath/libx.so", "RPATH")


@pytest.mark.parametrize("entry", ["$ORIGIN/lib", "${ORIGIN}/lib", "/opt/run/$LIB"])
def test_tokens_are_expanded(image: Path, entry: str) -> None:
    """$ORIGIN is the library's own folder, $LIB lib or lib64."""
    put(image, "opt/run/lib")
    assert find(image, runpath=entry) == ("opt/run/lib/libx.so", "RUNPATH")


def test_what_is_nowhere_is_not_found(image: Path) -> None:
    """A folder that is not there is passed over."""
    assert find(image, runpath="/gone", path="/gone") is None


def test_standard_folders(image: Path) -> None:
    """They need no entry in ld.so.conf."""
    put(image, "usr/lib64")
    assert find(image) == ("usr/lib64/libx.so", "the system")


def test_a_name_with_a_slash_is_a_path(image: Path) -> None:
    """The loader does not search for it."""
    put(image, "conf")
    loader = Loader(Root(image))
    user = image / "opt/run/user.so"
    assert loader.find("/conf/libx.so", user, Dynamic()) == (image / "conf/libx.so", "its own path")
    assert loader.find("/gone/libx.so", user, Dynamic()) is None


def test_this_machine_has_its_folders() -> None:
    """The C library of this machine is found where the loader finds it."""
    assert Loader(Root()).find("libc.so.6", Path("/x.so"), Dynamic()) is not None
