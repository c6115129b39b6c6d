"""Healthy machines raise no alarm, and no absence of a fact is ever taken for health."""

from __future__ import annotations

import msgspec
import pytest

from preflight.facts import ABSENCE_REASONS, Absence, Card
from preflight.harness import NOT_OFFERED, OUT_OF_SIGHT

from .machines import HEALTHY, alarms, checks, eight_h100, look, spoiled, verdicts
from .situations import situation

ABOUT_CARDS = {
    "system.ecc": "ecc",
    "system.rows": "remapped",
    "system.recovery": "recovery_action",
    "system.links": "links",
    "system.pcie": "pcie",
    "system.throttling": "clocks.slowed_by",
    "system.temperature": "temperature.card_C",
    "system.power": "power.limit_W",
    "system.persistence": "persistence",
    "system.processes": "processes",
    "system.affinity": "numa_node",
}
"""A fact without which each check has nothing to judge."""
ABOUT_HOST = {
    "system.xid": "host.kernel_log",
    "system.iommu": "host.iommu",
    "system.acs": "host.acs",
    "system.rdma": "host.rdma",
    "system.memlock": "host.rdma",
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_healthy_machine_raises_no_alarm(name: str) -> None:
    """Every check passes, or is skipped with a reason."""
    machine = HEALTHY[name]()
    assert alarms(machine) == {}
    assert all(r.reason for r in verdicts(machine).values() if r.status == "skip")


@pytest.mark.parametrize("name", ["8xH100", "8xMI300X"])
def test_a_healthy_machine_is_measured(name: str) -> None:
    """No limit fails a healthy machine, and every limit tells its source."""
    for result in verdicts(HEALTHY[name]()).values():
        for measured in result.measurements:
            assert measured.value is not None
            assert measured.limit is None or measured.limit.source


def test_checks_of_cards_are_skipped_in_a_rehearsal() -> None:
    """A rehearsal has no cards to judge, and the host is judged all the same."""
    told = verdicts(HEALTHY["rehearsal"]())
    skipped = {key for key, r in told.items() if r.reason == "a rehearsal has no cards"}
    assert skipped >= set(ABOUT_CARDS) | set(ABOUT_HOST)
    assert {k for k, r in told.items() if r.status == "pass"} == {
        "system.shm",
        "system.limits",
        "system.memory",
        "system.cgroup",
        "system.numa",
        "system.virtual",
        "system.disk",
        "system.variables",
    }


def test_a_machine_that_nobody_could_look_at_is_an_error() -> None:
    """Without facts no check of them passes; three judge what the record has of the host."""
    machine = situation()
    machine.inventory = msgspec.structs.replace(machine.inventory, machine=None)
    told = {key: result.status for key, result in verdicts(machine).items()}
    known = {"system.shm", "system.limits", "system.memory"}
    assert {key for key, status in told.items() if status == "pass"} == known
    assert {status for key, status in told.items() if key not in known} == {"error"}


def test_no_card_skips_the_checks_of_cards() -> None:
    """Where no card was found driver.present speaks of it, once."""
    machine = situation(devices=(), machine={"cards": ()})
    told = verdicts(machine)
    assert all(told[key].status == "skip" for key in (*ABOUT_CARDS, *ABOUT_HOST))
    assert "driver.present" in told["system.ecc"].reason


def test_facts_that_nobody_asked_for_are_no_health() -> None:
    """A card of which nothing is known passes no check about cards."""
    machine = situation(machine={"cards": (Card(device="gpu0"), Card(device="gpu1"))})
    told = verdicts(machine)
    assert {key: told[key].status for key in ABOUT_CARDS if key != "system.processes"} == {
        key: "skip" for key in ABOUT_CARDS if key != "system.processes"
    }


def _absent(fact: str, reason: str) -> dict[str, Absence]:
    """The paths of one fact of a card, and of all below it."""
    absence = Absence(what="nvmlDeviceGetIt", reason=reason, detail="Some Words")
    groups = {
        "ecc": ("enabled", "uncorrected"),
        "remapped": ("failed",),
        "pcie": ("width",),
        "recovery_action": (),
    }
    below = groups.get(fact)
    if fact == "recovery_action":
        return {"recovery_action": absence, "repair": absence}
    if fact == "processes":
        return {"processes": absence, "memory_used_GiB": absence}
    return {f"{fact}.{name}": absence for name in below} if below else {fact: absence}


@pytest.mark.parametrize("reason", ABSENCE_REASONS)
@pytest.mark.parametrize("identity", ABOUT_CARDS)
def test_an_absence_on_every_card(identity: str, reason: str) -> None:
    """What cards do not have is a skip that names it; anything else is an error naming the card."""
    facts = _absent(ABOUT_CARDS[identity], reason)
    result = look(identity, spoiled(eight_h100(), {f"cards.{k}": v for k, v in facts.items()}))
    if reason in NOT_OFFERED:
        assert result.status == "skip"
        assert "nvmlDeviceGetIt" in result.reason or "has none" in result.reason
    else:
        assert result.status == "error"
        assert "gpu0: " in result.reason and f"(nvmlDeviceGetIt): {reason}" in result.reason
        assert result.action


@pytest.mark.parametrize("reason", ["not supported", "deadline"])
@pytest.mark.parametrize("identity", ABOUT_CARDS)
def test_an_absence_on_one_card(identity: str, reason: str) -> None:
    """The others are judged: with a note of the one that lacks it, or an error that names it."""
    facts = _absent(ABOUT_CARDS[identity], reason)
    result = look(identity, spoiled(eight_h100(), {f"gpu5.{k}": v for k, v in facts.items()}))
    assert result.status == ("pass" if reason == "not supported" else "error")
    assert "gpu5: " in result.reason and "gpu4" not in result.reason


@pytest.mark.parametrize("reason", ABSENCE_REASONS)
@pytest.mark.parametrize("identity", ABOUT_HOST)
def test_an_absence_of_the_host(identity: str, reason: str) -> None:
    """The kernel's log, ACS and the IOMMU may be out of sight; else nobody looked."""
    absence = Absence(what="/proc/it", reason=reason)
    result = look(identity, spoiled(eight_h100(), {ABOUT_HOST[identity]: absence}))
    allowed = {"system.xid": OUT_OF_SIGHT, "system.acs": OUT_OF_SIGHT}.get(identity, NOT_OFFERED)
    if identity == "system.iommu":
        allowed = (*OUT_OF_SIGHT, "not readable")
    assert result.status == ("skip" if reason in allowed else "error")


def test_every_check_of_the_stage_is_known_to_these_tests() -> None:
    """The check of a new file is looked at too."""
    assert set(ABOUT_CARDS) | set(ABOUT_HOST) < set(checks())
    assert len(checks()) == 25


def test_a_fault_is_told_whatever_else_could_not_be_read() -> None:
    """An absence on one card does not hide the fault of another."""
    facts = {"gpu1.ecc.uncorrected": 2, "gpu5.ecc.uncorrected": Absence(reason="deadline")}
    result = look("system.ecc", spoiled(eight_h100(), facts))
    assert result.status == "fail" and "2 uncorrected" in result.reason
    assert "gpu5: uncorrected errors: deadline" in result.evidence


def test_a_warning_is_told_beside_what_could_not_be_read() -> None:
    """An error says what else was seen."""
    facts = {"gpu1.ecc.enabled": False, "gpu5.ecc.uncorrected": Absence(reason="deadline")}
    result = look("system.ecc", spoiled(eight_h100(), facts))
    assert result.status == "error" and "gpu1: ECC is off" in result.reason
