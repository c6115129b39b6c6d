"""What a check must be, and what each breach says."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.errors import CheckContractError
from preflight.harness.contract import CheckSpec, read_spec, refuse_duplicates

WHERE = "checks/check_900_mine.py:12"
GOOD = {"id": "kernel.mine", "stage": "kernel", "deadline": "30s"}


def check_mine(device: Any) -> None:
    """The card does what was asked. More is said here."""


def check_host() -> None:
    """The host
    is well
    """


def check_silent(device: Any) -> None:  # noqa: D103 - that is the point
    pass


def read(function: Any = check_mine, **changes: Any) -> CheckSpec:
    """The spec with a good marker, but for ``changes``; None takes an argument away."""
    values = {name: value for name, value in {**GOOD, **changes}.items() if value is not None}
    return read_spec(function, pytest.mark.check(**values).mark, WHERE)


def refusal(function: Any = check_mine, **changes: Any) -> CheckContractError:
    """What a breach says; it always names the place and ends in exit code 2."""
    with pytest.raises(CheckContractError) as caught:
        read(function, **changes)
    assert caught.value.where == WHERE
    assert caught.value.exit_code == 2
    assert caught.value.mend
    return caught.value


def test_a_check_as_it_declares_itself() -> None:
    """Marker, docstring and signature make the spec; the defaults are the strict ones."""
    assert read() == CheckSpec(
        id="kernel.mine",
        stage="kernel",
        title="The card does what was asked",
        deadline_s=30.0,
        required=True,
        needs=(),
        gates=True,
        phase="devices",
        per_device=True,
        where=WHERE,
    )


def test_every_argument_is_read() -> None:
    """What the marker says overrides the defaults."""
    spec = read(required=False, needs=("kernel.first",), gates=False, phase="compare")
    assert (spec.required, spec.needs, spec.gates) == (False, ("kernel.first",), False)
    assert spec.phase == "compare"


def test_a_check_without_device_runs_once() -> None:
    """The signature decides; the docstring's first sentence may span lines."""
    spec = read(check_host, id="system.mine", stage="system")
    assert (spec.per_device, spec.phase) == (False, "host")
    assert spec.title == "The host is well"


def test_the_marker_is_required() -> None:
    """Its example is shown."""
    with pytest.raises(CheckContractError, match="a check needs a marker") as caught:
        read_spec(check_mine, None, WHERE)
    assert "@pytest.mark.check(" in caught.value.mend


def test_positional_arguments_are_refused() -> None:
    """The marker takes keywords only."""
    with pytest.raises(CheckContractError, match="keywords only"):
        read_spec(check_mine, pytest.mark.check("kernel.mine", **GOOD).mark, WHERE)


def test_an_unknown_argument_is_named() -> None:
    """The message lists those there are."""
    error = refusal(timeout="3s")
    assert "'timeout'" in error.what
    assert "deadline" in error.mend


@pytest.mark.parametrize("stage", ["kernels", None, 3])
def test_a_stage_must_be_on_the_path(stage: Any) -> None:
    """The message lists the path."""
    assert "order, driver, system" in refusal(stage=stage).mend


@pytest.mark.parametrize(
    "name", [None, "mine", "forward.mine", "kernel.", "kernel.Mine", "kernel.a b", 7, "kernel.a.b"]
)
def test_an_id_is_stage_and_fact(name: Any) -> None:
    """Lower case, and of the check's own stage."""
    assert '"kernel.some_fact"' in refusal(id=name).mend


def test_a_docstring_is_required() -> None:
    """It is the title of every report."""
    assert refusal(check_silent).what == "a check needs a docstring"


@pytest.mark.parametrize("text", [None, "30", "soon", "0s", "-3s", 30])
def test_a_deadline_is_a_duration(text: Any) -> None:
    """With its unit, and more than nothing."""
    assert refusal(deadline=text).what.startswith(f"deadline {text!r}: ")


def test_a_check_of_a_device_stage_takes_a_device() -> None:
    """A check of the devices phase runs once per device."""
    assert refusal(check_host).mend == "give it an argument named device"


def test_a_check_over_all_devices_says_its_phase() -> None:
    """With ``phase="compare"`` it needs no device."""
    assert read(check_host, phase="compare").per_device is False


def test_an_unknown_phase_is_refused() -> None:
    """The message lists the phases."""
    assert refusal(phase="later").mend == "phases are host, devices, compare, node"


def test_needs_is_more_than_one_string() -> None:
    """A bare string would be read letter by letter and need nothing."""
    assert "needs" in refusal(needs="kernel.first").what


def test_an_id_is_taken_once() -> None:
    """Both places are named."""
    first = read()
    other = read_spec(check_mine, pytest.mark.check(**GOOD).mark, "other.py:3")
    with pytest.raises(CheckContractError, match="is taken by checks/check_900_mine") as caught:
        refuse_duplicates([first, other])
    assert caught.value.where == "other.py:3"


def test_one_check_on_several_devices_is_no_duplicate() -> None:
    """Items of one function share its place."""
    refuse_duplicates([read(), read()])
