"""Columns of an audit's table."""

from __future__ import annotations

from preflight.compat.audit import AuditedPackage, Gpu
from preflight.compat.coverage import Word
from preflight.rendering.audit_columns import blocks, columns_of


def gpu(architecture: str, name: str = "") -> Gpu:
    """A GPU, by default named after its architecture."""
    return Gpu(name=name or architecture, architecture=architecture)


def package(**covered: Word) -> AuditedPackage:
    """A package with a word for each GPU."""
    return AuditedPackage(name="x", version="1", judged=True, files=(), covered=covered)


FOUR = [gpu(name) for name in ("sm_80", "sm_90", "gfx90a", "gfx942")]
SAME = [package(sm_80="yes", sm_90="yes", gfx90a="no", gfx942="no")]


def test_each_architecture_has_its_column_where_there_is_room() -> None:
    """Equal columns stay apart as long as they fit."""
    assert [column.title for column in columns_of(FOUR, SAME, 60)] == [
        "sm_80",
        "sm_90",
        "gfx90a",
        "gfx942",
    ]


def test_equal_columns_become_one_where_there_is_none() -> None:
    """Of one vendor; the legend names what they stand for."""
    found = columns_of(FOUR, SAME, 30)
    assert [(column.title, column.legend) for column in found] == [
        ("sm_80 +1", "sm_80 +1: sm_80, sm_90"),
        ("gfx90a +1", "gfx90a +1: gfx90a, gfx942"),
    ]


def test_columns_that_differ_stay_apart() -> None:
    """One package that differs is enough."""
    differing = package(sm_80="yes", sm_90="no", gfx90a="no", gfx942="no")
    assert len(columns_of(FOUR, [*SAME, differing], 30)) == 3


def test_names_of_gpus_stand_above_their_architecture() -> None:
    """Those of one architecture together; what is too long stands in the legend."""
    several = [gpu("sm_90", "H100"), gpu("sm_90", "H200"), gpu("sm_100", "NVIDIA B200 of a name")]
    first, second = columns_of(several, [], 60)
    assert (first.title, first.subtitle, first.legend) == ("H100, H200", "sm_90", "")
    assert second.title.endswith("…")
    assert second.legend == "sm_100: NVIDIA B200 of a name"


def test_tables_are_parted_where_columns_do_not_fit() -> None:
    """Each block has room, and one column is always shown."""
    columns = columns_of(FOUR, [], 60)
    assert [len(block) for block in blocks(columns, 20)] == [2, 2]
    assert [len(block) for block in blocks(columns, 1)] == [1, 1, 1, 1]
