"""Which check is blocked by which failure."""

from __future__ import annotations

from typing import Any

import pytest
from rendering.sample import check

from preflight.gates import blocker, closing, name_of, upstream
from preflight.records import Check
from preflight.stages import STAGE_NAMES

BLOCKED = [
    ("order", set()),
    ("driver", set()),
    ("system", set()),
    ("arch", set()),
    ("import", set()),
    ("kernel", {"driver", "import"}),
    ("forward", {"driver", "import", "kernel"}),
    ("backward", {"driver", "import", "kernel", "forward"}),
    ("compile", {"driver", "import", "kernel", "forward", "backward"}),
    ("collective", {"driver", "import", "kernel"}),
    ("strategy", {"driver", "import", "kernel", "collective"}),
    ("checkpoint", {"driver", "import", "kernel", "collective"}),
    ("soak", set()),
]


def blocked(
    stage: str, device: str | None, *results: Check, needs: tuple[str, ...] = (), **fields: Any
) -> str | None:
    """Who blocks a check, where every result gates and every stage was chosen."""
    fields.setdefault("selected", STAGE_NAMES)
    fields.setdefault("gating", {result.id for result in results})
    return blocker(stage, device, needs, results, **fields)


@pytest.mark.parametrize(("stage", "above"), BLOCKED, ids=[stage for stage, _ in BLOCKED])
def test_gates_are_those_of_the_path_and_transitive(stage: str, above: set[str]) -> None:
    """Each stage is blocked by the stages of the path's table, directly or through others."""
    assert upstream(stage, STAGE_NAMES) == above


def test_the_table_speaks_of_every_stage() -> None:
    """No stage of the path is missing from the table above."""
    assert [stage for stage, _ in BLOCKED] == list(STAGE_NAMES)


def test_a_gate_through_a_stage_that_was_not_chosen_is_open() -> None:
    """Without ``forward``, a failed kernel does not reach ``backward``, which it blocks through."""
    chosen = ("kernel", "backward", "compile")
    assert upstream("backward", chosen) == set()
    assert upstream("compile", chosen) == {"backward"}


@pytest.mark.parametrize("status", ["fail", "error"])
def test_failures_and_errors_block(status: str) -> None:
    """``error`` closes a gate as ``fail`` does, and the name says on which device."""
    result = check("kernel.first", device="gpu0", status=status)
    assert blocked("compile", "gpu0", result) == "kernel.first on gpu0"


@pytest.mark.parametrize("status", ["pass", "warn", "skip"])
def test_other_statuses_leave_the_gate_open(status: str) -> None:
    """A pass, a warning and a skip that nothing blocked let the next stage run."""
    assert blocked("forward", "gpu0", check("kernel.first", device="gpu0", status=status)) is None


def test_a_bad_device_does_not_block_its_neighbour() -> None:
    """The kernel failing on one device leaves the others running."""
    result = check("kernel.first", device="gpu0", status="fail")
    assert blocked("forward", "gpu1", result) is None


def test_a_bad_device_blocks_what_spans_the_node() -> None:
    """Collectives are blocked by one bad device, and name it."""
    result = check("kernel.first", device="gpu5", status="fail")
    assert blocked("collective", None, result) == "kernel.first on gpu5"


def test_a_failure_of_the_node_blocks_every_device() -> None:
    """torch that does not import blocks the kernel stage of each device."""
    result = check("import.torch", status="fail")
    assert blocked("kernel", "gpu3", result) == "import.torch"


def test_a_check_that_is_not_required_blocks_nothing() -> None:
    """Only required checks close gates."""
    result = check("kernel.first", device="gpu0", status="fail", required=False)
    assert not closing(result, {"kernel.first"})
    assert blocked("forward", "gpu0", result) is None


def test_a_check_that_does_not_gate_blocks_nothing() -> None:
    """numpy missing is a failure of its own, and the kernel still runs."""
    result = check("import.numpy", status="fail")
    assert blocked("kernel", "gpu0", result, gating={"import.torch"}) is None


def test_the_failure_earliest_on_the_path_is_named() -> None:
    """With several causes the first on the path is the one to mend."""
    later = check("kernel.first", device="gpu0", status="fail")
    earlier = check("driver.toolkit", device="gpu0", status="error")
    assert blocked("compile", "gpu0", later, earlier) == "driver.toolkit on gpu0"


def test_a_needed_check_of_the_same_stage_blocks() -> None:
    """A check that needs another of its stage waits for it, even if that one gates nothing."""
    result = check("kernel.first", device="gpu0", status="fail", required=False)
    named = blocked("kernel", "gpu0", result, needs=("kernel.first",), gating=())
    assert named == "kernel.first on gpu0"


def test_a_blocked_need_hands_on_its_own_cause() -> None:
    """What needs a blocked check names the failure at the root, not the check in between."""
    root = "import.torch"
    between = check("kernel.first", device="gpu0", status="skip", blocked_by=root)
    assert blocked("kernel", "gpu0", between, needs=("kernel.first",)) == root


def test_a_need_of_another_device_does_not_block() -> None:
    """A needed check counts on the same device only."""
    other = check("kernel.first", device="gpu1", status="fail")
    assert blocked("kernel", "gpu0", other, needs=("kernel.first",)) is None


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({"device": "gpu5"}, "kernel.first on gpu5"),
        ({"rank": 3}, "kernel.first on rank 3"),
        ({"device": "gpu5", "rank": 3}, "kernel.first on gpu5"),
        ({}, "kernel.first"),
    ],
)
def test_a_cause_is_named_with_its_place(place: dict[str, Any], text: str) -> None:
    """A cause carries its device, else its rank, else nothing."""
    assert name_of(check("kernel.first", status="fail", **place)) == text
