"""What the plugin plans, orders and records."""

from __future__ import annotations

from pathlib import Path

import pytest
from faults.runs import Phases, check_text, options, write_checks

from preflight.errors import CheckContractError
from preflight.events import Ended, Planned, PlannedCheck, Started
from preflight.harness.plugin import lost


def planned(found: Phases) -> tuple[PlannedCheck, ...]:
    """The plan of a run; there is one."""
    (plan,) = [event for event in found.events if isinstance(event, Planned)]
    return plan.checks


def test_everything_is_planned_before_the_first_check(tmp_path: Path) -> None:
    """Over all phases and devices, with what the markers say, in path order."""
    folder = write_checks(
        tmp_path / "checks",
        check_text("late", stage="collective", gates=False),
        check_text("card", stage="kernel", arguments="device", required=False, deadline="1m"),
        check_text("host", doc="The host is well. More."),
    )
    found = Phases(tmp_path / "run", options(folder), "gpu0", "gpu1")
    kinds = [type(event) for event in found.events]
    assert kinds.index(Planned) < kinds.index(Started)
    rows = planned(found)
    assert [(row.id, row.device, row.phase) for row in rows] == [
        ("system.host", None, "host"),
        ("kernel.card", "gpu0", "devices"),
        ("kernel.card", "gpu1", "devices"),
        ("collective.late", None, "node"),
    ]
    assert [row.deadline_s for row in rows] == [30, 60, 60, 30]
    assert [row.required for row in rows] == [True, False, False, True]
    assert [row.gates for row in rows] == [True, True, True, False]
    assert rows[0].title == "The host is well"
    assert len({row.nodeid for row in rows}) == 4


def test_checks_run_in_path_order_whatever_the_files(tmp_path: Path) -> None:
    """Stage first, then file, then line."""
    folder = write_checks(
        tmp_path / "checks",
        check_text("b", stage="import"),
        check_text("a", stage="order"),
        name="check_1.py",
    )
    write_checks(
        folder, check_text("c", stage="order"), check_text("d", stage="driver"), name="check_0.py"
    )
    found = Phases(tmp_path / "run", options(folder), "gpu0")
    began = [event.id for event in found.events if isinstance(event, Started)]
    assert began == ["order.c", "order.a", "driver.d", "import.b"]


def test_stages_that_were_not_chosen_are_not_planned(tmp_path: Path) -> None:
    """They neither run nor count as missing."""
    folder = write_checks(tmp_path / "checks", check_text("a"), check_text("b", stage="import"))
    found = Phases(tmp_path / "run", options(folder, selected=("system",)), "gpu0")
    assert found.statuses() == {"system.a": "pass"}
    assert [row.id for row in planned(found)] == ["system.a"]


def test_each_check_has_one_beginning_and_one_end(tmp_path: Path) -> None:
    """With the process, the device and the times."""
    folder = write_checks(
        tmp_path / "checks",
        check_text("card", "time.sleep(0.2)", stage="kernel", arguments="device"),
    )
    found = Phases(tmp_path / "run", options(folder), "gpu0", "gpu1")
    began = {event.device: event for event in found.events if isinstance(event, Started)}
    ended = {event.check.device: event.check for event in found.events if isinstance(event, Ended)}
    assert set(began) == set(ended) == {"gpu0", "gpu1"}
    assert len([event for event in found.events if isinstance(event, (Started, Ended))]) == 4
    assert began["gpu0"].pid != began["gpu1"].pid
    for name, check in ended.items():
        assert check.started == began[name].at
        assert check.duration_s is not None and check.duration_s >= 0.2
        assert check.node == "node-a"


@pytest.mark.parametrize("where", ["before the yield", "after the yield"])
def test_trouble_in_a_fixture_is_the_check_s(tmp_path: Path, where: str) -> None:
    """Set-up and tear-down of a user's fixture count."""
    trouble = "raise OSError('busy')"
    early, late = (trouble, "pass") if where == "before the yield" else ("pass", trouble)
    fixture = f"@pytest.fixture\ndef mine():\n    {early}\n    yield 1\n    {late}\n\n\n"
    folder = write_checks(tmp_path / "checks", fixture, check_text("a", arguments="mine"))
    check = Phases(tmp_path / "run", options(folder), "gpu0").check("system.a")
    assert (check.status, check.reason) == ("error", "the check itself raised OSError: busy")


def test_an_unknown_argument_is_an_error_of_that_check(tmp_path: Path) -> None:
    """The message of pytest names it; the others run."""
    folder = write_checks(tmp_path / "checks", check_text("a", arguments="devise"), check_text("b"))
    found = Phases(tmp_path / "run", options(folder), "gpu0")
    assert found.statuses() == {"system.a": "error", "system.b": "pass"}
    assert "devise" in found.check("system.a").reason + found.check("system.a").evidence


def test_a_parametrized_check_is_refused(tmp_path: Path) -> None:
    """One id stands for one result, and a worse one must not hide behind the first."""
    several = '@pytest.mark.parametrize("n", [1, 2])\n'
    folder = write_checks(
        tmp_path / "checks", several + check_text("a", "assert n < 2, 'two'", arguments="n")
    )
    with pytest.raises(CheckContractError, match=r"system\.a is parametrized") as caught:
        Phases(tmp_path / "run", options(folder), "gpu0")
    assert caught.value.where == f"{folder}/check_900_small.py:6"


def test_results_are_redacted_in_the_journal_itself(tmp_path: Path) -> None:
    """A token never reaches the disk."""
    secret = "hf_" + "c" * 34
    folder = write_checks(tmp_path / "checks", check_text("a", f"assert False, {secret!r}"))
    found = Phases(tmp_path / "run", options(folder), "gpu0")
    assert found.check("system.a").status == "fail"
    assert secret not in (found.folder / "journal.jsonl").read_text()


def test_a_lost_check_is_an_error_that_says_why() -> None:
    """It keeps what was planned of it."""
    row = PlannedCheck(
        id="kernel.a",
        stage="kernel",
        title="A",
        phase="devices",
        nodeid="x::y",
        device="gpu3",
        deadline_s=3,
        required=False,
    )
    check = lost(row, "node-a", "the moon")
    assert (check.status, check.reason) == ("error", "nobody could look: the moon")
    assert (check.id, check.device, check.node, check.required) == (
        "kernel.a",
        "gpu3",
        "node-a",
        False,
    )
    assert check.action
