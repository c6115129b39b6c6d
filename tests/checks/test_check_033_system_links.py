"""The judgement of NVLink and XGMI."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from preflight.facts import NOT_ASKED, Absence, Card, Link
from preflight.hardware.catalog import identify
from preflight.harness import Situation

from .machines import (
    H100,
    eight_h100,
    eight_mi300x,
    look,
    nvlinks,
    one_rtx5090,
    sole_alarm,
    spoiled,
    two_b200,
)

FAULTS: list[tuple[dict[str, Any], str, str]] = [
    (
        {"gpu3.links.7.state": "inactive"},
        "fail",
        "gpu3: link 7 is inactive: 17 of 18 are active",
    ),
    (
        {"gpu3.links.7.state": "inactive", "gpu3.links.9.state": "inactive"},
        "fail",
        "gpu3: links 7, 9 are inactive: 16 of 18 are active",
    ),
    (
        {"gpu3.links": nvlinks(12, 26.562, "4.0")},
        "fail",
        "gpu3: links are missing: 12 of 18 are active",
    ),
    ({"gpu3.links.2.rate_GBps": 12.5}, "fail", "gpu3: link 2 runs at 12.5 of 25 GB/s"),
    ({"gpu3.links.2.version": "3.0"}, "warn", "gpu3: NVLink 3.0, 4.0, and 4.0 is usual"),
    (
        {"gpu3.links.2.errors": 12},
        "warn",
        "gpu3: link errors: 12 on link 2; the others' median is 0 (DCGM, "
        "dcgm_gpu_hardware_limits.h: one NVLink error is one too many)",
    ),
]


@pytest.mark.parametrize(("facts", "status", "reason"), FAULTS)
def test_a_fault_of_nvlink(facts: dict[str, Any], status: str, reason: str) -> None:
    """It is told with card and link, by one check alone."""
    check = sole_alarm(eight_h100(), facts, "system.links")
    assert (check.status, check.reason) == (status, reason)
    assert check.action


def test_the_number_of_links_stands_beside_its_limit() -> None:
    """What the catalogue knows of the product is the limit of each card."""
    check = look("system.links", eight_h100())
    counted = {m.name: m for m in check.measurements}["gpu3 active links"]
    assert counted.value == 18 and counted.limit is not None
    assert counted.limit.value == 18 and "H100 SXM" in counted.limit.source


def inactive(count: int) -> tuple[Link, ...]:
    """Links of a card without a bridge."""
    return tuple(Link(index=index, state="inactive") for index in range(count))


def test_no_link_of_a_machine_that_needs_them() -> None:
    """A board whose fabric is down has no link at all, which all its cards agree on."""
    check = look("system.links", spoiled(two_b200(), {"cards.links": inactive(18)}))
    assert check.status == "fail" and "0 of 18 are active" in check.reason
    empty = look("system.links", spoiled(two_b200(), {"cards.links": ()}))
    assert empty.status == "fail" and "links are missing" in empty.reason


def test_a_card_alone_needs_no_link() -> None:
    """One card of a board is rented with its links switched off."""
    machine = one_rtx5090()
    names = {"devices.product": "NVIDIA H100 80GB HBM3", "devices.architecture": "sm_90"}
    names["cards.pci_id"] = "10de:2330"
    spoiled(machine, {**names, "devices.memory_GiB": 79.65, "cards.links": inactive(18)})
    check = look("system.links", machine)
    assert check.status == "pass" and "alone" in check.reason


def bridged(*links: tuple[Link, ...], product: str = "NVIDIA H100 PCIe") -> Situation:
    """Cards that a bridge may join, with these links each."""
    machine = spoiled(eight_h100(), {"devices.product": product})
    kept = machine.machine.cards[: len(links)]
    cards = tuple(msgspec.structs.replace(a, links=b) for a, b in zip(kept, links, strict=True))
    machine.inventory = msgspec.structs.replace(
        machine.inventory,
        devices=machine.inventory.devices[: len(links)],
        machine=msgspec.structs.replace(machine.machine, cards=cards),
    )
    return machine


def test_a_bridge_that_nobody_bought_is_no_fault() -> None:
    """H100 PCIe is sold with a bridge and without."""
    check = look("system.links", bridged(inactive(12), inactive(12)))
    assert check.status == "skip" and "PCIe" in check.reason


def test_case_114_a_bridge_that_was_bought() -> None:
    """NVLink in the order and none between the cards: a warning beside order.link."""
    machine = spoiled(bridged(inactive(12), inactive(12)), {"order.link": "nvlink"})
    check = look("system.links", machine)
    assert check.status == "warn" and "NVLink was bought" in check.action


def test_bridges_are_compared_with_each_other() -> None:
    """One half of the cards with a bridge is worth a word, half a bridge is a fault."""
    whole = nvlinks(12, 26.562, "4.0")
    some = look("system.links", bridged(whole, whole, inactive(12), inactive(12)))
    assert some.status == "warn"
    assert some.reason == "gpu2, gpu3: no link is active, its neighbours have 12"
    half = (*whole[:8], *(msgspec.structs.replace(one, state="inactive") for one in whole[8:]))
    assert look("system.links", bridged(whole, half)).status == "fail"


def test_an_unknown_product_is_judged_by_its_neighbours() -> None:
    """It is said to be unknown, and its inactive link is still found."""
    eight = nvlinks(8, 20.0, "4.0")
    check = look("system.links", bridged(eight, eight, product="NVIDIA H900"))
    assert check.status == "pass" and "NVIDIA H900 is not in the catalogue" in check.reason
    down = (msgspec.structs.replace(eight[0], state="inactive"), *eight[1:])
    check = look("system.links", bridged(eight, down, product="NVIDIA H900"))
    assert (check.status, check.reason) == (
        "fail",
        "gpu1: link 0 is inactive: 7 of 8 are active",
    )


def test_a_link_that_nobody_could_read_is_not_inactive() -> None:
    """It is an error that names card and link."""
    lost = Absence(what="nvmlDeviceGetNvLinkState", reason="failed")
    check = look("system.links", spoiled(eight_h100(), {"gpu3.links.7.state": lost}))
    assert check.status == "error"
    assert "state of link 7 of gpu3 (nvmlDeviceGetNvLinkState): failed" in check.reason
    assert "inactive" not in check.reason


def without(card: Card, other: str) -> tuple[Link, ...]:
    """The XGMI links of a card, but for that to ``other``."""
    assert not isinstance(card.links, Absence)
    return tuple(link for link in card.links if link.remote != other)


def test_a_missing_link_of_a_mesh() -> None:
    """Each MI300X has a link to each other one; what is missing is told from both ends."""
    machine = eight_mi300x()
    facts = {
        "gpu3.links": without(machine.card("gpu3"), "gpu5"),
        "gpu5.links": without(machine.card("gpu5"), "gpu3"),
    }
    check = sole_alarm(machine, facts, "system.links")
    assert (check.status, check.reason) == (
        "fail",
        "gpu3: no XGMI link to gpu5; gpu5: no XGMI link to gpu3",
    )


def test_a_mesh_without_any_link() -> None:
    """A hive that did not form is a fault, not a product without links."""
    check = look("system.links", spoiled(eight_mi300x(), {"cards.links": ()}))
    assert check.status == "fail" and "no XGMI link to gpu1" in check.reason


def test_parts_of_a_card_and_other_hives_are_no_mesh() -> None:
    """A partitioned card, and cards of another hive, are not linked to all others."""
    machine = spoiled(eight_mi300x(), {"cards.links": (), "cards.partition": "CPX"})
    assert look("system.links", machine).status != "fail"
    machine = eight_mi300x()
    apart = {f"gpu{i}.hive": "0x77" for i in range(4)}
    for i in range(8):
        others = [f"gpu{j}" for j in range(8) if (j < 4) != (i < 4)]
        links = machine.card(f"gpu{i}").links
        assert not isinstance(links, Absence)
        apart[f"gpu{i}.links"] = tuple(link for link in links if link.remote not in others)  # type: ignore[assignment]
    assert look("system.links", spoiled(machine, apart)).status == "pass"


def test_the_model_card_is_the_one_of_the_catalogue() -> None:
    """The healthy card of these tests is the product that the catalogue knows."""
    product = identify("NVIDIA H100 80GB HBM3", pci_id=str(H100.pci_id))
    assert product is not None and product.name == "H100 SXM 80GB"


def test_links_that_no_source_was_read_for_do_not_judge() -> None:
    """The catalogue's guess at B100 fails nobody; its neighbours decide."""
    facts = {
        "devices.product": "NVIDIA B100",
        "devices.architecture": "sm_100",
        "devices.memory_GiB": None,
        "cards.pci_id": NOT_ASKED,
        "cards.links": nvlinks(16, 50.0, "5.0"),
    }
    check = look("system.links", spoiled(eight_h100(), facts))
    assert (check.status, check.reason) == ("pass", "16 links a card")
    limits = {m.limit.source for m in check.measurements if m.limit and m.unit == "1"}
    assert limits == {"neighbours"}


def test_a_rate_of_xgmi_is_recorded_only() -> None:
    """KFD derives it; some kernels tell that of an older generation."""
    links = eight_mi300x().card("gpu3").links
    assert not isinstance(links, Absence)
    slow = tuple(msgspec.structs.replace(link, rate_GBps=50.0) for link in links)
    check = look("system.links", spoiled(eight_mi300x(), {"gpu3.links": slow}))
    assert check.status == "pass"
    assert {m.value for m in check.measurements if "as KFD has it" in m.name} == {50.0, 64.0}
