"""The events of a journal: each is one line of JSON that says what it is."""

from __future__ import annotations

import json
from typing import get_args

import msgspec
import pytest
from rendering import sample

from preflight.events import (
    Absence,
    Closed,
    Ended,
    Environment,
    Event,
    Inventory,
    Opened,
    Options,
    Planned,
    PlannedCheck,
    Refused,
    Started,
)
from preflight.records import Versions

OPTIONS = Options(
    python="/usr/bin/python3",
    level="quick",
    mode="rehearse",
    accelerator="cpu",
    ranks=2,
    seed=7,
    deadline_s=120.0,
    selected=("order", "driver"),
    checks_folders=("/checks",),
    plan={"order": {"gpus": 2}},
)
EVENTS: tuple[Event, ...] = (
    Opened(run=sample.run(), order=sample.order(), options=OPTIONS),
    Inventory(
        host=sample.HOST,
        nodes=(),
        devices=(sample.card(0),),
        absences=(Absence(what="NVML", reason="not found"),),
    ),
    Environment(versions=Versions(torch="2.13.0"), torch={"arch_list": ["sm_90"]}),
    Planned(
        checks=(
            PlannedCheck(
                id="kernel.first",
                stage="kernel",
                title="The first kernel launches",
                phase="devices",
                nodeid="check_060_kernel.py::check_first[gpu0]",
                device="gpu0",
                deadline_s=60.0,
            ),
        )
    ),
    Refused(what="a check needs a marker", where="check_x.py:3", mend="write one"),
    Started(id="kernel.first", device="gpu0", pid=42, at="2026-12-01T09:04:12Z"),
    Ended(check=sample.check("kernel.first", device="gpu0")),
    Closed(finished="2026-12-01T09:05:01Z", duration_s=48.7),
)


def test_the_table_has_one_of_each_kind() -> None:
    """The examples above cover every event that a journal can hold."""
    assert tuple(type(event) for event in EVENTS) == get_args(Event)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_reads_back_as_it_was(event: Event) -> None:
    """An event survives the journal, and its kind is found by its tag."""
    assert msgspec.json.decode(msgspec.json.encode(event), type=Event) == event


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: type(event).__name__)
def test_an_event_is_one_line_that_names_its_kind(event: Event) -> None:
    """No event spans lines, and a person sees in the file what each line is."""
    data = msgspec.json.encode(event)
    assert b"\n" not in data
    assert json.loads(data)["type"] == type(event).__name__.lower()


def test_text_with_line_breaks_stays_on_one_line() -> None:
    """Evidence of many lines is one line of the journal."""
    event = Ended(check=sample.check("kernel.first", evidence="a\nb\r\nc\u2028d"))
    data = msgspec.json.encode(event)
    assert b"\n" not in data and b"\r" not in data
    assert msgspec.json.decode(data, type=Event) == event
