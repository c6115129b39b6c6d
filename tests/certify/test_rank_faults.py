"""A fault of one rank inside a collective is found, and no other rank is named."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from fakegpu.build import Libraries
from fakegpu.environment import collective_fault

from certify.command import plan_text, run_command

SICK = 1
"""Of three ranks."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A fault, the check that is to show it, what is to be said, and of whom."""

    name: str
    op: str
    kind: str
    check: str
    says: str
    rank: int | None = SICK
    skip: int = 0


CASES = (
    Case(
        name="killed",
        op="allreduce_",
        kind="kill",
        skip=3,
        check="collective.all_reduce",
        says="killed by SIGKILL in all_reduce",
    ),
    Case(
        name="stopped",
        op="allreduce_",
        kind="stop",
        skip=3,
        check="collective.all_reduce",
        says="its process is stopped, in all_reduce",
    ),
    Case(
        name="gets a wrong sum",
        op="allreduce_",
        kind="garble",
        check="collective.all_reduce",
        says="elements are wrong on rank 1",
    ),
    Case(
        name="hands in what it does not hold to a sum",
        op="allreduce_",
        kind="corrupt",
        check="collective.all_reduce",
        says="elements are wrong on ranks 0, 1, 2",
        rank=None,  # the sum is wrong everywhere, and does not tell whose part it was
    ),
    Case(
        name="hands in what it does not hold to a gather",
        op="_allgather_base_",
        kind="corrupt",
        check="collective.all_gather",
        says="elements are wrong on ranks 0, 1, 2, all of them from rank 1",
    ),
    Case(
        name="raises",
        op="broadcast_",
        kind="raise NCCL error: unhandled system error",
        check="collective.broadcast",
        says="DistBackendError: NCCL error: unhandled system error",
    ),
)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_sick_rank_is_named_and_no_other(
    libraries: Libraries, tmp_path: Path, case: Case
) -> None:
    """Each fault of one rank of three fails the collective that is to find it, by that rank."""
    run = run_command(
        libraries,
        tmp_path,
        plan=plan_text(gpus=3),
        only="collective",
        more=("--check-deadline", "45s"),
        FAKEGPU_COUNT="3",
        **collective_fault(case.op, case.kind, rank=SICK, skip=case.skip),
    )
    assert run.exit_code == 1, run.table()
    found = run.named(case.check)
    assert found.status == "fail", run.table()
    assert case.says in found.reason, run.table()
    assert found.rank == case.rank, run.table()
    assert run.guilty() <= {f"rank {SICK}"}, run.table()
