"""Stage strategy: is the plan's layout one that is carried out."""

from __future__ import annotations

import pytest

from preflight.harness.result import Result
from preflight.plan import decode_plan

from .situations import load

strategy = load("check_110_strategy.py")


@pytest.mark.parametrize(
    ("kind", "status"),
    [("ddp", "pass"), ("fsdp2", "pass"), ("tp", "warn"), ("fsdp2+tp", "warn")],
)
def test_a_layout_that_is_not_exercised_is_told(kind: str, status: str) -> None:
    """Passing DDP and FSDP2 says nothing of tensor parallelism, and the record says so."""
    result = Result()
    strategy.check_plan(decode_plan(f'[strategy]\nkind = "{kind}"\n', where="p"), result)
    assert result.status == status
    assert kind in result.reason
