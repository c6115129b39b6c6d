from __future__ import annotations

from typing import Any

import pytest

from preflight.facts import (
    NOT_ASKED,
    Absence,
    BusCard,
    Card,
    DeviceFile,
    Driver,
    Ecc,
    HostFacts,
    Link,
    Machine,
    Power,
)
from preflight.rendering.machine_parts import Entry
from preflight.rendering.machine_unknown import fact_name, unknown_part


def lines(*cards: Card, absences: tuple[Absence, ...] = (), **fields: Any) -> list[str]:
    """The lines for a machine."""
    machine = Machine(node="node-a", cards=cards, **fields)
    return [entry.text for entry in unknown_part(machine, absences).remarks]


def eight(**fields: Any) -> tuple[Card, ...]:
    """Eight cards alike."""
    return tuple(Card(device=f"gpu{i}", **fields) for i in range(8))


def missing(what: str = "nvmlDeviceGetEccMode", **fields: Any) -> Absence:
    """Something that the card does not support."""
    return Absence(**{"what": what, "reason": "not supported", **fields})


def test_the_same_absence_of_eight_cards_is_one_line() -> None:
    """Fact, cards, reason and the call that was asked."""
    assert lines(*eight(ecc=Ecc(enabled=missing()))) == [
        "ECC mode of each card: not supported (nvmlDeviceGetEccMode)"
    ]


def test_what_nobody_asked_for_is_never_listed() -> None:
    """A machine that was not asked for anything has no gap."""
    assert lines(*eight(serial=NOT_ASKED), absences=(NOT_ASKED,)) == []


def test_facts_of_one_call_share_a_line() -> None:
    """Several facts that the same call did not give."""
    ecc = Ecc(corrected=missing("nvmlX"), uncorrected=missing("nvmlX"))
    assert lines(*eight(ecc=ecc)) == [
        "ECC corrected, ECC uncorrected of each card: not supported (nvmlX)"
    ]


def test_another_reason_of_one_card_has_its_own_line() -> None:
    """Seven cards lack it, the eighth was lost."""
    lost = Card(device="gpu7", serial=missing("nvmlS", reason="device lost"))
    assert lines(*eight(serial=missing("nvmlS"))[:7], lost) == [
        "serial of gpu0 to gpu6: not supported (nvmlS)",
        "serial of gpu7: device lost (nvmlS)",
    ]


def test_paths_that_differ_in_the_card_alone_are_one_line() -> None:
    """A star stands for the number or the PCI address of the card."""
    cards = tuple(
        Card(
            device=f"gpu{i}",
            serial=missing(f"/sys/bus/pci/devices/0000:{i}b:00.0/card{i}/serial"),
        )
        for i in range(2)
    )
    assert lines(*cards) == [
        "serial of each card: not supported (/sys/bus/pci/devices/*/card*/serial)"
    ]
    assert lines(cards[0]) == [
        "serial of gpu0: not supported (/sys/bus/pci/devices/0000:0b:00.0/card0/serial)"
    ]


def test_dozens_of_calls_that_failed_alike_are_one_line() -> None:
    """A card that was lost has one line and not one for each call, and names every fact."""
    names = ("serial", "board", "vbios", "pci_id", "hive", "repair")
    card = Card(device="gpu3", **{n: missing(f"call {n}", reason="device lost") for n in names})
    assert lines(card) == [
        "6 facts of gpu3: device lost (call serial and 5 more calls): "
        "serial, board, VBIOS, PCI id, repair, hive"
    ]


def test_links_are_told_once_a_card() -> None:
    """Eighteen links that lack a rate are one gap."""
    links = tuple(Link(index=i, rate_GBps=missing("nvmlF")) for i in range(18))
    assert lines(*eight(links=links)) == ["rate of the links of each card: not supported (nvmlF)"]


def test_the_vendors_own_words_stand_at_the_end() -> None:
    """On one line, however many they are."""
    detail = "Insufficient\npermissions"
    absence = missing("nvmlP", reason="no permission", detail=detail)
    assert lines(Card(device="gpu0", power=Power(draw_W=absence))) == [
        "power draw of gpu0: no permission (nvmlP): Insufficient permissions"
    ]


def test_gaps_of_the_machine_name_no_card() -> None:
    """Driver, host and bus."""
    gone = Absence(what="/proc/driver", reason="not readable")
    assert lines(
        driver=Driver(version=gone),
        host=HostFacts(kernel_log=Absence(what="/dev/kmsg", reason="no permission")),
        bus=Absence(reason="not found"),
    ) == [
        "driver version: not readable (/proc/driver)",
        "kernel log: no permission (/dev/kmsg)",
        "PCI bus: not found",
    ]


def test_what_stands_elsewhere_is_not_told_twice() -> None:
    """Files that cannot be opened and cards that no driver has taken have their own lines."""
    closed = DeviceFile(path="/dev/nvidia0", is_open=Absence(reason="no permission"))
    card = BusCard(pci="p", vendor="AMD", pci_id="i", driver=Absence(reason="not found"))
    assert lines(driver=Driver(files=(closed,)), bus=(card,)) == []


def test_what_was_not_found_at_all_comes_first_and_stands_out() -> None:
    """A card that was lost, told by the look as a whole, once."""
    lost = Absence(what="gpu2", reason="device lost", detail="GPU is lost")
    part = unknown_part(Machine(node="n", cards=eight(serial=missing())), (lost, lost))
    assert part.remarks[0] == Entry("gpu2: device lost: GPU is lost", "caution")
    assert [entry.tone for entry in part.remarks] == ["caution", "dim"]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (("power", "limit_W"), "power limit"),
        (("clocks", "sm_max_MHz"), "clocks SM max"),
        (("host", "cgroup", "memory_limit_GiB"), "cgroup memory limit"),
        (("host", "iommu"), "IOMMU"),
        (("numa_node",), "NUMA node"),
        (("vbios",), "VBIOS"),
    ],
)
def test_a_fact_is_named_as_people_do(path: tuple[str, ...], name: str) -> None:
    """Without the unit, with the capitals of the field."""
    assert fact_name(path) == name
