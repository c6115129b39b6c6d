from __future__ import annotations

import pytest
import torch

from preflight.probes import layouts, training

from .process_group import ProcessGroup
from .test_collectives import faulty


@pytest.mark.parametrize("name", ["ddp", "fsdp2"])
def test_a_layout_trains_like_one_process(two_ranks: ProcessGroup, name: str) -> None:
    """Loss and gradients of each step and the parameters at the end are within the bound."""
    for answer in two_ranks.call(f"layouts.{name}", seed=2, steps=3, level="quick"):
        assert answer["ratio"] < 1
        assert len(answer["steps"]) == 3
        assert all(step["gradient_bound"] < 1e-12 for step in answer["steps"])
        assert answer["steps"][2]["loss"] < answer["steps"][0]["loss"]


def test_fsdp2_shards_and_ddp_does_not(two_ranks: ProcessGroup) -> None:
    """Under FSDP2 a rank holds about half of the numbers, under DDP all of them."""
    ddp = two_ranks.call("layouts.ddp", seed=2, steps=1, level="quick")[0]
    fsdp2 = two_ranks.call("layouts.fsdp2", seed=2, steps=1, level="quick")[0]
    assert ddp["held_numbers"] == ddp["all_numbers"] == fsdp2["all_numbers"]
    assert 0.4 < fsdp2["held_numbers"] / fsdp2["all_numbers"] < 0.6


def test_a_rank_that_errs_by_a_millionth_is_found() -> None:
    """A loss that is a millionth too large on one rank leaves the bound at the first step."""
    with faulty("loss") as group:
        for name in ("ddp", "fsdp2"):
            healthy = group.call(f"layouts.{name}", seed=2, steps=1, level="quick")[0]
            assert healthy["steps"][0]["ratio"] > 1000


@pytest.mark.long
def test_three_ranks_share_sixteen_rows_unevenly() -> None:
    """The mean over all tokens is the same where ranks have 5, 5 and 6 rows."""
    with ProcessGroup(3) as group:
        for name in ("ddp", "fsdp2"):
            for answer in group.call(f"layouts.{name}", seed=2, steps=3, level="quick"):
                assert answer["ratio"] < 1


def test_every_row_has_one_rank() -> None:
    """Shares cover the batch without overlap, for any number of ranks."""
    for world in (1, 2, 3, 7, 16):
        shares = [training.share(16, rank, world) for rank in range(world)]
        assert [row for s in shares for row in range(16)[s]] == list(range(16))
    assert training.rows_for(16) == 16 and training.rows_for(17) == 32


def test_a_batch_depends_on_seed_and_step_alone() -> None:
    """The same tokens whenever asked, others at the next step."""
    assert torch.equal(training.batch(1, 2, 16)[0], training.batch(1, 2, 16)[0])
    assert not torch.equal(training.batch(1, 2, 16)[0], training.batch(1, 3, 16)[0])


def test_no_number_is_worse_than_any() -> None:
    """None stands for NaN or infinity."""
    assert layouts._largest([1.0, None, 3.0]) is None
    assert layouts._largest([1.0, 3.0]) == 3.0
