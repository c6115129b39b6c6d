"""The checks of folders, without running any."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from faults.runs import check_text, write_checks

from preflight.errors import CheckContractError
from preflight.folders import checks_folder
from preflight.harness.listing import list_checks
from preflight.stages import STAGE_NAMES


def test_checks_come_in_path_order(tmp_path: Path) -> None:
    """By stage, then by file and line, whatever the folders and names."""
    first = write_checks(tmp_path / "a", check_text("late", stage="collective"))
    second = write_checks(tmp_path / "b", check_text("two"), check_text("three"))
    write_checks(second, check_text("one"), name="check_100_first.py")
    specs = list_checks([first, second])
    assert [spec.id for spec in specs] == [
        "system.one",
        "system.two",
        "system.three",
        "collective.late",
    ]
    assert specs[0].where == f"{second}/check_100_first.py:6"


def test_other_files_and_functions_are_no_checks(tmp_path: Path) -> None:
    """Only functions named check_ in files named check_ are read."""
    folder = write_checks(tmp_path, check_text("one"), "def helper(): pass\n", "check_x = 3\n")
    (folder / "notes.py").write_text("raise SystemExit")
    assert [spec.id for spec in list_checks([folder])] == ["system.one"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("def broken(:\n", "does not import: SyntaxError"),
        ("import nothing_like_that\n", "does not import: ModuleNotFoundError"),
        ("raise SystemExit(3)\n", "does not import: SystemExit: 3"),
        ("1 / 0\n", "does not import: ZeroDivisionError"),
    ],
)
def test_a_file_that_does_not_import_is_named(tmp_path: Path, text: str, what: str) -> None:
    """Whatever it raises, the message names the file."""
    path = tmp_path / "check_900_bad.py"
    path.write_text(text)
    with pytest.raises(CheckContractError) as caught:
        list_checks([tmp_path])
    assert caught.value.what.startswith(what)
    assert caught.value.where == str(path)
    assert not [name for name in sys.modules if name.startswith("preflight_listed")]


def test_a_check_without_a_marker_is_named_with_its_line(tmp_path: Path) -> None:
    """File and line of the function."""
    write_checks(tmp_path, check_text("one"), 'def check_two():\n    """Two."""\n')
    with pytest.raises(CheckContractError, match="needs a marker") as caught:
        list_checks([tmp_path])
    assert caught.value.where == f"{tmp_path}/check_900_small.py:12"


def test_duplicate_ids_over_folders_are_refused(tmp_path: Path) -> None:
    """Both places are named."""
    folders = [write_checks(tmp_path / name, check_text("one")) for name in "ab"]
    with pytest.raises(CheckContractError, match=r"is taken by .*/a/check_900") as caught:
        list_checks(folders)
    assert caught.value.where == f"{tmp_path}/b/check_900_small.py:6"


def test_the_shipped_checks_keep_the_contract() -> None:
    """Every one is on the path, and nothing of torch is imported to know that."""
    specs = list_checks([checks_folder()])
    assert {spec.stage for spec in specs} <= set(STAGE_NAMES)
    assert len({spec.id for spec in specs}) == len(specs) > 10
    code = (
        "import sys; from preflight.folders import checks_folder\n"
        "from preflight.harness.listing import list_checks\n"
        "list_checks([checks_folder()]); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == b"False\n"
