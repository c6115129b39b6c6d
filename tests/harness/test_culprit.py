"""The rank at fault, from what every rank last said."""

from __future__ import annotations

import pytest

from preflight.harness.culprit import ECHOES, RankState, is_echo, name_culprit

REDUCE = "all_reduce(float32[4], sum)"
GATHER = "all_gather(float32[4])"


def waiting(rank: int, **changes: object) -> RankState:
    """A rank that waits inside collective 3."""
    fields = {"step": "all_reduce", "seq": 3, "entered": True, "fingerprint": REDUCE, **changes}
    return RankState(rank=rank, **fields)  # type: ignore[arg-type]


def test_a_death_is_the_cause() -> None:
    """Who died is named, whatever the others say."""
    states = [
        waiting(0, error="RuntimeError: Connection closed by peer [127.0.0.1]:4242"),
        waiting(1, ending="killed by SIGKILL in all_reduce"),
        waiting(2),
    ]
    assert name_culprit(states) == (1, "killed by SIGKILL in all_reduce")


def test_an_own_error_is_told_from_an_echo() -> None:
    """The rank whose error is its own is named, though another one spoke first."""
    states = [
        waiting(0, error="DistBackendError: NCCL communicator was aborted on rank 0."),
        waiting(1, error="OutOfMemoryError: tried to allocate 2 GiB"),
    ]
    assert name_culprit(states) == (1, "OutOfMemoryError: tried to allocate 2 GiB")


def test_only_echoes_name_nobody() -> None:
    """Where every error reports a peer, no rank is accused."""
    states = [waiting(0, error="RuntimeError: Broken pipe"), waiting(1)]
    rank, sentence = name_culprit(states)
    assert rank is None
    assert sentence == "a peer was lost, no rank says why: RuntimeError: Broken pipe"


@pytest.mark.parametrize("text", ECHOES)
def test_texts_of_lost_peers_are_echoes(text: str) -> None:
    """Each known text of Gloo, NCCL and the store is recognised inside a message."""
    assert is_echo(f"RuntimeError: [gloo/pair.cc:1] {text} [::1]:1")
    assert not is_echo("RuntimeError: CUDA error: out of memory")


def test_a_rank_that_is_silent_beside_one_that_spoke_is_behind() -> None:
    """Before the first collective, one that hangs at once is told from one that waits for it."""
    states = [
        RankState(rank=0, step="ddp alone"),
        RankState(rank=1, step="layouts.ddp", spoke=False),
    ]
    rank, sentence = name_culprit(states)
    assert rank == 1
    assert sentence == "did not come on from layouts.ddp, where the others wait for it"


def test_a_minority_called_something_else() -> None:
    """Two of three agree, and the third is named with both calls."""
    states = [waiting(0), waiting(1, fingerprint=GATHER), waiting(2)]
    rank, sentence = name_culprit(states)
    assert rank == 1
    assert sentence == f"called {GATHER} where the others called {REDUCE} (collective 3)"


def test_two_ranks_that_disagree_accuse_nobody() -> None:
    """With one against one a majority is no evidence."""
    rank, _ = name_culprit([waiting(0), waiting(1, fingerprint=GATHER)])
    assert rank is None


def test_only_calls_of_the_newest_collective_are_compared() -> None:
    """A rank that still is in the one before is behind, not odd."""
    states = [waiting(0), waiting(1), waiting(2, seq=2, fingerprint=GATHER, step="all_gather")]
    rank, sentence = name_culprit(states)
    assert (rank, sentence) == (
        2,
        "did not come on from all_gather, where the others wait for it",
    )


def test_a_stopped_process_is_named() -> None:
    """A rank in state T is the cause even when it has entered the call like the others."""
    rank, sentence = name_culprit([waiting(0), waiting(1, stopped=True)])
    assert rank == 1
    assert "stopped" in sentence


def test_a_rank_that_left_the_call_is_ahead_of_those_inside() -> None:
    """A rank between calls 3 and 4 waits for nobody; the one inside 3 is behind."""
    states = [waiting(0, entered=False), waiting(1)]
    assert name_culprit(states)[0] == 1


def test_a_rank_before_its_first_collective_is_behind() -> None:
    """Number 0 is the start."""
    states = [waiting(0, seq=1), waiting(1, seq=0, entered=False, fingerprint="", step="import")]
    assert name_culprit(states) == (
        1,
        "did not come on from import, where the others wait for it",
    )


def test_a_rank_that_answered_waits_for_nobody() -> None:
    """Of one that answered and one that did not, the second is behind."""
    states = [waiting(0, answered=True, entered=False), waiting(1)]
    assert name_culprit(states)[0] == 1


def test_all_in_one_call_means_the_link() -> None:
    """Nobody is accused; the link or the library hangs."""
    rank, sentence = name_culprit([waiting(0), waiting(1)])
    assert (rank, sentence) == (
        None,
        "every rank is in all_reduce: the link or the collective library hangs",
    )


def test_an_error_that_every_rank_has_is_nobodys() -> None:
    """A flipped bit that every rank reads is no rank's fault; one that has another error is."""
    same = [RankState(rank=r, error="ValueError: shard is not as written") for r in range(3)]
    assert name_culprit(same) == (None, "ValueError: shard is not as written")
    assert name_culprit([*same[:2], RankState(rank=2, error="OSError: disk")])[0] == 0
