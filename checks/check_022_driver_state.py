"""Stage driver: is every card in a state in which programs can use it."""

from __future__ import annotations

import re

import pytest

from preflight.compat.cards import few
from preflight.compat.claims import claim
from preflight.compat.missing_cards import is_a_variable
from preflight.facts import ORDINARY, Absence, Card, Fabric, absences_in
from preflight.harness import REHEARSAL, CannotLook, Result, Situation
from preflight.records import Device

FABRIC_MANAGER = "nvidia-fabricmanager"
SPOKEN_OF = ("driver not loaded", "library and kernel module differ")
"""Reasons of which driver.present speaks."""
BY_UUID = "name the cards by UUID (nvidia-smi -L), or set CUDA_DEVICE_ORDER=PCI_BUS_ID"
_CARD = re.compile(r"gpu\d+")


@pytest.mark.check(id="driver.fabric", stage="driver", deadline="10s")
def check_fabric(device: Device, situation: Situation, result: Result) -> None:
    """A card on NVSwitch has joined its fabric, without which CUDA does not start."""
    if not situation.has_cards:
        result.skip(REHEARSAL)
    if device.kind != "cuda":
        result.skip("only NVIDIA's cards are joined by NVSwitch")
    fabric = situation.card(device.name).fabric
    state = fabric.state
    if isinstance(state, Absence):
        if state.reason not in ORDINARY:
            raise _unread(device, "state of the fabric", state)
        result.skip(f"the driver tells no fabric state of this card: {state.reason}")
    if state == "not supported":
        result.skip("this card is on no fabric, or its driver leaves that to the host")
    result.attach(f"state {state}, status {fabric.status}, health {fabric.health}")
    trouble = _trouble(fabric)
    if trouble:
        result.fail(
            f"{device.name}: {trouble}; error 802 follows (system not yet initialized); "
            f"{FABRIC_MANAGER} {_seen(situation)}",
            "wait a minute after a boot and run again; if it stays, "
            + claim(
                situation.order,
                f"restart {FABRIC_MANAGER} in the driver's version, or give another node",
                [device],
                situation.machine.cards,
            ),
        )
    elif isinstance(fabric.health, str) and fabric.health != "healthy":
        result.fail(
            f"{device.name} has joined the fabric, whose health is: {fabric.health}",
            claim(situation.order, f"NVSwitch reports {fabric.health}", [device]),
        )
    result.note("the fabric is complete")


@pytest.mark.check(id="driver.mode", stage="driver", deadline="10s")
def check_mode(device: Device, situation: Situation, result: Result) -> None:
    """The card's compute mode lets programs onto it."""
    if not situation.has_cards:
        result.skip(REHEARSAL)
    card = situation.card(device.name)
    mode = card.compute_mode
    if isinstance(mode, Absence):
        if mode.reason not in ORDINARY:
            raise _unread(device, "compute mode", mode)
        result.skip("this card has no compute mode" if device.kind == "hip" else "no compute mode")
    reset = f"sudo nvidia-smi -i {device.pci or device.name.removeprefix('gpu')} -c DEFAULT"
    if mode == "prohibited":
        result.fail(f"{device.name} is in compute mode prohibited: no program can use it", reset)
    elif mode != "default":
        result.warn(
            f"{device.name} is in compute mode {mode}: one process at a time, and a second one "
            "(another rank, a debugger) fails with 'busy or unavailable'",
            reset,
        )
    off = "; persistence mode is off: the first call after a pause takes seconds"
    result.note(f"compute mode {mode}{off if card.persistence is False else ''}")


@pytest.mark.check(id="driver.answers", stage="driver", deadline="10s", gates=False)
def check_answers(situation: Situation, result: Result) -> None:
    """Every card answered what the driver was asked about it."""
    if not situation.has_cards:
        result.skip(REHEARSAL)
    gaps = [gap for gap in _gaps(situation) if gap.reason not in (*ORDINARY, *SPOKEN_OF)]
    result.attach("\n".join(f"{gap.what}: {gap.reason}. {gap.detail}" for gap in gaps))
    lost = {_place(gap): gap for gap in reversed(gaps) if gap.reason == "device lost"}
    if lost:
        fallen = few([f"{name} has fallen off the bus{_words(gap)}" for name, gap in lost.items()])
        devices = [d for d in situation.inventory.devices if d.name in lost]
        result.fail(
            fallen,
            "a reboot may bring it back for a while (XID 79 in dmesg); "
            + claim(situation.order, fallen, devices, situation.machine.cards),
        )
        return
    unsure = [gap for gap in gaps if is_a_variable(gap.what)]
    gaps = [gap for gap in gaps if gap not in unsure]
    if gaps:
        asked = few([f"{gap.what}: {gap.reason}" for gap in gaps], 3)
        raise CannotLook(
            f"{len(gaps)} question(s) to the driver have no answer: {asked}",
            action=_ask_again(gaps[0]),
        )
    if unsure:
        result.warn(f"{unsure[0].what}: {unsure[0].detail or unsure[0].reason}", BY_UUID)
    if not situation.inventory.devices:
        result.skip("no card was found; driver.present speaks of that")
    result.note(f"{len(situation.machine.cards)} card(s) answered")


def _trouble(fabric: Fabric) -> str:
    """What keeps a card from its fabric; empty for one that has joined it."""
    if fabric.state != "completed":
        return f"registering with the NVSwitch fabric is {fabric.state}"
    if isinstance(fabric.status, str) and fabric.status != "success":
        return f"registering with the NVSwitch fabric ended in: {fabric.status}"
    return ""


def _seen(situation: Situation) -> str:
    """Whether the fabric manager runs here, as far as one can see."""
    services = situation.machine.host.services
    listed = () if isinstance(services, Absence) else services
    states = [one.state for one in listed if one.name == FABRIC_MANAGER]
    if "running" in states:
        return "is running"
    if situation.container:
        return "was not seen, as a container does not show the host's"
    return "was not seen running" if states else "was not looked for"


def _unread(device: Device, what: str, absence: Absence) -> CannotLook:
    return CannotLook(
        f"{what} of {device.name} could not be read: {absence.what or what}: {absence.reason}",
        evidence=absence.detail,
        action=_ask_again(absence),
    )


def _gaps(situation: Situation) -> list[Absence]:
    """What was asked and not answered: of the machine as a whole, then of each card."""
    whole = [a for a in situation.inventory.absences if not a.what.startswith("/dev/")]
    return [*whole, *(gap for card in situation.machine.cards for gap in _of_card(card))]


def _of_card(card: Card) -> list[Absence]:
    return [
        Absence(what=f"{card.device} {gap.what}", reason=gap.reason, detail=gap.detail)
        for gap in absences_in(card)
    ]


def _place(gap: Absence) -> str:
    """``gpu3`` of ``memory of gpu3``; what was asked, where no card is named."""
    match = _CARD.search(gap.what)
    return match[0] if match else gap.what


def _words(gap: Absence) -> str:
    """The vendor's own words, in brackets."""
    return f" ({gap.detail})" if gap.detail else ""


def _ask_again(absence: Absence) -> str:
    if absence.reason == "no permission":
        return "run as a user who may ask it (root on the host), or let the seller say it"
    return (
        "run again; a driver that does not answer twice is sick: ask the seller to reset the card "
        "or the node"
    )
