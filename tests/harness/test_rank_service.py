"""The group that checks share: when it starts, when it starts again, and its deadline."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from faults.runs import PATIENCE_S, inventory, is_alive, options

from preflight import clock
from preflight.events import Environment
from preflight.harness.outcomes import ProbeFailed
from preflight.harness.rank_service import THREADS_VARIABLE, RankCall, RankService
from preflight.harness.situation import Situation
from preflight.plan import Plan
from preflight.records import Order, Versions


def situation(*devices: str, **changes: Any) -> Situation:
    """A run over fake cards, or a rehearsal without any."""
    given = options(**changes)
    return Situation(
        options=given, order=Order(), plan=Plan(), inventory=inventory(*(devices or ("gpu0",)))
    )


@pytest.fixture
def service(fault_probes: Path) -> Iterator[RankService]:
    """The service of a rehearsal with two ranks that need no torch."""
    service = RankService(situation())
    yield service
    service.close()


def call(service: RankService, left_s: float = PATIENCE_S) -> RankCall:
    """The ranks as a check with ``left_s`` seconds has them."""
    return RankCall(service, clock.seconds() + left_s, lambda count: {})


def test_checks_share_one_group(service: RankService) -> None:
    """Two checks in a row find the same processes; what joining answered is kept."""
    first = call(service)("ranks.meet")
    second = call(service)("ranks.meet")
    assert [a["pid"] for a in first] == [a["pid"] for a in second]
    assert [a["pid"] for a in call(service).joined] == [a["pid"] for a in first]
    assert call(service).count == 2


def test_after_a_failure_the_next_check_has_new_ranks(service: RankService) -> None:
    """A crash does not reach the next check."""
    before = call(service)("ranks.meet")
    with pytest.raises(ProbeFailed, match="killed by SIGSEGV"):
        call(service)("ranks.meet", at_fault=1, fault="crash")
    after = call(service)("ranks.meet")
    assert {a["pid"] for a in after}.isdisjoint(b["pid"] for b in before)


def test_fresh_ranks_run_alone_and_leave(service: RankService) -> None:
    """The shared group ends before; the fresh one has the number asked for, and ends after."""
    shared = call(service)("ranks.meet")
    fresh = call(service).afresh("ranks.meet", count=1)
    assert [a["world"] for a in fresh] == [1]
    assert not any(is_alive(a["pid"]) for a in (*shared, *fresh))


def test_fresh_ranks_that_fail_are_gone_too(service: RankService) -> None:
    """Their failure is that of the call."""
    with pytest.raises(ProbeFailed, match="exited with code 7"):
        call(service).afresh("ranks.meet", count=2, at_fault=0, fault="exit silently")


def test_a_check_without_time_left_fails_by_name(service: RankService) -> None:
    """No process is started for it."""
    with pytest.raises(ProbeFailed, match=r"no time is left for ranks\.meet"):
        call(service, left_s=0)("ranks.meet")
    assert service.joined == []


def test_what_is_left_of_the_deadline_bounds_the_call(service: RankService) -> None:
    """The ranks are killed when the check's own time is up."""
    call(service)("ranks.meet")
    with pytest.raises(ProbeFailed, match="no answer within 1 s"):
        call(service, left_s=1)("ranks.meet", at_fault=5)


def test_closing_ends_the_ranks(service: RankService) -> None:
    """Also twice, and without a group."""
    answers = call(service)("ranks.meet")
    service.close()
    service.close()
    assert not any(is_alive(a["pid"]) for a in answers)


@pytest.mark.parametrize(("given", "found"), [(None, "1"), ("3", "3")])
def test_ranks_do_not_take_all_cores(
    service: RankService, monkeypatch: pytest.MonkeyPatch, given: str | None, found: str
) -> None:
    """One thread each, unless the user's environment says otherwise."""
    monkeypatch.delenv(THREADS_VARIABLE, raising=False)
    if given is not None:
        monkeypatch.setenv(THREADS_VARIABLE, given)
    answers = call(service)("behaviour.environment", name=THREADS_VARIABLE)
    assert [a["value"] for a in answers] == [found, found]
    assert os.environ.get(THREADS_VARIABLE) == given


@pytest.mark.parametrize(("kind", "backend"), [("cuda", "nccl"), ("hip", "nccl"), ("cpu", "gloo")])
def test_the_backend_follows_the_kind_of_device(kind: str, backend: str) -> None:
    """RCCL goes by NCCL's name."""
    here = situation()
    card = msgspec.structs.replace(here.inventory.devices[0], kind=kind)
    here.inventory = msgspec.structs.replace(here.inventory, devices=(card,))
    assert RankService(here).backend == backend


def test_a_rehearsal_has_as_many_ranks_as_were_asked_for() -> None:
    """All on the CPU."""
    assert RankService(situation(ranks=3)).devices == ("cpu", "cpu", "cpu")


def test_accelerators_are_ranks_by_torch_name() -> None:
    """In the driver's order, with the names that torch gave when it was asked."""
    here = situation("gpu0", "gpu1", mode="certify")
    here.environment = Environment(
        versions=Versions(), torch_devices={"gpu0": "cuda:1", "gpu1": "cuda:0"}
    )
    assert RankService(here).devices == ("cuda:1", "cuda:0")


def test_a_card_that_torch_does_not_see_is_named() -> None:
    """A group without it would be another machine."""
    here = situation("gpu0", "gpu1", mode="certify")
    cards = (
        here.inventory.devices[0],
        msgspec.structs.replace(here.inventory.devices[1], torch_device=None),
    )
    here.inventory = msgspec.structs.replace(here.inventory, devices=cards)
    with pytest.raises(ProbeFailed, match="torch does not see gpu1"):
        _ = RankService(here).devices


def test_the_interpreter_is_that_of_the_options(fault_probes: Path) -> None:
    """Ranks start with the interpreter under test."""
    service = RankService(situation(python=sys.executable + "-nowhere"))
    with pytest.raises(Exception, match="-nowhere cannot be started"):
        call(service)("ranks.meet")
    service.close()
