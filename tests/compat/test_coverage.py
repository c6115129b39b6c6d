"""Which GPU runs a library."""

from __future__ import annotations

import pytest

from preflight.compat.coverage import Word, best, combined, cover
from preflight.compat.device_code import DeviceLibrary

from .environments import cuda, hip


@pytest.mark.parametrize(
    ("fatbins", "architecture", "word"),
    [
        (("sm_80 sm_90", "sm_80 sm_90"), "sm_90", "yes"),
        (("sm_80 sm_90", "sm_80"), "sm_90", "partly"),
        (("sm_80 sm_90", "sm_80"), "sm_89", "yes"),
        (("sm_80", "sm_90a"), "sm_100", "no"),
        (("sm_100", "sm_100 sm_100a"), "sm_103", "yes"),
        (("sm_100a", "sm_100a"), "sm_103", "no"),
        (("sm_100f",), "sm_103", "yes"),
        (("sm_80",), "sm_87", "no"),
        (("lto_75",), "sm_90", "no"),
    ],
)
def test_each_fat_binary_must_run(fatbins: tuple[str, ...], architecture: str, word: Word) -> None:
    """A kernel is looked for in its own fat binary alone: the union of all says nothing."""
    assert cover(cuda(*fatbins), architecture).word == word


def test_bundles_of_hip_must_all_run() -> None:
    """The same holds for HIP."""
    assert cover(hip("gfx90a gfx942", "gfx942"), "gfx942").word == "yes"
    assert cover(hip("gfx90a gfx942", "gfx942"), "gfx90a").word == "partly"
    assert cover(hip("gfx90a"), "gfx942").word == "no"


def test_no_device_code_is_neither_yes_nor_no() -> None:
    """A library of the host alone runs no less on one GPU than on another."""
    assert cover(DeviceLibrary(kind="none"), "sm_90").word == "none"


def test_ptx_counts_apart() -> None:
    """How many fat binaries run only through PTX is told, for the driver must compile these."""
    found = cover(cuda("sm_80 compute_80", "sm_90", "compute_90", isas=("8.0",)), "sm_90")
    assert (found.word, found.num_fatbins, found.num_running, found.num_through_ptx) == (
        "yes",
        3,
        3,
        2,
    )


@pytest.mark.parametrize(("driver", "word"), [("580.65.06", "yes"), ("575.57.08", "partly")])
def test_ptx_that_the_driver_does_not_know_is_no_code(driver: str, word: Word) -> None:
    """With a driver's version the PTX counts only where that driver compiles it."""
    assert cover(cuda("sm_90", "compute_80", isas=("9.0",)), "sm_90", driver).word == word


def test_ptx_that_does_not_run_on_the_gpu_needs_no_driver() -> None:
    """PTX for a newer GPU, or for one only, is no code for this one."""
    assert cover(cuda("compute_120", isas=("8.7",)), "sm_90").word == "no"
    assert cover(cuda("compute_90a", isas=("8.7",)), "sm_100").word == "no"


def test_what_could_not_be_read_to_its_end_is_partly_fine_at_best() -> None:
    """What was not read may lack anything."""
    assert cover(cuda("sm_90", trouble="cut short"), "sm_90").word == "partly"
    assert cover(cuda("sm_80", trouble="cut short"), "sm_90").word == "no"
    assert cover(cuda(trouble="cut short"), "sm_90").word == "partly"
    assert cover(cuda("sm_90", is_unlinked=True), "sm_90").word == "partly"


@pytest.mark.parametrize(
    ("words", "word"),
    [
        (["yes", "yes", "none"], "yes"),
        (["yes", "no"], "partly"),
        (["partly", "yes"], "partly"),
        (["no", "no"], "no"),
        (["none"], "none"),
        ([], "none"),
    ],
)
def test_all_libraries_of_a_package_count(words: list[Word], word: Word) -> None:
    """Those without device code say nothing."""
    assert combined(words) == word


@pytest.mark.parametrize(
    ("words", "word"),
    [(["no", "yes"], "yes"), (["no", "partly"], "partly"), (["none", "no"], "no"), ([], "none")],
)
def test_of_siblings_the_best_counts(words: list[Word], word: Word) -> None:
    """One of them is loaded."""
    assert best(words) == word
