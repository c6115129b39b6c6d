"""The judgement of the link between host and device."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.facts import Absence, Card, Cgroup, Driver, HostFacts, Pcie
from preflight.hardware.telemetry import Sample
from preflight.harness import Situation
from preflight.harness.result import Result
from preflight.harness.telemetry import Samples
from preflight.plan import Plan
from preflight.plan.tables import Limits
from preflight.records import Device

from .situations import card, judged, load, rehearsal, situation

host_link = load("check_061_host_link.py")

GEN5 = Pcie(generation=1, width=16, max_generation=5, max_width=16)
LACKS = Absence(what="PCIe generation", reason="driver lacks the call")
BEGAN_S, ENDED_S = 100.0, 100.4


def rate(GBps: float) -> dict[str, Any]:
    """A rate as the probe tells it."""
    return {"median": GBps, "p10": GBps - 1, "p90": GBps + 1, "n": 30}


def answer(**fields: Any) -> dict[str, Any]:
    """What the probe tells of a healthy Gen5 x16, but for what is given."""
    return {
        "began_s": BEGAN_S,
        "ended_s": ENDED_S,
        "to_device": rate(55.3),
        "from_device": rate(54.9),
        "both_ways": rate(98.0),
        "curve": [],
        "wrong": None,
        "size_bytes": 256 << 20,
        "pageable": "",
        "alone": True,
        "integrated": False,
        **fields,
    }


def working(**fields: Any) -> Samples:
    """A link at rest before the copies, and as given while they go on."""
    busy = {"pcie_generation": 5, "pcie_width": 16, **fields}
    return Samples(
        samples=(
            Sample(at_s=0.0, pcie_generation=1, pcie_width=1),
            Sample(at_s=50.1, **busy),
            Sample(at_s=50.2, **busy),
            Sample(at_s=51.0, pcie_generation=6, pcie_width=32),
        ),
        began_s=50.0,
    )


NOTHING_SEEN = Samples(absence=Absence(what="telemetry", reason="deadline"))


class Watched:
    """A sampler that has seen what it is told."""

    def __init__(self, samples: Samples) -> None:
        self.samples = samples

    def __enter__(self) -> Watched:
        return self

    def __exit__(self, *exception: object) -> None:
        return None


def machine(
    pcie: Pcie = GEN5, *, driver: Driver | None = None, limits: Limits | None = None, **facts: Any
) -> Situation:
    """A node with one card, whose link can be Gen5 x16."""
    made = situation(
        devices=(card(0),),
        machine={
            "cards": (Card(device="gpu0", pcie=pcie, **facts),),
            "driver": driver or Driver(),
            "host": HostFacts(cgroup=Cgroup(memory_limit_GiB=64.0)),
        },
    )
    made.plan = Plan(limits=limits or Limits())
    return made


def judge(
    told: dict[str, Any] | None = None,
    seen: Samples | None = None,
    where: Situation | None = None,
    device: Device | None = None,
) -> Result:
    """The judgement of copies on one card."""
    return judged(
        host_link.check_host_link,
        device=device or card(0),
        probe=lambda name, **params: told or answer(),
        telemetry=lambda device: Watched(seen or working()),
        situation=where or machine(),
    )


def limits_of(result: Result) -> dict[str, float | None]:
    """Measurement to its limit."""
    return {m.name: m.limit.value if m.limit else None for m in result.measurements}


def test_a_healthy_link_passes_and_is_described() -> None:
    """Rates with spread and floor, the link as it was while copying, and a note with both."""
    result = judge()
    assert (result.status, result.reason) == (
        "pass",
        "55.3 GB/s to the device, 54.9 GB/s back; Gen5 x16",
    )
    limits = limits_of(result)
    assert limits["PCIe generation while copying"] == 5
    assert limits["PCIe lanes while copying"] == 16
    assert limits["host to device"] == limits["device to host"] == pytest.approx(44.0)
    assert limits["both ways at once"] is None
    first = next(m for m in result.measurements if m.name == "host to device")
    assert (first.value, first.unit, first.n, first.p10) == (55.3, "GB/s", 30, 54.3)
    assert first.limit is not None and "70% of the 63.0 GB/s of Gen5 x16" in first.limit.source


def test_a_slow_generation_is_named() -> None:
    """A card that trained at Gen3 in a slot for Gen5 fails, with what to do about a slot."""
    result = judge(answer(to_device=rate(12.0), from_device=rate(12.5)), working(pcie_generation=3))
    assert result.status == "fail"
    assert result.reason == "Gen3 while copying, the slot and card can do Gen5"
    assert "reseat" in result.action
    assert limits_of(result)["host to device"] == pytest.approx(9.0)


def test_lost_lanes_are_named() -> None:
    """Half of the lanes fail, although the rate is what half of them can carry."""
    result = judge(answer(to_device=rate(27.0), from_device=rate(27.0)), working(pcie_width=8))
    assert result.status == "fail"
    assert result.reason == "x8 while copying, the slot and card can do x16"
    assert limits_of(result)["host to device"] == pytest.approx(22.0)


@pytest.mark.parametrize(
    ("direction", "name"),
    [("to_device", "host to device"), ("from_device", "device to host")],
)
def test_a_slow_direction_of_a_good_link_fails(direction: str, name: str) -> None:
    """The link is as wide and fast as it can be, and one direction carries a third of it."""
    result = judge(answer(**{direction: rate(21.0)}))
    assert result.status == "fail"
    assert result.reason == f"{name}: 21 GB/s, must be >= 44"
    assert "IOMMU" in result.action


def test_a_wrong_byte_is_named_before_all_else() -> None:
    """The offset and both values are told, whatever else is wrong with the link."""
    wrong = {"count": 3, "offset": 4096, "expected": 0x0A, "found": 0xFF}
    result = judge(answer(wrong=wrong), working(pcie_generation=3))
    assert result.status == "fail"
    assert result.reason == (
        "3 of 268435456 bytes came back as others, the first at offset 4096: 0xff for 0x0a"
    )
    assert "corrupts" in result.action


def test_a_link_that_rests_is_not_judged() -> None:
    """Samples from before and after the copies do not count, only those of the copies."""
    samples = Samples(samples=working().samples[:1], began_s=50.0)
    result = judge(seen=samples)
    assert result.status == "pass"
    assert "generation and width could not be read (not found)" in result.reason
    assert limits_of(result)["host to device"] == pytest.approx(44.0)


def test_without_telemetry_the_rate_is_held_to_what_the_slot_can_do() -> None:
    """The generation is not judged and said to be unknown; a Gen3 rate in a Gen5 slot fails."""
    assert judge(seen=NOTHING_SEEN).status == "pass"
    result = judge(answer(to_device=rate(12.0)), NOTHING_SEEN)
    assert result.status == "fail"
    assert result.reason == "host to device: 12 GB/s, must be >= 44"
    assert "PCIe generation while copying: deadline" in result.evidence


def test_what_can_be_read_of_a_link_is_judged() -> None:
    """Lanes count although the driver tells no generation; the floor is of the slot's."""
    result = judge(seen=working(pcie_generation=LACKS, pcie_width=4))
    assert result.reason == "x4 while copying, the slot and card can do x16"
    good = judge(seen=working(pcie_generation=LACKS))
    assert good.reason.endswith("x16 generation could not be read (driver lacks the call)")


