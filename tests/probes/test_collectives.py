from __future__ import annotations

from pathlib import Path

import pytest

from preflight.probes import collectives

from .process_group import ProcessGroup

FAULTY = Path(__file__).parent / "faulty"

NAMES = ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all", "send_recv")


def faulty(fault: str, world: int = 2) -> ProcessGroup:
    """A group whose rank 1 has a fault."""
    return ProcessGroup(world, {"PYTHONPATH": str(FAULTY), "FAULT": fault})


@pytest.mark.parametrize("name", NAMES)
def test_values_are_exact(two_ranks: ProcessGroup, name: str) -> None:
    """Every element on every rank is the known answer, in three dtypes."""
    for answer in two_ranks.call(f"collectives.{name}", level="quick", seed=4):
        assert answer["wrong"] == 0, answer["first_wrong"]
        assert answer["dtypes"] == ["float32", "bfloat16", "int32"]
        assert answer["elements"] > 0


def test_nobody_leaves_a_barrier_early(two_ranks: ProcessGroup) -> None:
    """By the clock of their host, no rank leaves before the last has entered."""
    for seed in range(4):
        assert [
            a["wrong"] for a in two_ranks.call("collectives.barrier", level="quick", seed=seed)
        ] == [0, 0]


def test_one_rank_that_adds_one_is_found() -> None:
    """One element off by one on one rank is wrong there, and there alone."""
    with faulty("adds one") as group:
        healthy, broken = group.call("collectives.all_reduce", level="quick", seed=4)
        sweep = group.call(
            "collectives.sweep", collective="all_reduce", sizes_bytes=[64], iterations=2
        )
    assert healthy["wrong"] == 0
    assert broken["wrong"] == 3 * 3 * 2  # dtypes, sizes, operations
    assert broken["first_wrong"]["call"] == "all_reduce sum"
    assert broken["first_wrong"]["rank"] == 1
    assert [answer["points"][0]["wrong"] for answer in sweep] == [0, 1]


@pytest.mark.long
def test_a_rank_that_takes_the_maximum_is_found() -> None:
    """Gloo is silent where one rank reduces with another operation; the known answer is not."""
    with faulty("maximum") as group:
        answers = group.call("collectives.all_reduce", level="quick", seed=4)
    assert sum(answer["wrong"] for answer in answers) > 1000


def test_a_barrier_that_nobody_keeps_is_found() -> None:
    """Ranks that run past the barrier leave it before the later one has entered."""
    environment = {"PYTHONPATH": str(FAULTY), "FAULT": "no barrier", "FAULT_RANK": "0 1"}
    with ProcessGroup(2, environment) as group:
        answers = group.call("collectives.barrier", level="quick", seed=1)
    assert answers[0]["wrong"] == answers[1]["wrong"] == 1


def test_one_rank_has_nobody_to_send_to(one_rank: ProcessGroup) -> None:
    """With one rank the ring is absent, and all else still exact."""
    assert "nobody" in one_rank.call("collectives.send_recv", level="quick", seed=1)[0]["absent"]
    for name in NAMES[:-1]:
        assert one_rank.call(f"collectives.{name}", level="quick", seed=1)[0]["wrong"] == 0


def test_sweep_gives_bandwidth_by_size(two_ranks: ProcessGroup) -> None:
    """Bytes over the median second, and the bus factor of nccl-tests; the values stay right."""
    for name in ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "all_to_all"):
        answer = two_ranks.call(
            "collectives.sweep", collective=name, sizes_bytes=[1024, 65536], iterations=3
        )[0]
        assert [point["bytes"] for point in answer["points"]] == [1024, 65536]
        for point in answer["points"]:
            assert point["n"] == 3 and point["wrong"] == 0
            assert point["algbw_GBps"] == pytest.approx(point["bytes"] / point["median_s"] / 1e9)
            assert point["busbw_GBps"] == pytest.approx(point["algbw_GBps"] * answer["factor"])


def test_bus_factors_are_those_of_nccl_tests() -> None:
    """2(n-1)/n for all-reduce, (n-1)/n for the halves of it, 1 for broadcast."""
    assert collectives.bus_factor("all_reduce", 8) == 2 * 7 / 8
    for name in ("all_gather", "reduce_scatter", "all_to_all"):
        assert collectives.bus_factor(name, 8) == 7 / 8
    assert collectives.bus_factor("broadcast", 8) == 1


def test_only_a_lack_of_support_is_an_absence() -> None:
    """A lost peer is an error, whatever exception carries it."""
    assert collectives._is_refusal(RuntimeError("Gloo does not support bfloat16"))
    assert collectives._is_refusal(RuntimeError("Invalid scalar type"))
    assert not collectives._is_refusal(RuntimeError("Connection closed by peer [127.0.0.1]:1"))
