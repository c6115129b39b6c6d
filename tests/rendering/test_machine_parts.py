from __future__ import annotations

import pytest

from preflight.rendering.machine_parts import (
    NOTHING,
    Entry,
    Part,
    among,
    column,
    gib,
    listed,
    over,
    pairs,
    tables,
)

EIGHT = tuple(f"gpu{i}" for i in range(8))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (EIGHT, "each card"),
        (EIGHT[:4], "gpu0 to gpu3"),
        (("gpu0", "gpu1", "gpu5"), "gpu0, gpu1, gpu5"),
        (("gpu7", "gpu2", "gpu3", "gpu4"), "gpu7, gpu2 to gpu4"),
        (("gpu0", "mlx5_1", "node"), "gpu0, mlx5_1, node"),
        ((), ""),
    ],
)
def test_names_are_told_in_short(names: tuple[str, ...], words: str) -> None:
    """Three or more in a row are a span, all of several are each card."""
    assert among(names, EIGHT) == words


def test_the_only_card_has_its_name() -> None:
    """A machine with one card has no ``each``."""
    assert among(("gpu0",), ("gpu0",)) == "gpu0"


@pytest.mark.parametrize(
    ("now", "most", "words"),
    [("71", "700", "71/700"), ("71", None, "71"), (None, "700", "–/700"), (None, None, None)],
)
def test_a_value_stands_before_its_most(now: str | None, most: str | None, words: str) -> None:
    """What is unknown of the two is left out, or a dash before the slash."""
    assert over(now, most) == words


@pytest.mark.parametrize(
    ("size", "words"), [(0.04, "0.0"), (79.647, "79.6"), (999.4, "999.4"), (2015.5, "2016")]
)
def test_gibibytes_have_a_tenth_below_a_thousand(size: float, words: str) -> None:
    """Figures that nobody reads are left out."""
    assert gib(size) == words


def test_a_column_without_a_value_is_left_out() -> None:
    """A column that says nothing of any row takes no room; a dash stands for one row."""
    (table,) = tables(
        column("card", ("gpu0", "gpu1")), column("W", (None, None)), column("°C", ("31", None))
    )
    assert [one.title for one in table.columns] == ["card", "°C"]
    assert table.rows == ((Entry("gpu0"), Entry("31")), (Entry("gpu1"), NOTHING))


def test_a_table_of_names_alone_is_none() -> None:
    """Without a row or a value there is no table."""
    assert tables(column("card", ("gpu0",)), column("W", (None,))) == ()
    assert tables(column("card", ()), column("W", ())) == ()


def test_pairs_without_a_value_are_left_out() -> None:
    """None and the empty string say nothing."""
    assert pairs(("a", None), ("b", ""), ("c", "x")) == (("c", Entry("x")),)
    assert listed("a", None, "", "b") == "a, b"


def test_a_part_knows_what_stands_out_in_it() -> None:
    """A pair, a cell or a remark in the tone of caution is worth a look."""
    odd = Entry("x", "caution")
    assert Part(title="a", pairs=(("b", odd),)).is_worth_a_look
    assert Part(title="a", remarks=(odd,)).is_worth_a_look
    assert Part(title="a", tables=tables(column("b", ("c",)), column("d", (odd,)))).is_worth_a_look
    assert not Part(title="a", pairs=(("b", Entry("x")),)).is_worth_a_look
    assert Part(title="a").is_empty and not Part(title="a", note="b").is_empty