@pytest.mark.parametrize("where", [machine(Pcie()), situation(devices=(card(0),))])
def test_where_nothing_can_be_read_rates_are_recorded(where: Situation) -> None:
    """Neither link nor slot is known: no limit, no failure, and the note says so."""
    result = judge(answer(to_device=rate(1.0)), NOTHING_SEEN, where)
    assert result.status == "pass"
    assert set(limits_of(result).values()) == {None}
    assert "rate not judged: no floor is known for this link" in result.reason


def test_a_machine_that_could_not_be_looked_at_is_no_error_here() -> None:
    """The link is judged by what telemetry saw; other checks speak of the look that failed."""
    where = situation(devices=(card(0),))
    where.inventory = type(where.inventory)(
        host=where.inventory.host, nodes=where.inventory.nodes, devices=where.inventory.devices
    )
    result = judge(where=where)
    assert result.status == "pass"
    assert limits_of(result)["PCIe generation while copying"] is None
    assert limits_of(result)["host to device"] == pytest.approx(44.0)


def test_memory_that_cannot_be_pinned_judges_nothing() -> None:
    """Pageable copies measure the host's memory: neither rate nor link fails, under other names."""
    told = answer(pageable="CUDA error: out of memory", to_device=rate(3.0))
    result = judge(told, working(pcie_generation=1))
    assert result.status == "pass"
    assert "not judged: host memory could not be pinned (CUDA error: out of memory)" in (
        result.reason
    )
    assert limits_of(result) == {
        "host to device, pageable": None,
        "device to host, pageable": None,
        "both ways at once, pageable": None,
    }


