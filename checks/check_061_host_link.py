"""Stage kernel: the link between host and device while it copies."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pytest

from preflight.compat.host_links import copies_over_pcie, floor_share, theoretical_GBps
from preflight.facts import Absence, Card, Pcie, Whole, known
from preflight.harness import Result, Situation, at_least
from preflight.records import Device, Limit

MIB, GIB = 1 << 20, 1 << 30
DIRECTIONS = {"to_device": "host to device", "from_device": "device to host"}
LARGE_ENOUGH_BYTES = 16 * MIB
"""Over Gen5 x16 a copy of this size takes 0.27 ms; launching it and waiting for it take some 10 us,
which are 4% of that, and more of a smaller one."""
BY_DRIVER = "what card and slot can do together, by the driver"
RESEAT = (
    "ask the seller to reseat the card and its riser or cable and to look at the slot's speed in "
    "the firmware; LnkSta of lspci -vv shows both ends of the link"
)
SLOW = (
    "run this stage again alone (--only); if it stays slow, ask the seller about slot, IOMMU "
    "(iommu=pt) and the memory channels of the socket beside the card"
)
CORRUPT = "the link or the memory behind it corrupts data: ask for another card, show this report"


@pytest.mark.check(
    id="kernel.host_link", stage="kernel", deadline="120s", needs=("kernel.first",), gates=False
)
def check_host_link(
    device: Device, probe: Any, telemetry: Any, result: Result, situation: Situation
) -> None:
    """Copies between host and device keep every byte and use the whole PCIe link."""
    if situation.is_rehearsal:
        result.skip("the CPU has no link to itself")
    card = _card(situation, device)
    with telemetry(device) as sampler:
        answer = probe("host_link.copies", level=situation.options.level, **_room(situation, card))
    result.advise(SLOW)
    _judge_bytes(result, answer)
    seen = sampler.samples.between(answer["began_s"], answer["ended_s"])
    generation, width = seen.peak("pcie_generation"), seen.peak("pcie_width")
    unfit = _unfit(answer, device)
    if unfit:
        _record_rates(result, answer, None)
        result.note(f"{_rates(answer)}; not judged: {unfit}")
        return
    _judge_link(result, generation, width, card.pcie)
    why_not = _why_not(answer, card, situation)
    limit = None if why_not else _floor(device, generation, width, card.pcie)
    if limit is None and not why_not:
        why_not = "no floor is known for this link"
    _record_rates(result, answer, limit, floors=situation.plan.limits.floors)
    words = [_rates(answer), _described(generation, width)]
    result.note("; ".join([*words, f"rate not judged: {why_not}"] if why_not else words))


def _card(situation: Situation, device: Device) -> Card:
    """What is known of the card; nothing where the look at the machine did not end."""
    machine = situation.inventory.machine
    cards = machine.cards if machine is not None else ()
    return next((card for card in cards if card.device == device.name), Card(device=device.name))


def _room(situation: Situation, card: Card) -> dict[str, Any]:
    """Where the probe may make its buffers, and how large.

    The limit of the cgroup counts, not what is left of it: what the page cache holds gives way.
    """
    machine = situation.inventory.machine
    limit_GiB = known(machine.host.cgroup.memory_limit_GiB) if machine is not None else None
    return {
        "near_cpus": known(card.near_cpus) or "",
        "host_limit_bytes": None if limit_GiB is None else int(limit_GiB * GIB),
        "sharers": max(1, len(situation.inventory.devices)),
    }


def _judge_bytes(result: Result, answer: dict[str, Any]) -> None:
    wrong = answer["wrong"]
    if wrong:
        result.fail(
            f"{wrong['count']} of {answer['size_bytes']} bytes came back as others, the first at "
            f"offset {wrong['offset']}: {wrong['found']:#04x} for {wrong['expected']:#04x}",
            CORRUPT,
        )


def _unfit(answer: dict[str, Any], device: Device) -> str:
    """Why neither link nor rate can be judged by these copies; empty where they can."""
    if answer["integrated"] or not copies_over_pcie(device.product):
        return "this product does not reach its host over PCIe"
    if answer["pageable"]:
        return f"host memory could not be pinned ({answer['pageable']})"
    return ""


def _why_not(answer: dict[str, Any], card: Card, situation: Situation) -> str:
    """Why the rate says nothing of the link; empty where it does."""
    if situation.plan.limits.performance == "record":
        return 'the plan says performance = "record"'
    machine = situation.inventory.machine
    if machine is not None and known(machine.driver.confidential) not in (None, "off"):
        return "confidential computing copies through encrypted buffers"
    if known(card.mig) or (known(card.partition) or "SPX") != "SPX":
        return "a slice of a card has a part of its copy engines"
    if not answer["alone"]:
        return "other devices were copying at the same time"
    if answer["size_bytes"] < LARGE_ENOUGH_BYTES:
        return f"there was room for {answer['size_bytes'] // MIB} MiB only"
    return ""


def _judge_link(result: Result, generation: Whole, width: Whole, pcie: Pcie) -> None:
    """Generation and width while copying against the most that card and slot can do."""
    for found, most, sign, what in (
        (width, pcie.max_width, "x", "PCIe lanes while copying"),
        (generation, pcie.max_generation, "Gen", "PCIe generation while copying"),
    ):
        if isinstance(found, Absence):
            result.attach(f"{what}: {found.reason}. {found.detail}".strip())
            continue
        limit = None if isinstance(most, Absence) else at_least(most, BY_DRIVER)
        if limit is not None and found < limit.value:
            slow = f"{sign}{found} while copying, the slot and card can do {sign}{most}"
            result.fail(slow, RESEAT)
        result.measure(what, found, "1", limit=limit)


def _floor(device: Device, generation: Whole, width: Whole, pcie: Pcie) -> Limit | None:
    """The floor of the link as it was seen; where it could not be, of what it can do."""
    lanes = known(width) or known(pcie.max_width)
    speed = known(generation) or known(pcie.max_generation)
    if speed is None or lanes is None:
        return None
    theory_GBps, share = theoretical_GBps(speed, lanes), floor_share(speed, device.architecture)
    if theory_GBps is None or share is None:
        return None
    of = f"{share[0]:.0%} of the {theory_GBps:.1f} GB/s of Gen{speed} x{lanes}"
    return at_least(share[0] * theory_GBps, f"{of}: {share[1]}")


def _record_rates(
    result: Result,
    answer: dict[str, Any],
    limit: Limit | None,
    floors: Collection[str] = (),
) -> None:
    """Both directions with their limit; one of ``floors``, the plan's own, comes before it.

    What could not be judged has another name, so that it is compared with no other card either.
    """
    aside = ", pageable" if answer["pageable"] else "" if answer["alone"] else ", not alone"
    for key, name in DIRECTIONS.items():
        _measure(result, name + aside, answer[key], None if name in floors else limit)
        points = [(point["size_MiB"], point[key]["median"]) for point in answer["curve"]]
        if points:
            points.append((answer["size_bytes"] / MIB, answer[key]["median"]))
            result.draw(name, points, x="size", y="rate", x_unit="MiB", y_unit="GB/s")
    if answer["both_ways"]:
        _measure(result, f"both ways at once{aside}", answer["both_ways"], None)


def _measure(result: Result, name: str, rate: dict[str, Any], limit: Limit | None) -> None:
    spread = {part: rate[part] for part in ("n", "p10", "p90")}
    result.measure(name, rate["median"], "GB/s", limit=limit, **spread)


def _rates(answer: dict[str, Any]) -> str:
    """``55.3 GB/s to the device, 54.9 GB/s back``."""
    there, back = (answer[key]["median"] for key in DIRECTIONS)
    return f"{there:.3g} GB/s to the device, {back:.3g} GB/s back"


def _described(generation: Whole, width: Whole) -> str:
    """``Gen5 x16``, or what could not be read and why."""
    named = {"generation": generation, "width": width}
    lost = {name: value for name, value in named.items() if isinstance(value, Absence)}
    if not lost:
        return f"Gen{generation} x{width}"
    seen = [f"Gen{generation}"] * ("generation" not in lost) + [f"x{width}"] * ("width" not in lost)
    reason = next(iter(lost.values())).reason
    return " ".join([*seen, f"{' and '.join(lost)} could not be read ({reason})"])
