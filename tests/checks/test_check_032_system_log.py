"""The judgement of what the drivers have counted and written to the kernel's log."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.facts import Absence, BusCard, KernelEvent, RasBlock

from .machines import NO_PERMISSION, eight_h100, eight_mi300x, look, sole_alarm, spoiled

GPU3 = "0000:1e:00.0"
STRANGER = "0000:9a:00.0"


def xid(number: int | None, pci: str | None = GPU3, text: str = "", **fields: Any) -> KernelEvent:
    """An event of NVIDIA's driver."""
    return KernelEvent(
        kind="xid", code=number, pci=pci, text=text or f"NVRM: Xid {number}", **fields
    )


LOGGED: list[tuple[KernelEvent, str, str]] = [
    (xid(79), "fail", "gpu3: XID 79 (the card has fallen off the bus)"),
    (
        xid(94, count=3, age_s=7500.0),
        "fail",
        "gpu3: XID 94 (memory error, contained to one program) 3 times, last 2 h 5 min ago",
    ),
    (
        xid(31, age_s=90.0),
        "warn",
        "gpu3: XID 31 (page fault, mostly a bad access by the program), 1 min 30 s ago",
    ),
    (xid(999), "warn", "gpu3: XID 999, which the catalogue does not have"),
    (xid(79, "0000:1E:00"), "fail", "gpu3: XID 79 (the card has fallen off the bus)"),
    (
        xid(79, STRANGER),
        "warn",
        f"{STRANGER}: XID 79 (the card has fallen off the bus), of NVIDIA 10de:26b9, which this "
        "run does not see",
    ),
    (
        KernelEvent(
            kind="sxid",
            code=20034,
            pci="0000:c1:00.0",
            text="nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20034, Fatal, Link 30 LTSSM Fault Up",
        ),
        "fail",
        "0000:c1:00.0: fatal NVSwitch error (SXID 20034)",
    ),
    (
        KernelEvent(
            kind="nvidia",
            pci=GPU3,
            text="NVRM: GPU 0000:1e:00.0: RmInitAdapter failed! (0x26:0x56:1474)",
        ),
        "warn",
        "gpu3: the driver has logged: NVRM: GPU 0000:1e:00.0: RmInitAdapter failed! "
        "(0x26:0x56:1474)",
    ),
]


@pytest.mark.parametrize(("event", "status", "reason"), LOGGED)
def test_an_event_is_told_once(event: KernelEvent, status: str, reason: str) -> None:
    """With card, meaning, how often and when; the line itself is the evidence."""
    bus = (BusCard(pci=STRANGER, vendor="NVIDIA", pci_id="10de:26b9"),)
    facts = {"host.kernel_log": (event,), "machine.bus": bus}
    check = sole_alarm(eight_h100(), facts, "system.xid")
    assert (check.status, check.reason) == (status, reason)
    assert check.action and event.text in check.evidence


def test_programs_on_cards_of_others_are_not_ours() -> None:
    """In a container the log holds what happened to the neighbours' programs."""
    machine = spoiled(eight_h100(), {"host.kernel_log": (xid(31, STRANGER),)})
    assert look("system.xid", machine).status == "pass"


def test_case_111_a_card_that_is_dead_at_the_start_of_its_driver() -> None:
    """It has no XID: the words of the line tell, and order.count counts the cards."""
    text = "NVRM: The NVIDIA GPU 0000:9a:00.0 has fallen off the bus and is not responding"
    event = KernelEvent(kind="pcie", pci=STRANGER, text=text)
    check = sole_alarm(eight_h100(), {"host.kernel_log": (event,)}, "system.xid")
    assert check.status == "warn" and STRANGER in check.reason
    assert "order.count" in check.action
    ours = KernelEvent(kind="pcie", pci=GPU3, text=text)
    check = sole_alarm(eight_h100(), {"host.kernel_log": (ours,)}, "system.xid")
    assert check.status == "fail" and check.reason.startswith("gpu3: ")


def test_case_088_any_xid_is_worth_a_warning() -> None:
    """A card with an XID that passes every other check was the culprit once."""
    machine = spoiled(eight_h100(), {"host.kernel_log": (xid(45), xid(43))})
    check = look("system.xid", machine)
    assert check.status == "warn" and "XID 45" in check.reason and "XID 43" in check.reason


def test_a_log_out_of_sight_is_no_health() -> None:
    """Without rights the check is skipped with that reason."""
    check = look("system.xid", spoiled(eight_h100(), {"host.kernel_log": NO_PERMISSION}))
    assert (check.status, check.reason) == ("skip", "kernel log (/dev/kmsg): no permission")


def blocks(**umc: int) -> tuple[RasBlock, ...]:
    """Counters of one MI300X, those of its memory controller as given."""
    return (
        RasBlock(block="sdma", corrected=0, uncorrected=0),
        RasBlock(block="umc", **{"corrected": 0, "uncorrected": 0, **umc}),
    )


@pytest.mark.parametrize(
    ("counts", "status", "reason"),
    [
        ({"uncorrected": 2}, "fail", "gpu4: uncorrected errors: 2 in umc"),
        ({"deferred": 1}, "warn", "gpu4: 1 deferred errors in umc: bad, not read yet"),
    ],
)
def test_errors_of_an_amd_card(counts: dict[str, int], status: str, reason: str) -> None:
    """Uncorrected ones fail and name card and block."""
    check = sole_alarm(eight_mi300x(), {"gpu4.ras": blocks(**counts)}, "system.ras")
    assert (check.status, check.reason) == (status, reason)
    assert check.action


def test_corrected_errors_are_recorded() -> None:
    """They cost nothing, and stand in the record."""
    check = look("system.ras", spoiled(eight_mi300x(), {"gpu4.ras": blocks(corrected=40)}))
    assert check.status == "pass"
    assert {m.name: m.value for m in check.measurements}["gpu4 corrected errors"] == 40


def test_a_counter_that_nobody_may_read_is_not_zero() -> None:
    """An error names card and block, and no count of 0 is recorded for it."""
    closed = RasBlock(
        block="umc", uncorrected=Absence(what="umc_err_count", reason="no permission")
    )
    check = look("system.ras", spoiled(eight_mi300x(), {"gpu4.ras": (closed,)}))
    assert check.status == "error"
    assert "uncorrected errors of gpu4, umc (umc_err_count): no permission" in check.reason
    assert "gpu4 uncorrected errors" not in {m.name for m in check.measurements}


@pytest.mark.parametrize(
    ("kind", "text", "status"),
    [
        ("ras", "amdgpu: 2 new uncorrectable hardware errors detected in umc block", "fail"),
        ("ras", "amdgpu: no uncorrectable hardware errors detected in umc block", None),
        ("ras", "amdgpu: 0 uncorrectable hardware errors detected in umc block", None),
        ("amdgpu", "amdgpu: GPU reset begin!", "warn"),
    ],
)
def test_what_amdgpu_has_logged(kind: Any, text: str, status: str | None) -> None:
    """Errors fail, resets warn, and the line that says all is well is no alarm."""
    event = KernelEvent(kind=kind, pci="0000:1f:00.0", text=text, age_s=60.0)
    machine = spoiled(eight_mi300x(), {"host.kernel_log": (event,)})
    check = look("system.ras", machine)
    assert check.status == (status or "pass")
    if status:
        assert check.reason == f"gpu4: the kernel has logged: {text}, 1 min 0 s ago"
