"""Faults of the command line: what is read, and what could never strike."""

from __future__ import annotations

import pytest

from preflight.errors import UsageError
from preflight.injection import (
    FAULTS,
    HARMLESS,
    Injection,
    read_injections,
    refuse_misplaced,
)
from preflight.probes import faults
from preflight.stages import STAGE_NAMES

ALL = tuple(name for name in STAGE_NAMES if name != "soak")


def _read(text: str) -> Injection:
    (injection,) = read_injections([text], ALL)
    return injection


def test_a_fault_without_a_place_strikes_every_device() -> None:
    """STAGE=FAULT strikes each device of a device stage."""
    injection = _read("kernel=segfault")
    assert injection.strikes_device("kernel", "gpu0")
    assert injection.strikes_device("kernel", "gpu7")
    assert not injection.strikes_device("forward", "gpu0")


def test_a_fault_on_a_device_strikes_it_alone() -> None:
    """STAGE:DEVICE=FAULT leaves the other devices alone."""
    injection = _read("forward:gpu3=nan")
    assert injection.strikes_device("forward", "gpu3")
    assert not injection.strikes_device("forward", "gpu2")


def test_a_rank_fault_strikes_the_highest_rank() -> None:
    """Without a rank the last one is struck, with one that rank, within the group there is."""
    assert _read("collective=rank-kill").rank_of(8) == 7
    assert _read("collective:2=rank-kill").rank_of(8) == 2
    assert _read("collective:9=rank-kill").rank_of(2) == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kernel", "not of the form"),
        ("kernel=melt", "no fault is called 'melt'"),
        ("order=raise", "runs no probe"),
        ("karnel=raise", "not on the path"),
        ("kernel=rank-kill", "cannot strike stage kernel"),
        ("kernel=bitflip", "cannot strike stage kernel"),
        ("collective=bitflip", "cannot strike stage collective"),
        ("import=wrong", "cannot strike stage import"),
        ("kernel:3=raise", "is struck at a device"),
        ("collective:gpu1=raise", "is struck at a rank"),
    ],
)
def test_a_fault_that_could_never_strike_is_refused(text: str, words: str) -> None:
    """The message names the flag and what is wrong with it."""
    with pytest.raises(UsageError, match=words) as caught:
        _read(text)
    assert caught.value.where == "--inject"
    assert caught.value.exit_code == 2


def test_a_fault_in_a_stage_that_does_not_run_is_refused() -> None:
    """A fault that is never reached would look like a gate that holds."""
    with pytest.raises(UsageError, match="not among those that run"):
        read_injections(["compile=raise"], ("kernel",))


def test_every_fault_has_its_place_in_the_probes() -> None:
    """A fault on the list strikes at once, at a result, in a collective, or at a file."""
    waiting = {
        *("wrong", "nan", "rank-wrong"),
        *("rank-kill", "rank-stop", "rank-late"),
        *("bitflip", "disk-full"),
    }
    assert set(FAULTS) == waiting | {"oom", *faults._AT_ONCE}
    assert set(FAULTS) > HARMLESS


@pytest.mark.parametrize(
    ("text", "words"),
    [("kernel:gpu7=raise", "there is no gpu7"), ("collective:9=rank-kill", "there is no rank 9")],
)
def test_a_place_that_this_machine_has_not_is_refused(text: str, words: str) -> None:
    """A fault that struck nothing would look like a gate that does not close."""
    with pytest.raises(UsageError, match=words):
        refuse_misplaced([_read(text)], ["gpu0", "gpu1"], 2)


def test_a_place_that_is_there_is_taken() -> None:
    """Devices by their names, ranks by their numbers; a machine without cards is judged as such."""
    refuse_misplaced([_read("kernel:gpu1=raise"), _read("collective:1=rank-kill")], ["gpu1"], 2)
    refuse_misplaced([_read("kernel:gpu1=raise")], [], 0)
