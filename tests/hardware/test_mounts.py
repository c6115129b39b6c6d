"""The table of mounts."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.facts import Absence
from preflight.hardware.files import THIS_MACHINE, Files
from preflight.hardware.mounts import MOUNTINFO, Mount, mount_of, read_mounts

from .machines import MALFORMED, machine, reason


def read(root: Path, *lines: str) -> tuple[Mount, ...]:
    """Mounts of a machine with these lines."""
    found = read_mounts(machine(root, {MOUNTINFO: "\n".join(lines)}))
    assert not isinstance(found, Absence)
    return found


def test_a_line_is_read(tmp_path: Path) -> None:
    """Device, root, point, options of mount and file system, type and source."""
    line = "36 35 98:0 /mnt1 /mnt2 ro,noatime master:1 shared:7 - ext3 /dev/root rw,errors=continue"
    assert read(tmp_path, line) == (
        Mount(
            device="98:0",
            root="/mnt1",
            point="/mnt2",
            options=frozenset(["ro", "noatime", "rw", "errors=continue"]),
            filesystem="ext3",
            source="/dev/root",
        ),
    )


@pytest.mark.parametrize("fields", ["", " shared:1", " shared:1 master:2 propagate_from:3"])
def test_optional_fields_may_be_any_number(tmp_path: Path, fields: str) -> None:
    """What stands before the dash is skipped, however much it is."""
    (mount,) = read(tmp_path, f"1 0 8:1 / / rw{fields} - xfs /dev/sda1 rw")
    assert (mount.filesystem, mount.source) == ("xfs", "/dev/sda1")


def test_escapes_are_undone(tmp_path: Path) -> None:
    """Blanks, tabs, backslashes and letters of several bytes stand as octal numbers."""
    (mount,) = read(
        tmp_path, r"1 0 8:1 / /a\040b\011c\134d/caf\303\251 rw - ext4 //nas/my\040data rw"
    )
    assert mount.point == "/a b\tc\\d/caf\N{LATIN SMALL LETTER E WITH ACUTE}"
    assert mount.source == "//nas/my data"


def test_letters_that_are_not_escaped_stay(tmp_path: Path) -> None:
    """The kernel escapes few bytes, so that both kinds stand side by side."""
    (mount,) = read(tmp_path, "1 0 8:1 / /\N{SNOWMAN}\\040x rw - ext4 none rw")
    assert mount.point == "/\N{SNOWMAN} x"


@pytest.mark.parametrize("line", MALFORMED)
def test_lines_of_another_form_are_passed_over(tmp_path: Path, line: str) -> None:
    """One torn line does not hide the others."""
    good = "1 0 8:1 / / rw - xfs /dev/sda1 rw"
    assert len(read(tmp_path, good, line, good)) == 2


def test_no_table(tmp_path: Path) -> None:
    """Without the file nothing is known of mounts."""
    assert reason(read_mounts(Files(tmp_path))) == "not found"


MOUNTS = (
    "1 0 8:1 / / rw - xfs root rw",
    "2 1 8:2 / /data rw - xfs data rw",
    "3 2 8:3 / /data/ckpt rw - xfs first rw",
    "4 2 8:4 / /data/ckpt rw - xfs second rw",
)


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("/", "root"),
        ("/database", "root"),
        ("/data", "data"),
        ("/data/x", "data"),
        ("/data/ckpt", "second"),
        ("/data/ckpt/run/7", "second"),
        ("/data/ckpt2", "data"),
    ],
)
def test_the_longest_prefix_of_whole_names_counts(tmp_path: Path, path: str, source: str) -> None:
    """Names are not cut, and of two mounts on one point the later hides the earlier."""
    mount = mount_of(path, read(tmp_path, *MOUNTS))
    assert mount is not None and mount.source == source


def test_this_machine_has_a_root() -> None:
    """The real table has a mount for every path."""
    mounts = read_mounts(THIS_MACHINE)
    assert not isinstance(mounts, Absence)
    assert mount_of("/proc/self", mounts) is not None
    root = mount_of("/", mounts)
    assert root is not None and root.point == "/"
