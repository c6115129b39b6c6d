"""Stage system: errors that the drivers have counted, and written to the kernel's log."""

from __future__ import annotations

import re
from typing import Literal

import pytest

from preflight.compat.xids import FALLEN, read_sxid, read_xid, source
from preflight.facts import KernelEvent, RasBlock, Whole, known
from preflight.harness import OUT_OF_SIGHT, Result, Situation, Survey, exactly
from preflight.quantities import format_duration

RAS_SOURCE = "Linux kernel, amdgpu RAS error counts"
REPLACE = "show the seller this report and ask for another card"
RESET = "have the card reset before the campaign, and watch whether the count comes back"
WATCH = "if it comes again during the campaign, show the seller this report"
_SOME_UNCORRECTABLE = re.compile(r"(?<!no )\b[1-9]\d* (?:new )?uncorrectable hardware errors")
"""The driver says "no uncorrectable hardware errors" where all is well."""


@pytest.mark.check(id="system.xid", stage="system", deadline="10s")
def check_xid(situation: Situation, result: Result) -> None:
    """The kernel's log holds no error of a card or an NVSwitch."""
    survey = Survey.of_cards(situation, result)
    if not any(device.kind == "cuda" for device in situation.inventory.devices):
        result.skip("XIDs are NVIDIA's; system.ras speaks of AMD's cards")
    log = survey.ask_host(
        "kernel log", situation.surroundings.host.kernel_log, lacking=OUT_OF_SIGHT
    )
    events = [event for event in log or () if _is_nvidia(event)]
    for event in events:
        _judge(survey, event)
    if events:
        result.attach("\n".join(event.text for event in events))
        result.attach(f"actions and classes: {source()}")
    survey.settle("no XID" if log is not None else "")


def _is_nvidia(event: KernelEvent) -> bool:
    """Whether NVIDIA's driver wrote it; a card may fall off the bus without an XID."""
    return event.kind in ("xid", "sxid", "nvidia") or FALLEN in event.text


def _judge(survey: Survey, event: KernelEvent) -> None:
    """Tell what an event means; one of a card that is not ours is a warning at most."""
    read = read_sxid if event.kind == "sxid" else read_xid
    reading = read(event.code, event.text)
    card = survey.card_at(event.pci)
    where = card or event.pci or ""
    what = reading.what + _how_often(event)
    if reading.grade == "note":
        return
    if event.kind != "sxid" and event.pci and card is None:
        # What programs do on a card of others is not ours to tell, but a dead card may be ours.
        if reading.grade == "fail" or event.code is None:
            action = "it may be a card of the order that is dead: see order.count"
            survey.warn(where, f"{what}, of {_stranger(survey, event.pci)}", action)
    elif reading.grade == "fail":
        survey.fail(where, what, reading.action)
    else:
        survey.warn(where, what, reading.action)


def _how_often(event: KernelEvent) -> str:
    """`` 3 times, last 2 h 5 min ago``."""
    times = f" {event.count} times" if event.count > 1 else ""
    if event.age_s is None:
        return times
    last = ", last" if times else ","
    return f"{times}{last} {format_duration(event.age_s)} ago"


def _stranger(survey: Survey, pci: str) -> str:
    """A card on the bus that this run does not see."""
    found = survey.stranger_at(pci)
    if found is None:
        return "a card that this run does not see"
    return f"{found.vendor} {found.pci_id}, which this run does not see"


@pytest.mark.check(id="system.ras", stage="system", deadline="10s")
def check_ras(situation: Situation, result: Result) -> None:
    """No block of an AMD card had an error that was not corrected."""
    survey = Survey.of_cards(situation, result)
    blocks = survey.ask("RAS error counts", lambda card: card.ras)
    for name, counted in blocks.items():
        bad = _counts(survey, name, counted, "uncorrected")
        if any(bad.values()):
            words = ", ".join(f"{count} in {block}" for block, count in bad.items() if count)
            survey.fail(name, f"uncorrected errors: {words}", REPLACE)
        if bad:
            total = sum(bad.values())
            survey.measure(f"{name} uncorrected errors", total, "1", exactly(0, RAS_SOURCE))
        for block, count in _counts(survey, name, counted, "deferred").items():
            if count:
                survey.warn(name, f"{count} deferred errors in {block}: bad, not read yet", RESET)
        if fine := _counts(survey, name, counted, "corrected"):
            survey.measure(f"{name} corrected errors", sum(fine.values()), "1")
    _judge_kernel_log(survey, situation)
    survey.settle("no uncorrected error")


def _counts(
    survey: Survey,
    name: str,
    blocks: tuple[RasBlock, ...],
    kind: Literal["corrected", "uncorrected", "deferred"],
) -> dict[str, int]:
    """Count by block, of the blocks that have one."""
    found = {}
    for block in blocks:
        fact: Whole = getattr(block, kind)
        count = survey.read(f"{kind} errors of {name}, {block.block}", fact)
        if count is not None:
            found[block.block] = count
    return found


def _judge_kernel_log(survey: Survey, situation: Situation) -> None:
    """Resets and errors that amdgpu has logged; the log needs rights that a container lacks."""
    for event in known(situation.surroundings.host.kernel_log) or ():
        where = survey.card_at(event.pci) or event.pci or ""
        what = f"the kernel has logged: {event.text}{_how_often(event)}"
        if event.kind == "ras" and _SOME_UNCORRECTABLE.search(event.text):
            survey.fail(where, what, REPLACE)
        elif event.kind == "amdgpu":
            survey.warn(where, what, WATCH)
