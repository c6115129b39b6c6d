"""The judgement of clocks, heat and power at rest."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from preflight.facts import NOT_ASKED, Absence

from .machines import eight_h100, eight_mi300x, look, sole_alarm, spoiled, two_b200

FAULTS: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "system.throttling",
        {"gpu3.clocks.slowed_by": ("hw thermal slowdown",)},
        "fail",
        "gpu3: hw thermal slowdown: the card is too hot",
    ),
    (
        "system.throttling",
        {"gpu3.clocks.slowed_by": ("gpu idle", "hw slowdown")},
        "fail",
        "gpu3: hw slowdown: the hardware halves the clock, or more",
    ),
    (
        "system.throttling",
        {"gpu3.clocks.slowed_by": ("hw power brake slowdown",)},
        "fail",
        "gpu3: hw power brake slowdown: the power supply asks it to draw less",
    ),
    (
        "system.throttling",
        {"gpu3.clocks.slowed_by": ("sw thermal slowdown",)},
        "warn",
        "gpu3: sw thermal slowdown: the card is hotter than it may be at work",
    ),
    (
        "system.throttling",
        {"gpu3.clocks.slowed_by": ("sw power cap",)},
        "warn",
        "gpu3: sw power cap at 70 W, with a limit of 700 W",
    ),
    (
        "system.temperature",
        {"gpu3.temperature.card_C": 90.0},
        "fail",
        "gpu3: 90 C at rest, and it slows down at 90 C",
    ),
    (
        "system.temperature",
        {"gpu3.temperature.card_C": 85.0},
        "warn",
        "gpu3: 85 C at rest, and it slows down at 90 C",
    ),
    (
        "system.temperature",
        {"gpu3.temperature.card_C": 60.0},
        "warn",
        "gpu3: 60 C at rest, above its neighbours (median 31 of 8 + 6 deviations of",
    ),
    (
        "system.power",
        {"gpu3.power.limit_W": 500.0},
        "warn",
        "gpu3: limited to 500 W, its default is 700 W",
    ),
    (
        "system.power",
        {"cards.power.limit_W": 500.0, "cards.power.default_limit_W": 500.0},
        "warn",
        "all 8 cards: delivered with 500 W, H100 SXM 80GB has 700 W",
    ),
    (
        "system.persistence",
        {"gpu3.persistence": False},
        "warn",
        "gpu3: persistence is off, and on for the others",
    ),
]


@pytest.mark.parametrize(("identity", "facts", "status", "reason"), FAULTS)
def test_a_fault_is_told_once(
    identity: str, facts: dict[str, Any], status: str, reason: str
) -> None:
    """One check tells it, with card and action."""
    check = sole_alarm(eight_h100(), facts, identity)
    assert check.status == status and check.reason.startswith(reason)
    assert check.action


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("gpu idle",),
        ("gpu idle", "sw power cap"),
        ("applications clocks setting", "sync boost"),
        ("unknown (0x800)",),
    ],
)
def test_what_is_no_fault_at_rest(words: tuple[str, ...]) -> None:
    """Rest, clocks that somebody has set, and a newer word stand in the note."""
    check = look("system.throttling", spoiled(eight_h100(), {"cards.clocks.slowed_by": words}))
    assert check.status == "pass"
    assert all(word in check.reason for word in words)


SPELLINGS = {
    "Clocks Throttle Reasons": ("Idle",),
    "Clocks Event Reasons": ("SW Power Cap",),
}


@pytest.mark.parametrize(
    ("heading", "draw_W", "status"),
    [
        ("Clocks Throttle Reasons", 27.0, "pass"),
        ("Clocks Event Reasons", 150.0, "warn"),
        ("Clocks Event Reasons", 690.0, "pass"),
    ],
)
def test_case_115_reasons_in_both_spellings(heading: str, draw_W: float, status: str) -> None:
    """Idle is ignored; a power cap is a note near the limit and a warning far below it."""
    facts = {"cards.clocks.slowed_by": SPELLINGS[heading], "cards.power.draw_W": draw_W}
    assert look("system.throttling", spoiled(eight_h100(), facts)).status == status


def test_a_card_near_its_slowdown_is_told_once() -> None:
    """Not again as hotter than its neighbours."""
    check = look("system.temperature", spoiled(eight_h100(), {"gpu3.temperature.card_C": 88.0}))
    assert check.reason.count("gpu3") == 1


@pytest.mark.parametrize(("second_C", "status"), [(48.0, "pass"), (49.0, "warn")])
def test_two_cards_may_differ_by_twenty_degrees(second_C: float, status: str) -> None:
    """Two have no spread, and a stated difference decides."""
    machine = spoiled(two_b200(), {"gpu1.temperature.card_C": second_C})
    assert look("system.temperature", machine).status == status


def test_cards_of_other_products_are_no_neighbours() -> None:
    """A hot card is compared with its like alone."""
    machine = eight_h100()
    spoiled(machine, {"gpu3.temperature.card_C": 60.0})
    devices = machine.inventory.devices
    odd = msgspec.structs.replace(devices[3], product="NVIDIA L40S")
    machine.inventory = msgspec.structs.replace(
        machine.inventory, devices=(*devices[:3], odd, *devices[4:])
    )
    assert look("system.temperature", machine).status == "pass"


def test_a_lower_limit_than_the_neighbours() -> None:
    """A variant with a limit of its own is told, once."""
    facts = {"gpu3.power.limit_W": 650.0, "gpu3.power.default_limit_W": 650.0}
    check = look("system.power", spoiled(eight_h100(), facts))
    assert (check.status, check.reason) == (
        "warn",
        "gpu3: limited to 650 W, its neighbours to 700 W",
    )


def test_persistence_that_is_off_everywhere_is_a_note() -> None:
    """It costs seconds at the start of a program, and nothing else."""
    check = look("system.persistence", spoiled(eight_h100(), {"cards.persistence": False}))
    assert check.status == "pass" and check.reason.startswith("off")


def test_amd_tells_no_reason_for_its_clock() -> None:
    """The check is skipped, not passed."""
    assert look("system.throttling", eight_mi300x()).status == "skip"


def test_the_temperature_stands_beside_its_limit() -> None:
    """The driver's own threshold, where it tells one."""
    check = look("system.temperature", eight_h100())
    assert check.measurements[3].name == "gpu3 temperature"
    limit = check.measurements[3].limit
    assert limit is not None and (limit.op, limit.value) == ("<", 90.0)
    lacking = Absence(reason="not supported")
    bare = look(
        "system.temperature", spoiled(eight_h100(), {"gpu3.temperature.slowdown_C": lacking})
    )
    assert bare.status == "pass" and bare.measurements[3].limit is None


@pytest.mark.parametrize(
    ("product", "architecture", "status"),
    [
        ("NVIDIA H100 80GB HBM3", "sm_90", "warn"),
        ("AMD Instinct MI250X", "gfx90a", "pass"),
        ("NVIDIA B100", "sm_100", "pass"),
        ("NVIDIA H900", "sm_90", "pass"),
    ],
)
def test_the_catalogue_judges_only_what_it_is_sure_of(
    product: str, architecture: str, status: str
) -> None:
    """Not one of two devices that share a limit, not a figure no source was read for."""
    facts = {
        "devices.product": product,
        "devices.architecture": architecture,
        "devices.memory_GiB": None,
        "cards.pci_id": NOT_ASKED,
        "cards.power.limit_W": 300.0,
        "cards.power.default_limit_W": 300.0,
    }
    assert look("system.power", spoiled(eight_h100(), facts)).status == status