def test_wrong_bytes_of_pageable_memory_fail() -> None:
    """The values are compared whatever the memory."""
    wrong = {"count": 1, "offset": 0, "expected": 1, "found": 2}
    assert judge(answer(pageable="refused", wrong=wrong)).status == "fail"


@pytest.mark.parametrize(
    ("told", "device"),
    [
        (answer(integrated=True), card(0)),
        (answer(), card(0, product="NVIDIA GH200 480GB")),
        (answer(), card(0, product="AMD Instinct MI300A", kind="hip")),
    ],
)
def test_products_that_do_not_copy_over_pcie_are_measured(
    told: dict[str, Any], device: Device
) -> None:
    """Their PCIe link rests while they copy over another one, which is no fault."""
    result = judge({**told, "to_device": rate(5.0)}, working(pcie_generation=1), device=device)
    assert result.status == "pass"
    assert "does not reach its host over PCIe" in result.reason
    assert limits_of(result)["host to device"] is None


@pytest.mark.parametrize(
    ("told", "where", "says"),
    [
        (answer(alone=False), machine(), "other devices were copying"),
        (answer(size_bytes=8 << 20), machine(), "room for 8 MiB only"),
        (answer(), machine(driver=Driver(confidential="on")), "confidential computing"),
        (answer(), machine(mig=True), "a slice of a card"),
        (answer(), machine(partition="CPX"), "a slice of a card"),
        (answer(), machine(limits=Limits(performance="record")), 'performance = "record"'),
    ],
)
def test_a_rate_that_says_nothing_of_the_link_is_recorded(
    told: dict[str, Any], where: Situation, says: str
) -> None:
    """The note says why, no rate has a limit, and the link itself is still judged."""
    slow = {**told, "to_device": rate(6.0)}
    result = judge(slow, where=where)
    assert result.status == "pass"
    assert says in result.reason
    assert {v for k, v in limits_of(result).items() if not k.startswith("PCIe")} == {None}
    assert judge(slow, working(pcie_width=8), where).status == "fail"


@pytest.mark.parametrize(
    "where",
    [machine(mig=False), machine(partition="SPX"), machine(driver=Driver(confidential="off"))],
)
def test_a_whole_card_is_judged(where: Situation) -> None:
    """What is known to be as usual takes nothing from the judgement."""
    assert judge(answer(to_device=rate(6.0)), where=where).status == "fail"


def test_the_plans_own_floor_comes_first() -> None:
    """A floor of the plan for one direction takes the place of the published one there alone."""
    where = machine(limits=Limits(floors={"host to device": 10.0}))
    limits = limits_of(judge(answer(to_device=rate(12.0)), where=where))
    assert limits["host to device"] is None  # the engine hands the plan's own to the result
    assert limits["device to host"] == pytest.approx(44.0)


def test_a_rehearsal_has_no_link() -> None:
    """The CPU is skipped before anything is copied or watched."""
    cpu = rehearsal().devices[0]
    result = judge(where=rehearsal(), device=cpu)
    assert (result.status, result.reason) == ("skip", "the CPU has no link to itself")


def test_sizes_become_a_curve() -> None:
    """Each size of the level is a point, the largest one last."""
    curve = [{"size_MiB": 4, "to_device": rate(40.0), "from_device": rate(39.0)}]
    result = judge(answer(curve=curve))
    assert [(s.name, s.points) for s in result.series] == [
        ("host to device", ((4, 40.0), (256, 55.3))),
        ("device to host", ((4, 39.0), (256, 54.9))),
    ]


def test_the_probe_is_told_where_and_how_much() -> None:
    """CPUs beside the card, the limit of the cgroup, and how many devices share the host."""
    given: dict[str, Any] = {}

    def probe(name: str, **params: Any) -> dict[str, Any]:
        given.update(params, name=name)
        return answer()

    judged(
        host_link.check_host_link,
        device=card(0),
        probe=probe,
        telemetry=lambda device: Watched(working()),
        situation=machine(near_cpus="0-47"),
    )
    assert given == {
        "name": "host_link.copies",
        "level": "quick",
        "near_cpus": "0-47",
        "host_limit_bytes": 64 << 30,
        "sharers": 1,
    }
