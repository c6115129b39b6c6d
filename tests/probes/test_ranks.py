from __future__ import annotations

import pytest
import torch

from preflight.probes import ranks

from .process_group import ProcessGroup, RankError


def test_progress_tells_import_joining_and_each_collective(two_ranks: ProcessGroup) -> None:
    """A supervisor sees import, joining, and the entering and leaving of every call."""
    two_ranks.call("collectives.all_reduce", level="quick", seed=1)
    for messages in two_ranks.progress:
        steps = [m["step"] for m in messages if m["event"] == "progress"]
        assert steps[:3] == ["import", "joining", "joined"]
        calls = [m for m in messages if m.get("fingerprint", "").startswith("all_reduce(float32")]
        assert calls[0]["entered"] is True and calls[1]["entered"] is False
        assert calls[0]["seq"] == calls[1]["seq"] > 0
        assert {m["fingerprint"] for m in calls} >= {
            "all_reduce(float32[1031], sum)",
            "all_reduce(float32[1031], max)",
        }


def test_ranks_enter_the_same_calls(two_ranks: ProcessGroup) -> None:
    """Number and fingerprint of a call are the same on every rank."""
    two_ranks.call("collectives.broadcast", level="quick", seed=1)
    entered = [
        {(m["seq"], m["fingerprint"]) for m in messages if m.get("entered")}
        for messages in two_ranks.progress
    ]
    assert entered[0] == entered[1]


def test_leaving_and_joining_twice() -> None:
    """A group can be left; joining twice and leaving twice say what to do."""
    with ProcessGroup(1) as group:
        with pytest.raises(RankError, match="joined a group already"):
            group.call("ranks.join", backend="gloo", device="cpu", timeout_s=5)
        assert group.call("ranks.leave")[0]["rank"] == 0
        with pytest.raises(RankError, match="joined no group"):
            group.call("ranks.leave")


def test_fingerprint_holds_name_dtype_shape_and_detail() -> None:
    """What must be the same on every rank, in one line."""
    tensor = torch.zeros(2, 3, dtype=torch.bfloat16)
    assert ranks.fingerprint("all_reduce", tensor, detail="sum") == "all_reduce(bfloat16[2,3], sum)"
    assert ranks.fingerprint("barrier") == "barrier()"
