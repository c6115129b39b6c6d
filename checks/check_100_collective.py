"""Stage collective: values of every collective, and bandwidth by size."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.harness import Result, Situation, exactly

EXACT = "whole numbers, small enough that every order of summation is exact in every dtype"
FIRST = ("collective.all_reduce",)
QUICK_SIZES = tuple(2**k for k in range(10, 23, 2))
"""1 KiB to 4 MiB."""
STANDARD_SIZES = tuple(2**k for k in range(10, 29))
"""1 KiB to 256 MiB."""
WRONG = (
    "a link or a card corrupts data: run again; if it stays, compare with NCCL_P2P_DISABLE=1, and "
    "show the seller the report"
)


@pytest.mark.check(id="collective.all_reduce", stage="collective", deadline="180s")
def check_all_reduce(ranks: Any, result: Result, situation: Situation) -> None:
    """The ranks join, and the first collective, an all-reduce, gives exact values."""
    _check(ranks, result, situation, "all_reduce")
    result.measure("join", max(answer["seconds"] for answer in ranks.joined), "s")
    points = _sweep(ranks, result, situation, "all_reduce", "all-reduce")
    best = max(rate for _, rate in points)
    result.note(f"{ranks.count} ranks over {ranks.backend}, bus {best:.3g} GB/s")


@pytest.mark.check(id="collective.all_gather", stage="collective", deadline="90s", needs=FIRST)
def check_all_gather(ranks: Any, result: Result, situation: Situation) -> None:
    """All-gather gives exact values on every rank."""
    _check(ranks, result, situation, "all_gather")
    if situation.options.level != "quick":
        _sweep(ranks, result, situation, "all_gather", "all-gather")


@pytest.mark.check(id="collective.reduce_scatter", stage="collective", deadline="90s", needs=FIRST)
def check_reduce_scatter(ranks: Any, result: Result, situation: Situation) -> None:
    """Reduce-scatter gives exact values on every rank."""
    _check(ranks, result, situation, "reduce_scatter")
    if situation.options.level != "quick":
        _sweep(ranks, result, situation, "reduce_scatter", "reduce-scatter")


@pytest.mark.check(id="collective.broadcast", stage="collective", deadline="90s", needs=FIRST)
def check_broadcast(ranks: Any, result: Result, situation: Situation) -> None:
    """Broadcast from every root gives exact values on every rank."""
    _check(ranks, result, situation, "broadcast")


@pytest.mark.check(id="collective.all_to_all", stage="collective", deadline="90s", needs=FIRST)
def check_all_to_all(ranks: Any, result: Result, situation: Situation) -> None:
    """All-to-all gives exact values on every rank."""
    _check(ranks, result, situation, "all_to_all")
    if situation.options.level != "quick":
        _sweep(ranks, result, situation, "all_to_all", "all-to-all")


@pytest.mark.check(id="collective.send_recv", stage="collective", deadline="90s", needs=FIRST)
def check_send_recv(ranks: Any, result: Result, situation: Situation) -> None:
    """Send and receive around the ring give exact values."""
    _check(ranks, result, situation, "send_recv")


@pytest.mark.check(id="collective.barrier", stage="collective", deadline="90s", needs=FIRST)
def check_barrier(ranks: Any, result: Result, situation: Situation) -> None:
    """No rank leaves a barrier before the last has entered it."""
    _check(ranks, result, situation, "barrier")


def _check(ranks: Any, result: Result, situation: Situation, name: str) -> None:
    """Run one collective on all ranks and judge every element on every rank."""
    options = situation.options
    answers = ranks(f"collectives.{name}", level=options.level, seed=options.seed)
    result.advise(WRONG)
    first = answers[0]
    if "absent" in first:
        result.skip(f"{ranks.backend}: {first['absent']}")
    wrong = [answer["wrong"] for answer in answers]
    if sum(wrong):
        result.attach("\n".join(f"rank {r}: {a['first_wrong']}" for r, a in enumerate(answers)))
        rank, where = _where(name, answers)
        result.fail(f"{sum(wrong)} elements are wrong {where}", rank=rank)
    result.measure("wrong elements", sum(wrong), "1", limit=exactly(0, EXACT))
    result.measure("elements compared", sum(answer["elements"] for answer in answers), "1")
    for absence in first["absences"]:
        result.attach(f"{absence['dtype']} is left out: {absence['absent']}")
    result.note(", ".join(first["dtypes"]))


def _where(name: str, answers: list[dict[str, Any]]) -> tuple[int | None, str]:
    """The rank at fault, where the wrong elements tell it, and where they are.

    A part that one rank handed in and several received wrong is the sender's fault; what one rank
    alone received wrong is its own, unless only it was sent that part. A sum that is wrong
    everywhere tells nothing.
    """
    bad = [rank for rank, answer in enumerate(answers) if answer["wrong"]]
    ranks = f"on rank{'s' if len(bad) > 1 else ''} {', '.join(map(str, bad))}"
    senders = {_sender(name, answers[rank]["first_wrong"]) for rank in bad}
    sender = senders.pop() if len(senders) == 1 else None
    if len(bad) > 1:
        return sender, ranks if sender is None else f"{ranks}, all of them from rank {sender}"
    if name in ("all_to_all", "send_recv"):
        return None, ranks if sender is None else f"{ranks}, from rank {sender}"
    return (bad[0] if len(answers) > 1 else None), ranks


def _sender(name: str, first_wrong: dict[str, Any]) -> int | None:
    """Who handed in the first wrong element; None for a sum."""
    if name in ("all_gather", "all_to_all"):
        return int(first_wrong["index"]) // int(first_wrong["count"])
    if name in ("broadcast", "send_recv"):
        return int(first_wrong["call"].rpartition(" ")[2])
    return None


def _sweep(
    ranks: Any, result: Result, situation: Situation, name: str, title: str
) -> list[tuple[float, float]]:
    """Bandwidth by size, of the slowest rank, as nccl-tests count it; the bus bandwidth points."""
    quick = situation.options.level == "quick"
    answers = ranks(
        "collectives.sweep",
        collective=name,
        sizes_bytes=list(QUICK_SIZES if quick else STANDARD_SIZES),
        iterations=5 if quick else 20,
    )
    slowest = [min(at, key=lambda p: p["busbw_GBps"]) for at in zip(*_points(answers), strict=True)]
    wrong = sum(point["wrong"] for answer in answers for point in answer["points"])
    if wrong:
        result.fail(f"{wrong} elements were wrong while {title} was timed")
    axes = {"x": "message size", "x_unit": "B", "y_unit": "GB/s"}
    bus = [(float(p["bytes"]), float(p["busbw_GBps"])) for p in slowest]
    algorithm = [(float(p["bytes"]), float(p["algbw_GBps"])) for p in slowest]
    result.draw(f"{title} bus bandwidth", bus, y="bus bandwidth", **axes)
    result.draw(f"{title} algorithm bandwidth", algorithm, y="algorithm bandwidth", **axes)
    smallest, largest = slowest[0], slowest[-1]
    result.measure(f"{title} of {smallest['bytes']} B", smallest["median_s"], "s", n=smallest["n"])
    result.measure(f"{title} bus bandwidth, largest", largest["busbw_GBps"], "GB/s", n=largest["n"])
    return bus


def _points(answers: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    return [answer["points"] for answer in answers]
