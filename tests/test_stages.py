"""The ordered path."""

from __future__ import annotations

import pytest

from preflight.stages import BY_NAME, COLLECTION, PHASES, STAGE_NAMES, STAGES, Stage, position_of


def test_the_path_is_the_documented_one() -> None:
    """Thirteen stages, in the order in which a machine is trusted."""
    assert STAGE_NAMES == (
        "order",
        "driver",
        "system",
        "arch",
        "import",
        "kernel",
        "forward",
        "backward",
        "compile",
        "collective",
        "strategy",
        "checkpoint",
        "soak",
    )


def test_phases_never_run_backwards() -> None:
    """Along the path the phases come in the order in which they run."""
    order = [PHASES.index(stage.phase) for stage in STAGES]
    assert order == sorted(order)


@pytest.mark.parametrize("stage", STAGES, ids=STAGE_NAMES)
def test_a_stage_blocks_only_what_comes_after_it(stage: Stage) -> None:
    """No gate leads backwards, which makes a cycle impossible."""
    for name in stage.blocks:
        assert position_of(name) > position_of(stage.name)


@pytest.mark.parametrize("stage", STAGES, ids=STAGE_NAMES)
def test_a_stage_says_what_it_proves(stage: Stage) -> None:
    """Each stage has one sentence for people, and is found by its name."""
    assert stage.proves and "\n" not in stage.proves and not stage.proves.endswith(".")
    assert BY_NAME[stage.name] is stage


def test_what_is_not_on_the_path_comes_last() -> None:
    """Results of check files that could not be collected stand after all stages."""
    assert position_of(COLLECTION) == len(STAGES)
    assert [position_of(name) for name in STAGE_NAMES] == list(range(len(STAGES)))
