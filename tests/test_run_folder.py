"""The folder of a run: its name, collisions, and places that cannot be written."""

from __future__ import annotations

import re
import socket
from datetime import datetime, timezone
from pathlib import Path

import pytest

from preflight.errors import UsageError
from preflight.order_folder import order_folder_name
from preflight.run_folder import make_run_folder

STARTED = datetime(2026, 12, 1, 9, 4, 12, 987654, tzinfo=timezone.utc)


@pytest.fixture(autouse=True)
def _host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket, "gethostname", lambda: "node-a")


def files_below(folder: Path) -> list[Path]:
    """Everything below a folder that is not a folder."""
    return [path for path in folder.rglob("*") if not path.is_dir()]


def test_the_folder_lies_under_the_order(tmp_path: Path) -> None:
    """``<out>/<order>/<UTC>-<host>`` is made, absolute and empty."""
    folder = make_run_folder(tmp_path / "out", "ORD-1042", STARTED)
    assert folder == tmp_path / "out" / order_folder_name("ORD-1042") / "20261201T090412Z-node-a"
    assert folder.is_dir() and not files_below(tmp_path)


def test_a_run_without_an_order_has_a_folder_too(tmp_path: Path) -> None:
    """Without a reference the order's folder is ``no-order``."""
    assert make_run_folder(tmp_path, None, STARTED).parent == tmp_path / "no-order"


def test_runs_of_one_second_do_not_share_a_folder(tmp_path: Path) -> None:
    """The second run of a second gets ``-2``, the third ``-3``; nothing is overwritten."""
    names = [make_run_folder(tmp_path, "ORD-1042", STARTED).name for _ in range(3)]
    first = "20261201T090412Z-node-a"
    assert names == [first, f"{first}-2", f"{first}-3"]


def test_a_file_of_that_name_counts_as_taken(tmp_path: Path) -> None:
    """A file in the place of the folder is left alone."""
    parent = tmp_path / "no-order"
    parent.mkdir()
    (parent / "20261201T090412Z-node-a").write_text("mine")
    assert make_run_folder(tmp_path, None, STARTED).name == "20261201T090412Z-node-a-2"
    assert (parent / "20261201T090412Z-node-a").read_text() == "mine"


@pytest.mark.parametrize("reference", ["../../etc", "/etc/passwd", "..", "a\\..\\b", "~root", "-"])
def test_no_reference_leads_out_of_the_folder(tmp_path: Path, reference: str) -> None:
    """Whatever the seller's reference is, the run stays two levels below --out."""
    folder = make_run_folder(tmp_path / "out", reference, STARTED)
    assert folder.resolve().parent.parent == tmp_path / "out"


@pytest.mark.parametrize(
    "host", ["", "..", "../../x", "a/b", "näme", "x" * 200, "-", "node a;rm -rf"]
)
def test_no_host_name_leads_out_of_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str
) -> None:
    """A host may be called anything; the folder's name stays short and plain."""
    monkeypatch.setattr(socket, "gethostname", lambda: host)
    folder = make_run_folder(tmp_path, None, STARTED)
    assert folder.resolve().parent == tmp_path / "no-order"
    assert re.fullmatch(r"20261201T090412Z-[A-Za-z0-9][A-Za-z0-9.-]{0,59}", folder.name)


def refused(out: Path, reference: str | None = None) -> UsageError:
    """The error for a place that cannot be written."""
    with pytest.raises(UsageError) as caught:
        make_run_folder(out, reference, STARTED)
    assert caught.value.exit_code == 2
    assert caught.value.where == "--out"
    assert "PREFLIGHT_REPORTS" in caught.value.mend
    return caught.value


def test_a_file_in_the_way_is_a_usage_error(tmp_path: Path) -> None:
    """--out that is a file ends the command before anything ran, and the message names it."""
    (tmp_path / "out").write_text("a file")
    assert str(tmp_path / "out") in str(refused(tmp_path / "out"))


def test_a_file_above_is_a_usage_error(tmp_path: Path) -> None:
    """--out below a file can never be made."""
    (tmp_path / "file").write_text("a file")
    assert "Not a directory" in str(refused(tmp_path / "file" / "out"))


def test_a_file_in_place_of_the_order_is_a_usage_error(tmp_path: Path) -> None:
    """A file where the order's folder belongs is named."""
    (tmp_path / "no-order").write_text("a file")
    assert "no-order" in str(refused(tmp_path))


def test_a_link_to_nowhere_is_a_usage_error(tmp_path: Path) -> None:
    """--out that is a dangling link is refused, not followed to a new place."""
    (tmp_path / "out").symlink_to(tmp_path / "gone")
    refused(tmp_path / "out")
    assert not (tmp_path / "gone").exists()


def test_a_file_system_that_takes_no_folder_is_a_usage_error() -> None:
    """/proc cannot be written by anyone, root included."""
    refused(Path("/proc/preflight-reports"))


def test_a_name_that_is_too_long_is_a_usage_error(tmp_path: Path) -> None:
    """A path no file system takes ends in a message, not in a traceback."""
    refused(tmp_path / ("x" * 300))


def test_a_full_disk_is_a_usage_error_and_leaves_nothing(full_disk: Path) -> None:
    """With no room left nothing runs, and the folder that was begun is not left behind."""
    refused(full_disk)
    assert not list(full_disk.rglob("2026*"))
