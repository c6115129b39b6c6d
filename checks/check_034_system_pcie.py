"""Stage system: the path of the cards to the host and, over PCIe, to each other."""

from __future__ import annotations

import pytest

from preflight.compat.meshes import are_linked
from preflight.compat.neighbours import TIMES_THE_OTHERS, unlikely_counts
from preflight.compat.xids import FALLEN
from preflight.facts import known
from preflight.harness import NOT_OFFERED, OUT_OF_SIGHT, Result, Situation, Survey

SLOT = "ask the seller to reseat the card, or to check slot, riser and retimer"
IOMMU_ACTION = "ask the seller to boot with iommu=pt (and amd_iommu=on or intel_iommu=on)"
ACS_ACTION = (
    "ask the seller to switch ACS off on these bridges (BIOS, or setpci); until then "
    "NCCL_P2P_DISABLE=1 avoids the path, at a lower rate"
)
UNTOLD = (*OUT_OF_SIGHT, "not readable")
"""Kernels before 5.11 tell no mode of the IOMMU, and virtual cards a link of no width."""


@pytest.mark.check(id="system.pcie", stage="system", deadline="10s")
def check_pcie(situation: Situation, result: Result) -> None:
    """Every card has all lanes of its slot, and no more replays than its neighbours."""
    survey = Survey.of_cards(situation, result)
    virtual = known(situation.surroundings.host.virtual) not in (None, "none")
    lacking = UNTOLD if virtual else NOT_OFFERED
    width = survey.ask("PCIe width", lambda card: card.pcie.width, lacking=lacking)
    widest = survey.glance("widest PCIe", lambda card: card.pcie.max_width, lacking=lacking)
    for name, lanes in width.items():
        survey.measure(f"{name} PCIe width", lanes, "1")
        if lanes < widest.get(name, lanes):
            # A width at rest is no proof of the rate at work, which kernel.host_link judges.
            survey.warn(name, f"x{lanes} in a slot for x{widest[name]}", SLOT)
    _judge_slots(survey, widest)
    generation = survey.glance(
        "PCIe generation", lambda card: card.pcie.generation, lacking=lacking
    )
    for name, number in generation.items():
        survey.measure(f"{name} PCIe generation at rest", number, "1")
    _judge_replays(survey)
    _judge_kernel_log(survey, situation)
    survey.settle(", ".join(sorted({f"x{lanes}" for lanes in width.values()})))


def _judge_slots(survey: Survey, widest: dict[str, int]) -> None:
    """Warn of slots that are narrower or slower than the card or its neighbours'."""
    for group in survey.alike(widest):
        best = max(group.values())
        for name, lanes in group.items():
            product = survey.product(name)
            if product is not None and lanes < (product.pcie_width or 0):
                what = f"the slot gives x{lanes} to a card of x{product.pcie_width}"
                survey.warn(name, what, SLOT)
            elif lanes < best:
                survey.warn(name, f"the slot gives x{lanes}, its neighbours' x{best}", SLOT)
    fastest = survey.glance("fastest PCIe", lambda card: card.pcie.max_generation, lacking=UNTOLD)
    for group in survey.alike(fastest):
        best = max(group.values())
        for name, number in group.items():
            if number < best:
                what = f"the slot gives generation {number}, its neighbours' {best}"
                survey.warn(name, what, SLOT)


def _judge_replays(survey: Survey) -> None:
    """Compare replays with the neighbours': a counter since the driver's start has no rate."""
    replays = survey.glance("PCIe replays", lambda card: card.pcie.replays)
    for name, count in replays.items():
        survey.measure(f"{name} PCIe replays", count, "1")
    for group in survey.alike(replays):
        for name, others in unlikely_counts(group).items():
            what = (
                f"{group[name]} PCIe replays, {TIMES_THE_OTHERS:g} times the others' median of "
                f"{others:g} or more"
            )
            survey.warn(name, what, SLOT)


def _judge_kernel_log(survey: Survey, situation: Situation) -> None:
    """Warn of PCIe errors that were not corrected; what fell off the bus is for system.xid."""
    for event in known(situation.surroundings.host.kernel_log) or ():
        card = survey.card_at(event.pci)
        text = event.text.lower()
        harmless = ("corrected" in text and "uncorrected" not in text) or FALLEN in text
        if event.kind == "pcie" and card is not None and not harmless:
            survey.warn(card, f"the kernel has logged: {event.text}", SLOT)


@pytest.mark.check(id="system.iommu", stage="system", deadline="10s")
def check_iommu(situation: Situation, result: Result) -> None:
    """The IOMMU does not stand between the cards."""
    survey = Survey.of_cards(situation, result)
    _leave_virtual(situation, result)
    mode = survey.ask_host("IOMMU", situation.surroundings.host.iommu, lacking=UNTOLD)
    devices = situation.inventory.devices
    if mode == "translating" and len(devices) > 1:
        if any(device.kind == "hip" for device in devices):
            survey.warn(
                "",
                "the IOMMU translates: RCCL itself warns that without iommu=pt collectives may "
                "hang",
                IOMMU_ACTION,
            )
        elif not are_linked(situation.machine):
            survey.warn(
                "",
                "the IOMMU translates: peer traffic over PCIe takes the way through the root "
                "complex (NCCL documentation, troubleshooting)",
                IOMMU_ACTION,
            )
    survey.settle(f"IOMMU {mode}" if mode else "")


@pytest.mark.check(id="system.acs", stage="system", deadline="10s")
def check_acs(situation: Situation, result: Result) -> None:
    """No PCIe bridge above a card sends peer traffic through the root complex."""
    survey = Survey.of_cards(situation, result)
    _leave_virtual(situation, result)
    bridges = survey.ask_host("ACS", situation.surroundings.host.acs, lacking=OUT_OF_SIGHT)
    note = "no bridge redirects"
    if bridges:
        named = ", ".join(bridges)
        if len(situation.inventory.devices) > 1 and not are_linked(situation.machine):
            survey.warn(
                "",
                f"ACS redirects peer traffic at {named}: collectives may be slow, or hang (NCCL "
                "documentation, troubleshooting)",
                ACS_ACTION,
            )
        note = f"ACS redirects at {named}; the cards do not talk over PCIe"
    survey.settle(note if bridges is not None else "")


def _leave_virtual(situation: Situation, result: Result) -> None:
    """Skip in a virtual machine, where these are the host's and not to be seen."""
    virtual = known(situation.surroundings.host.virtual)
    if virtual not in (None, "none"):
        result.skip(f"a virtual machine ({virtual}): the host's IOMMU and bridges are out of sight")
