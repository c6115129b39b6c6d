"""The judgement of the cards' memory and of what their driver asks for."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from preflight.facts import Absence, RetiredPages

from .machines import NOT_SUPPORTED, eight_h100, look, one_rtx5090, sole_alarm, spoiled

FAULTS: list[tuple[str, dict[str, Any], str, str]] = [
    (
        "system.ecc",
        {"gpu3.ecc.uncorrected": 2},
        "fail",
        "gpu3: 2 uncorrected memory errors since the driver started",
    ),
    (
        "system.ecc",
        {"gpu3.ecc.lifetime_uncorrected": 9},
        "warn",
        "gpu3: 9 uncorrected memory errors in its life",
    ),
    (
        "system.ecc",
        {"gpu3.ecc.corrected": 900},
        "warn",
        "gpu3: 900 corrected memory errors, 10 times the others' median of 0 or more",
    ),
    (
        "system.ecc",
        {"gpu3.ecc.enabled": False, "gpu3.ecc.pending": False},
        "warn",
        "gpu3: ECC is off: errors of memory go unseen",
    ),
    (
        "system.ecc",
        {"cards.ecc.pending": False},
        "warn",
        "all 8 cards: ECC will be off after the next reboot",
    ),
    (
        "system.rows",
        {"gpu6.remapped.failed": True},
        "fail",
        "gpu6: a bad row of memory could not be replaced",
    ),
    (
        "system.rows",
        {"gpu6.remapped.pending": True},
        "warn",
        "gpu6: a bad row of memory waits for a reset to be replaced",
    ),
    (
        "system.rows",
        {"gpu6.remapped.banks_without_spares": 1},
        "warn",
        "gpu6: banks of memory without a spare row: 1",
    ),
    (
        "system.rows",
        {"gpu0.retired.pending": True},
        "warn",
        "gpu0: a bad page of memory waits for a reset to be retired",
    ),
    (
        "system.rows",
        {"gpu0.retired.double_bit": 20, "gpu0.retired.single_bit": 40},
        "fail",
        "gpu0: 60 pages of memory are retired",
    ),
    (
        "system.recovery",
        {"gpu2.recovery_action": "gpu reset"},
        "fail",
        "gpu2: the driver asks for: gpu reset",
    ),
    (
        "system.recovery",
        {"gpu2.recovery_action": "recover imex domain"},
        "fail",
        "gpu2: the driver asks for: recover imex domain",
    ),
    (
        "system.recovery",
        {"gpu2.repair": "channel repair pending"},
        "warn",
        "gpu2: a repair of memory waits: channel repair pending",
    ),
]


@pytest.mark.parametrize(("identity", "facts", "status", "reason"), FAULTS)
def test_a_fault_is_told_once(
    identity: str, facts: dict[str, Any], status: str, reason: str
) -> None:
    """One check tells it, with the card's name and what to do; no other check complains."""
    check = sole_alarm(eight_h100(), facts, identity)
    assert (check.status, check.reason) == (status, reason)
    assert check.action


def test_the_count_stands_beside_its_limit() -> None:
    """A failing measurement carries limit and source, and the sentence is ours, not its own."""
    check = look("system.ecc", spoiled(eight_h100(), {"gpu3.ecc.uncorrected": 2}))
    (bad,) = (m for m in check.measurements if m.name == "gpu3 uncorrected errors")
    assert bad.value == 2 and bad.limit is not None
    assert (bad.limit.op, bad.limit.value) == ("==", 0) and "NVIDIA" in bad.limit.source


def test_several_faults_stand_in_one_sentence() -> None:
    """Failures come first, and cards with the same fault are told together."""
    facts = {
        "gpu1.ecc.enabled": False,
        "gpu1.ecc.pending": False,
        "gpu3.ecc.uncorrected": 2,
        "gpu5.ecc.uncorrected": 2,
    }
    check = look("system.ecc", spoiled(eight_h100(), facts))
    assert check.status == "fail"
    assert check.reason == (
        "gpu3, gpu5: 2 uncorrected memory errors since the driver started; "
        "gpu1: ECC is off: errors of memory go unseen"
    )


def test_errors_of_now_are_not_told_twice() -> None:
    """The life of a card contains the errors since the driver started."""
    facts = {"gpu3.ecc.uncorrected": 2, "gpu3.ecc.lifetime_uncorrected": 2}
    assert "in its life" not in look("system.ecc", spoiled(eight_h100(), facts)).reason


def test_ecc_that_is_off_is_no_fault_of_a_desktop_card() -> None:
    """GeForce is delivered without."""
    facts = {"cards.ecc.enabled": False, "cards.ecc.pending": False}
    check = look("system.ecc", spoiled(one_rtx5090(), facts))
    assert (check.status, check.reason) == ("pass", "ECC is on for 0 of 1 cards")


def test_ecc_that_is_off_is_no_fault_of_a_product_that_nobody_knows() -> None:
    """An unknown product is judged against its neighbours alone."""
    machine = spoiled(eight_h100(), {"devices.product": "NVIDIA H900"})
    facts = {"cards.ecc.enabled": False, "cards.ecc.pending": False}
    assert look("system.ecc", spoiled(machine, facts)).status == "pass"


def test_ecc_without_counts_is_not_passed() -> None:
    """A card that counts no errors shows nothing of its memory."""
    lacking = Absence(what="nvmlDeviceGetTotalEccErrors", reason="not supported")
    check = look("system.ecc", spoiled(eight_h100(), {"cards.ecc.uncorrected": lacking}))
    assert check.status == "skip" and "no card tells its error counts" in check.reason


def test_old_cards_are_judged_by_their_pages() -> None:
    """Before Ampere there are no spare rows, and retired pages speak for the memory."""
    pages = RetiredPages(single_bit=1, double_bit=0, pending=False)
    rows = {f"cards.remapped.{k}": NOT_SUPPORTED for k in ("failed", "pending", "uncorrected")}
    machine = spoiled(eight_h100(), {**rows, "cards.retired": pages})
    assert look("system.rows", machine).status == "pass"
    waiting = spoiled(machine, {"gpu1.retired": msgspec.structs.replace(pages, pending=True)})
    assert look("system.rows", waiting).status == "warn"


def test_case_112_a_failing_memory_is_sent_back() -> None:
    """Pending rows, errors since the start and XID 48 of one A100: system fails, before torch."""
    facts = {
        "devices.product": "NVIDIA A100 80GB PCIe",
        "devices.architecture": "sm_80",
        "cards.pci_id": "10de:20b5",
        "cards.ecc.uncorrected": 1,
        "cards.remapped.pending": True,
    }
    machine = spoiled(one_rtx5090(), {"devices.memory_GiB": 80.0})
    assert look("system.ecc", spoiled(machine, facts)).status == "fail"
    assert look("system.rows", machine).status == "warn"
