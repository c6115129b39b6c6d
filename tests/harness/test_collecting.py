"""Files of checks that do not parse, break the contract or hold nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from faults.runs import (
    Phases,
    RunPhases,
    check_text,
    options,
    write_checks,
)

from preflight.errors import CheckContractError
from preflight.events import Ended, Started
from preflight.harness.journal import read_journal


def test_a_file_that_does_not_parse_is_an_error_and_the_others_run(
    phases: RunPhases, tmp_path: Path
) -> None:
    """It is a result of its own in stage checks, once, and with the line in its evidence."""
    write_checks(tmp_path / "checks", "def check_x(:\n", name="check_800_broken.py")
    found = phases(
        check_text("good"),
        check_text("card", stage="kernel", arguments="device"),
        check_text("late", stage="collective"),
        devices=("gpu0", "gpu1"),
    )
    assert found.statuses() == {
        "system.good": "pass",
        "kernel.card gpu0": "pass",
        "kernel.card gpu1": "pass",
        "collective.late": "pass",
        "checks.check_800_broken": "error",
    }
    broken = found.check("checks.check_800_broken")
    assert broken.stage == "checks"
    assert "SyntaxError" in broken.evidence
    assert "check_800_broken.py" in broken.reason
    assert (found.record.verdict.word, found.record.verdict.exit_code) == ("INCONCLUSIVE", 3)


@pytest.mark.parametrize("text", ["1 / 0\n", "import no_such_module\n", "sys.exit(3)\n"])
def test_a_file_that_raises_is_an_error_and_the_others_run(
    phases: RunPhases, tmp_path: Path, text: str
) -> None:
    """Whatever it raises while it is imported."""
    write_checks(tmp_path / "checks", text, name="check_800_raises.py")
    found = phases(check_text("good"))
    assert found.statuses() == {"system.good": "pass", "checks.check_800_raises": "error"}


@pytest.mark.parametrize(
    ("text", "what", "line"),
    [
        ('def check_x():\n    """X."""\n', "a check needs a marker", 6),
        (check_text("x", doc=""), "a check needs a docstring", 6),
        (check_text("x", stage="systems"), "stage 'systems' is not on the path", 6),
        (
            '@pytest.mark.check("system.x")\ndef check_x():\n    """X."""\n',
            "takes keywords only",
            6,
        ),
        (check_text("x", stage="kernel"), "a check of stage kernel runs once per device", 6),
        (check_text("x", deadline="soon"), "deadline 'soon'", 6),
        (check_text("x", needs="system.y"), "needs is 'system.y'", 6),
    ],
)
def test_a_breach_of_the_contract_ends_the_run_before_any_check(
    phases: RunPhases, tmp_path: Path, text: str, what: str, line: int
) -> None:
    """The file and the line are named, and no check has begun."""
    with pytest.raises(CheckContractError) as caught:
        phases(text)
    assert what in caught.value.what
    assert caught.value.where == f"{tmp_path}/checks/check_900_small.py:{line}"
    events = read_journal(tmp_path / "run")
    assert not [event for event in events if isinstance(event, (Started, Ended))]


def test_a_duplicate_id_is_refused_with_both_places(phases: RunPhases, tmp_path: Path) -> None:
    """Also over two files."""
    other = write_checks(tmp_path / "checks", check_text("x"), name="check_100_other.py")
    with pytest.raises(CheckContractError, match=r"the id 'system\.x' is taken by") as caught:
        phases(check_text("x"))
    assert f"{other}/check_" in caught.value.what
    assert f"{other}/check_" in caught.value.where


@pytest.mark.parametrize(
    ("text", "words"),
    [("# nothing\n", "no check was found in it"), ("1 / 0\n", "no check could be collected")],
)
def test_nothing_collected_is_an_error(phases: RunPhases, text: str, words: str) -> None:
    """A run without a check is never a pass."""
    with pytest.raises(CheckContractError, match=words):
        phases(text)


def test_a_marked_function_that_is_no_check_is_refused(phases: RunPhases) -> None:
    """A slip of the finger in the name of a check does not make it vanish."""
    text = check_text("good") + check_text("disk").replace("def check_", "def chek_")
    with pytest.raises(CheckContractError, match="is no name of a check"):
        phases(text)


def test_a_check_that_returns_a_value_is_an_error(phases: RunPhases) -> None:
    """``return False`` is no assertion, and nobody reads it."""
    found = phases(check_text("good") + check_text("answers", "return False"))
    assert found.check("system.good").status == "pass"
    assert found.check("system.answers").status == "error"
    assert "returned False" in found.check("system.answers").reason


def test_an_id_that_is_required_and_unknown_is_refused(phases: RunPhases, tmp_path: Path) -> None:
    """A typo in [required] would otherwise require nothing."""
    plan = tmp_path / "plan.toml"
    plan.write_text('[required]\nchecks = ["system.god"]\n')
    with pytest.raises(CheckContractError, match=r"no check has the id 'system\.god'") as caught:
        phases(check_text("good"), plan_file=str(plan))
    assert "did you mean system.good?" in caught.value.mend


def test_two_files_of_one_name_in_two_folders(tmp_path: Path) -> None:
    """Neither hides the other."""
    folders = [write_checks(tmp_path / n, check_text(n, f"assert '{n}' in __file__")) for n in "ab"]
    found = Phases(tmp_path / "run", options(*folders), "gpu0")
    assert found.statuses() == {"system.a": "pass", "system.b": "pass"}
