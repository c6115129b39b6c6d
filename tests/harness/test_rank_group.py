"""Ranks under one supervisor: joining, answering together, and who is named in each trouble."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from faults.runs import PATIENCE_S, is_alive

from preflight.harness.outcomes import CannotLook, ProbeFailed
from preflight.harness.rank_group import RankGroup

Join = Callable[..., tuple[RankGroup, list[dict[str, Any]]]]


@pytest.fixture
def join(fault_probes: Path) -> Iterator[Join]:
    """Forms groups of ranks that need no torch."""
    groups: list[RankGroup] = []

    def start(*devices: str, **environment: str) -> tuple[RankGroup, list[dict[str, Any]]]:
        group = RankGroup(
            sys.executable, devices or ("cpu", "cpu"), backend="gloo", environment=environment
        )
        groups.append(group)
        return group, group.join(deadline_s=PATIENCE_S)

    yield start
    for group in groups:
        group.close()


def trouble(group: RankGroup, *, deadline_s: float = PATIENCE_S, **params: Any) -> ProbeFailed:
    """The failure of a call of ``ranks.meet``; every rank is gone afterwards."""
    pids = [channel.child.pid for channel in group._channels]
    with pytest.raises(ProbeFailed) as caught:
        group.call("ranks.meet", deadline_s=deadline_s, **params)
    assert not any(is_alive(pid) for pid in pids)
    assert not group.is_joined
    return caught.value


def test_ranks_join_in_order_with_their_devices(join: Join) -> None:
    """Each answers by its rank, on the device it was given, in a process of its own."""
    group, joined = join("cpu", "cuda:1", "cuda:0")
    assert group.is_joined
    assert [answer["rank"] for answer in joined] == [0, 1, 2]
    assert [answer["device"] for answer in joined] == ["cpu", "cuda:1", "cuda:0"]
    assert len({answer["pid"] for answer in joined}) == 3


def test_the_place_of_a_rank_is_in_its_environment(join: Join) -> None:
    """The variables that torch reads, one port for all, and what is added."""
    group, _ = join(NCCL_DEBUG="WARN")
    found = {}
    for name in (
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
        "LOCAL_WORLD_SIZE",
        "MASTER_ADDR",
        "MASTER_PORT",
        "NCCL_DEBUG",
    ):
        answers = group.call("behaviour.environment", deadline_s=PATIENCE_S, name=name)
        found[name] = [answer["value"] for answer in answers]
    assert found["RANK"] == found["LOCAL_RANK"] == ["0", "1"]
    assert found["WORLD_SIZE"] == found["LOCAL_WORLD_SIZE"] == ["2", "2"]
    assert found["MASTER_ADDR"] == ["127.0.0.1", "127.0.0.1"]
    assert len(set(found["MASTER_PORT"])) == 1
    assert found["NCCL_DEBUG"] == ["WARN", "WARN"]


def test_all_ranks_answer_call_after_call(join: Join) -> None:
    """Answers come by rank, from the same processes; ``each`` adds to the shared parameters."""
    group, joined = join()
    for turn in range(3):
        answers = group.call(
            "behaviour.echo",
            deadline_s=PATIENCE_S,
            turn=turn,
            each=[{"mine": "a"}, {"mine": "b"}],
        )
        assert [a["params"] for a in answers] == [
            {"turn": turn, "mine": "a"},
            {"turn": turn, "mine": "b"},
        ]
        assert [a["pid"] for a in answers] == [j["pid"] for j in joined]


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("crash", "killed by SIGSEGV in between calls"),
        ("be killed", "killed by SIGKILL in between calls"),
        ("exit silently", "exited with code 7 without a word, in between calls"),
        ("leave", "SystemExit: the library wants to leave"),
    ],
)
def test_a_rank_that_goes_is_named(join: Join, fault: str, sentence: str) -> None:
    """The others hang in the collective, which does not delay the sentence to the deadline."""
    group, _ = join("cpu", "cpu", "cpu")
    failure = trouble(group, deadline_s=PATIENCE_S * 10, at_fault=1, fault=fault)
    assert failure.cause.endswith(sentence)
    assert failure.rank == 1
    assert "--- rank 0, last in all_reduce" in failure.evidence


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("hang", "did not come on from between calls, where the others wait for it"),
        ("hang holding the GIL", "did not come on from between calls, where the others wait for"),
        ("stop", "its process is stopped, in between calls"),
    ],
)
def test_a_rank_that_does_not_come_is_named_at_the_deadline(
    join: Join, fault: str, sentence: str
) -> None:
    """The one behind the others, or in state T, is at fault."""
    group, _ = join("cpu", "cpu", "cpu")
    failure = trouble(group, deadline_s=2, at_fault=2, fault=fault)
    assert failure.rank == 2
    assert failure.cause.startswith("no answer within 2 s; ")
    assert sentence in failure.cause


def test_a_hang_of_all_names_nobody(join: Join) -> None:
    """Every rank is inside the call: the link or the library."""
    failure = trouble(join()[0], deadline_s=1, at_fault=9)
    assert failure.rank is None
    assert failure.cause == (
        "no answer within 1 s; every rank is in all_reduce: the link or the collective "
        "library hangs"
    )


def test_an_own_error_is_named_though_another_spoke_first(join: Join) -> None:
    """Ranks that only report their lost peer are not accused."""
    failure = trouble(
        join()[0], at_fault=1, error="no kernel image", echo="Connection closed by peer"
    )
    assert failure.cause.endswith("RuntimeError: no kernel image")
    assert failure.rank == 1
    assert "Connection closed by peer" in failure.evidence


def test_an_odd_call_is_named(join: Join) -> None:
    """Two ranks in one call and a third in another: a hang with a culprit."""
    group, _ = join("cpu", "cpu", "cpu")
    failure = trouble(group, deadline_s=1, at_fault=0, odd_call="broadcast(int8[2])")
    assert failure.rank == 0
    assert "called broadcast(int8[2]) where the others called all_reduce" in failure.cause


def test_a_rank_that_answers_while_another_crashes(join: Join) -> None:
    """An answer of one does not hide the death of the other."""
    failure = trouble(join()[0], at_fault=0, fault="crash", wait=False)
    assert failure.rank == 0
    assert "SIGSEGV" in failure.cause


def test_after_a_failure_a_new_group_can_join(join: Join) -> None:
    """Another group, other processes."""
    group, before = join()
    trouble(group, at_fault=1, fault="crash")
    after = group.join(deadline_s=PATIENCE_S)
    assert {a["pid"] for a in after}.isdisjoint(b["pid"] for b in before)
    assert len(group.call("ranks.meet", deadline_s=PATIENCE_S)) == 2


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("crash", "killed by SIGSEGV in joining"),
        ("exhaust memory", "MemoryError: "),
    ],
)
def test_a_group_that_does_not_form_names_the_rank(join: Join, fault: str, sentence: str) -> None:
    """Trouble in joining is a failure like any other."""
    with pytest.raises(ProbeFailed) as caught:
        join(FAULT_IN_JOIN=f"1:{fault}")
    assert caught.value.cause.endswith(sentence)
    assert caught.value.rank == 1


def test_an_interpreter_that_does_not_come_up_is_an_error(
    fault_probes: Path, tmp_path: Path
) -> None:
    """Nobody could look; ranks that had started are gone, and no descriptor is left."""
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\n[ "$RANK" = 1 ] && exit 3\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    group = RankGroup(str(python), ("cpu", "cpu"), backend="gloo")
    with pytest.raises(CannotLook) as caught:
        group.join(deadline_s=PATIENCE_S)
    assert caught.value.cause == "the interpreter of rank 1 exited with code 3 before it answered"
    assert not group.is_joined


def test_leaving_ends_every_process(join: Join) -> None:
    """Nothing of the group runs afterwards, even where a rank ignores the end of its input."""
    group, joined = join()
    group.leave()
    assert not any(is_alive(answer["pid"]) for answer in joined)
    assert not group.is_joined
