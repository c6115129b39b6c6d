"""Whose fault wrong elements of a collective are."""

from __future__ import annotations

from typing import Any

import pytest

from .situations import load

collective = load("check_100_collective.py")


def answers(*wrong: dict[str, Any] | None) -> list[dict[str, Any]]:
    """One answer a rank: its first wrong element, or None where all are right."""
    return [{"wrong": 0 if w is None else 3, "first_wrong": w} for w in wrong]


def element(index: int, *, count: int = 10, call: str = "") -> dict[str, Any]:
    """The first wrong element as the probe tells it."""
    return {"index": index, "count": count, "call": call}


@pytest.mark.parametrize(
    ("name", "wrong", "rank", "where"),
    [
        ("all_reduce", (None, element(0), None), 1, "on rank 1"),
        ("all_reduce", (element(0), element(0), element(0)), None, "on ranks 0, 1, 2"),
        (
            "all_gather",
            (element(12), element(12), element(12)),
            1,
            "on ranks 0, 1, 2, all of them from rank 1",
        ),
        ("all_gather", (element(3), element(12), None), None, "on ranks 0, 1"),
        (
            "broadcast",
            (None, element(0, call="broadcast from 2"), element(0, call="broadcast from 2")),
            2,
            "on ranks 1, 2, all of them from rank 2",
        ),
        ("send_recv", (element(0, call="receive from 2"), None, None), None, "from rank 2"),
        ("all_to_all", (element(25), None, None), None, "on rank 0, from rank 2"),
    ],
)
def test_only_a_rank_that_the_wrong_elements_tell_is_named(
    name: str, wrong: tuple[dict[str, Any] | None, ...], rank: int | None, where: str
) -> None:
    """A sender that several blame, or the one receiver of what all were sent; else nobody."""
    found, text = collective._where(name, answers(*wrong))
    assert found == rank
    assert text.endswith(where)


def test_one_rank_alone_blames_nobody() -> None:
    """With a single rank there is nobody to tell it from."""
    assert collective._where("all_reduce", answers(element(0))) == (None, "on rank 0")
