"""The text of ``preflight list``."""

from __future__ import annotations

from typing import Any

from preflight.harness.contract import CheckSpec
from preflight.path_table import WIDTH, path_table
from preflight.stages import STAGES


def spec(name: str, **fields: Any) -> CheckSpec:
    """A check as its marker declares it."""
    values: dict[str, Any] = {
        "id": name,
        "stage": name.partition(".")[0],
        "title": f"Title of {name}",
        "deadline_s": 90.0,
        "required": True,
        "needs": (),
        "gates": True,
        "phase": "host",
        "per_device": False,
        "where": "check_x.py:1",
    }
    return CheckSpec(**{**values, **fields})


def test_every_stage_stands_in_path_order_with_what_it_proves() -> None:
    """Stages without a check are shown too, each with its sentence and its gates."""
    lines = path_table([]).splitlines()
    heads = [line for line in lines if line and not line.startswith(" ")]
    assert [head.partition(" ")[0] for head in heads] == [stage.name for stage in STAGES]
    for head, stage in zip(heads, STAGES, strict=True):
        assert head.endswith(f": {stage.proves}")
    blocks = [line.strip() for line in lines if line.startswith("  a failure blocks: ")]
    assert blocks[0] == "a failure blocks: nothing"
    assert blocks[5] == "a failure blocks: forward, collective, strategy, checkpoint"


def test_the_scope_of_a_stage_is_said() -> None:
    """A reader sees what runs once, per device, and once a node."""
    text = path_table([])
    assert "order (once): " in text
    assert "kernel (per device): " in text
    assert "collective (once a node): " in text


def test_a_check_stands_under_its_stage() -> None:
    """A check shows its id, title and deadline, and whether its failure counts."""
    text = path_table([spec("kernel.first"), spec("order.count", required=False)])
    order, kernel = text.index("order.count"), text.index("kernel.first")
    assert text.index("order (once)") < order < text.index("driver (")
    assert text.index("kernel (per") < kernel < text.index("forward (")
    (row,) = [line for line in text.splitlines() if "kernel.first" in line]
    assert row.split(maxsplit=3) == ["kernel.first", "90", "s", "Title of kernel.first"]
    assert "Title of order.count (not required)" in text


def test_no_line_of_a_check_is_wider_than_the_page() -> None:
    """Long titles go on below themselves."""
    text = path_table([spec("kernel.first", title="word " * 60)])
    rows = text[text.index("  kernel.first") :].split("\n\n")[0].splitlines()
    assert len(rows) > 3
    assert all(len(row) <= WIDTH for row in rows)
    column = rows[0].index("word")
    assert all(row.index("word") == column for row in rows[1:])


def test_a_long_id_keeps_its_distance() -> None:
    """An id longer than its column is still apart from its title."""
    name = "kernel." + "x" * 40
    assert f"{name} " in path_table([spec(name)])
