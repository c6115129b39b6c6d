"""All rules at once."""

from __future__ import annotations

from preflight.compat.builds import build_of
from preflight.compat.finding import worst
from preflight.compat.place import Place
from preflight.compat.verdicts import judge, verdict_table


def statuses(text: str, place: Place) -> list[str]:
    """Status of each rule that was asked."""
    build = build_of(text, machine=place.machine)
    assert build is not None
    return [one.status for one in judge(build, place)]


def test_code_and_triton_are_asked_without_further_facts() -> None:
    """With nothing known but the card, two rules speak."""
    assert statuses("2.9.0+cu128", Place(architecture="sm_103")) == ["pass", "warn"]


def test_every_fact_brings_its_rule() -> None:
    """Driver and interpreter are judged where they are known."""
    place = Place(architecture="sm_90", driver="470.82.01", python="3.12.3", glibc="2.35")
    assert statuses("2.9.0+cu128", place) == ["pass", "pass", "fail", "pass"]


def test_amd_is_judged_by_rocm() -> None:
    """No Triton and no NVIDIA floor; ROCm and the kernel's module."""
    place = Place(architecture="gfx942", driver="6.8.5")
    assert statuses("2.10.0+rocm7.0", place) == ["pass", "warn"]


def test_a_newer_torch_is_unknown_as_a_whole() -> None:
    """A release after the table's last is never a failure."""
    build = build_of("2.16.0+cu134")
    assert build is not None
    place = Place(architecture="sm_103", driver="610.43.02", python="3.13.1")
    found = worst(one for one in judge(build, place) if one.status != "pass")
    assert found is not None and found.status == "unknown"


def test_the_table_has_a_row_a_wheel_and_a_word_a_card() -> None:
    """The first column is the release; a wheel that may not exist is marked."""
    table = verdict_table([("V100", "sm_70"), ("B300", "sm_103"), ("MI300X", "gfx942")])
    rows = {tuple(line.split()[:3]): line.split()[3:] for line in table.splitlines()[1:]}
    assert rows[("2.9.1", "cu128", "x86_64")] == ["pass", "eager", "-"]
    assert rows[("2.9.1", "cu130", "x86_64")] == ["FAIL", "eager", "-"]
    assert rows[("2.10.0", "cu128", "x86_64")] == ["pass", "pass", "-"]
    assert rows[("2.9.1", "rocm6.4", "x86_64")] == ["-", "-", "pass"]
    assert ("2.15.0", "cu126?", "x86_64") in rows
    assert "V100 sm_70" in table.splitlines()[0]
