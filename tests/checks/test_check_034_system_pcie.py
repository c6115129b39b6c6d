"""The judgement of PCIe, the IOMMU and ACS."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.facts import Absence, Grid, KernelEvent
from preflight.harness import Situation

from .machines import NO_PERMISSION, eight_h100, eight_mi300x, look, sole_alarm, spoiled, two_b200

BUS_ERROR = KernelEvent(
    kind="pcie",
    pci="0000:1e:00.0",
    text="pcieport 0000:16:01.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction",
)
FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"gpu3.pcie.width": 8}, "gpu3: x8 in a slot for x16"),
    (
        {"gpu3.pcie.width": 8, "gpu3.pcie.max_width": 8},
        "gpu3: the slot gives x8 to a card of x16",
    ),
    (
        {"gpu3.pcie.max_generation": 4},
        "gpu3: the slot gives generation 4, its neighbours' 5",
    ),
    (
        {"gpu3.pcie.replays": 4000},
        "gpu3: 4000 PCIe replays, 10 times the others' median of 0 or more",
    ),
    ({"host.kernel_log": (BUS_ERROR,)}, f"gpu3: the kernel has logged: {BUS_ERROR.text}"),
]


@pytest.mark.parametrize(("facts", "reason"), FAULTS)
def test_a_fault_of_the_slot(facts: dict[str, Any], reason: str) -> None:
    """It is a warning that names the card: at rest nobody has seen the rate."""
    check = sole_alarm(eight_h100(), facts, "system.pcie")
    assert (check.status, check.reason) == ("warn", reason)
    assert "slot" in check.action


@pytest.mark.parametrize(
    "facts",
    [
        {"cards.pcie.generation": 5},
        {"cards.pcie.max_generation": 4},
        {
            "cards.pcie.width": 8,
            "cards.pcie.max_width": 8,
            "devices.product": "NVIDIA L40S",
            "cards.pci_id": "10de:26b9",
        },
        {"gpu3.pcie.replays": 5},
        {"cards.pcie.replays": 700},
        {"host.kernel_log": (KernelEvent(kind="pcie", pci="0000:1e:00.0", text="Corrected"),)},
        {"host.kernel_log": (KernelEvent(kind="pcie", pci="0000:99:00.0", text="Fatal"),)},
    ],
)
def test_what_is_no_fault_of_the_slot(facts: dict[str, Any]) -> None:
    """A low generation at rest, an older host, a few replays, and errors that were corrected."""
    assert look("system.pcie", spoiled(eight_h100(), facts)).status == "pass"


def test_slots_of_a_product_without_a_width_in_the_catalogue_are_compared() -> None:
    """One narrow slot among wide ones is told, eight narrow ones are the machine's design."""
    facts = {"devices.product": "NVIDIA H900", "gpu3.pcie.width": 8, "gpu3.pcie.max_width": 8}
    check = look("system.pcie", spoiled(eight_h100(), facts))
    assert check.reason == "gpu3: the slot gives x8, its neighbours' x16"


def test_case_115_lanes_and_generation_at_rest() -> None:
    """Generation 1 at rest is normal, x8 of x16 a warning: the case's own verdict."""
    rest = spoiled(eight_h100(), {"cards.pcie.generation": 1})
    assert look("system.pcie", rest).status == "pass"
    down = spoiled(rest, {"gpu0.pcie.width": 8, "gpu0.pcie.generation": 3})
    assert look("system.pcie", down).status == "warn"


def test_a_virtual_card_has_no_link_to_judge() -> None:
    """A virtual function shows a width of 0 or 255, which is no error in a virtual machine."""
    odd = Absence(what="current_link_width", reason="not readable", detail="255")
    facts = {"cards.pcie.width": odd, "cards.pcie.max_width": odd}
    assert look("system.pcie", spoiled(eight_mi300x(), facts)).status == "error"
    assert look(
        "system.pcie", spoiled(eight_mi300x(), {"host.virtual": "kvm", **facts})
    ).status == ("skip")


def unlinked(machine: Situation) -> Situation:
    """The same cards without NVLink, as the driver's words for the pairs have it."""
    names = tuple(card.device for card in machine.machine.cards)
    rows = tuple(tuple("X" if a == b else "NODE" for b in names) for a in names)
    return spoiled(machine, {"machine.topology": Grid(names=names, rows=rows)})


def test_case_071_and_072_amd_cards_behind_a_translating_iommu() -> None:
    """RCCL warns that collectives may hang; whether they do, the collective stage tells."""
    check = sole_alarm(eight_mi300x(), {"host.iommu": "translating"}, "system.iommu")
    assert check.status == "warn"
    assert "RCCL" in check.reason and "iommu=pt" in check.action


def test_cards_without_links_behind_a_translating_iommu() -> None:
    """Peer traffic over PCIe goes through the root; over NVLink it does not."""
    linked = spoiled(two_b200(), {"host.iommu": "translating"})
    assert look("system.iommu", linked).status == "pass"
    check = sole_alarm(unlinked(two_b200()), {"host.iommu": "translating"}, "system.iommu")
    assert check.status == "warn" and "NCCL" in check.reason


@pytest.mark.parametrize("mode", ["off", "passthrough"])
def test_an_iommu_that_does_not_translate(mode: str) -> None:
    """It is in nobody's way."""
    check = look("system.iommu", spoiled(eight_mi300x(), {"host.iommu": mode}))
    assert (check.status, check.reason) == ("pass", f"IOMMU {mode}")


def test_case_060_acs_between_two_cards() -> None:
    """Bridges that redirect are named, and so are the way out and the way round."""
    bridges = ("0000:00:01.1", "0000:20:01.1")
    check = sole_alarm(unlinked(two_b200()), {"host.acs": bridges}, "system.acs")
    assert check.status == "warn"
    assert all(bridge in check.reason for bridge in bridges)
    assert "NCCL_P2P_DISABLE=1" in check.action


def test_acs_above_linked_cards_or_one_card() -> None:
    """It is in nobody's way, and stands in the note."""
    check = look("system.acs", spoiled(two_b200(), {"host.acs": ("0000:00:01.1",)}))
    assert check.status == "pass" and "0000:00:01.1" in check.reason


@pytest.mark.parametrize("identity", ["system.iommu", "system.acs"])
def test_a_virtual_machine_hides_the_hosts(identity: str) -> None:
    """What a guest sees of them says nothing."""
    facts = {"host.virtual": "kvm", "host.iommu": "translating", "host.acs": NO_PERMISSION}
    check = look(identity, spoiled(eight_mi300x(), facts))
    assert check.status == "skip" and "kvm" in check.reason
