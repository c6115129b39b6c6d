"""Paths below a root."""

from __future__ import annotations

from pathlib import Path

from preflight.auditing.roots import Root, printable


def test_links_of_an_image_stay_inside_it(tmp_path: Path) -> None:
    """A link to /usr/lib, and one that climbs out of the root, mean the image's own folders."""
    (tmp_path / "usr/lib").mkdir(parents=True)
    (tmp_path / "usr/lib/x.so").write_text("x")
    (tmp_path / "lib").symlink_to("/usr/lib")
    (tmp_path / "usr/up").symlink_to("../../../../../../usr/lib/x.so")
    root = Root(tmp_path)
    assert root.at("/lib/x.so") == tmp_path / "usr/lib/x.so"
    assert root.at("usr/up") == tmp_path / "usr/lib/x.so"
    assert root.at("/lib/../etc") == tmp_path / "usr/etc"
    assert root.shown(tmp_path / "usr/lib/x.so") == "/usr/lib/x.so"


def test_patterns_follow_links_inside_the_image(tmp_path: Path) -> None:
    """What is found is where it really lies; this machine's files are not."""
    (tmp_path / "data/venv/lib").mkdir(parents=True)
    (tmp_path / "opt").mkdir()
    (tmp_path / "opt/venv").symlink_to("/data/venv")
    (tmp_path / "opt/host").symlink_to("/usr")
    (tmp_path / "opt/gone").symlink_to("gone")
    assert Root(tmp_path).glob("opt/*/lib") == [tmp_path / "data/venv/lib"]
    assert Root(tmp_path).glob("/opt/v*") == [tmp_path / "data/venv"]
    assert Root(tmp_path).glob("gone/*") == []


def test_paths_outside_are_looked_for_inside(tmp_path: Path) -> None:
    """A RECORD that climbs out of an image leads nowhere."""
    assert Root(tmp_path).real(Path("/etc/passwd")) == tmp_path / "etc/passwd"


def test_a_link_in_a_circle_ends(tmp_path: Path) -> None:
    """The path is returned as it is, and opening it says why it cannot be read."""
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert Root(tmp_path).at("a") == tmp_path / "a"


def test_the_machine_itself_is_a_root(tmp_path: Path) -> None:
    """Its paths are shown as they are."""
    (tmp_path / "link").symlink_to(tmp_path / "file")
    root = Root()
    assert root.real(tmp_path / "link") == (tmp_path / "file").resolve()
    assert root.shown(tmp_path / "link") == str(tmp_path / "link")


def test_names_that_are_no_text_can_be_printed() -> None:
    """A byte that is no UTF-8 is written as an escape."""
    assert printable("a\udcffb.so") == "a\\udcffb.so"
