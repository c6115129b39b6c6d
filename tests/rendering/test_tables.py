"""Measurements beside their limits, equal ones of many cards in one row."""

from __future__ import annotations

import msgspec

from preflight.records import Check, Limit, Measurement, Record
from preflight.rendering.tables import MeasuredRow, measured_rows

from . import sample

NONE = Limit(value=0, op="==", source="the driver's own count")


def of_cards(*values: float) -> Record:
    """A record whose one check of the host counts the errors of every card."""
    record = sample.passing()
    (device, *_) = record.devices
    devices = tuple(msgspec.structs.replace(device, name=f"gpu{i}") for i in range(len(values)))
    check = Check(
        id="system.ecc",
        stage="system",
        title="No errors",
        status="pass",
        measurements=tuple(
            Measurement(name=f"gpu{i} uncorrected errors", value=value, unit="1", limit=NONE)
            for i, value in enumerate(values)
        ),
    )
    return msgspec.structs.replace(record, devices=devices, checks=(check,))


def rows(record: Record) -> list[MeasuredRow]:
    """The table of a record."""
    return list(measured_rows(record, {id(check): "a" for check in record.checks}))


def test_a_fact_of_many_cards_is_one_row() -> None:
    """A check of the host that measures each card by name fills no table with zeros."""
    (row,) = rows(of_cards(0, 0, 0, 0))
    assert (row.name, row.where, row.out) == ("uncorrected errors", "4 devices", False)


def test_a_card_out_of_its_limit_has_a_row_of_its_own() -> None:
    """Beside the row of all cards stands the one that breaks the limit, by its name."""
    together, alone = rows(of_cards(0, 0, 2, 0))
    assert together.where == "4 devices"
    assert (alone.name, alone.where, alone.out) == ("uncorrected errors", "gpu2", True)


def test_two_cards_stand_apart() -> None:
    """So few are shown one by one."""
    assert [row.where for row in rows(of_cards(0, 0))] == ["gpu0", "gpu1"]


def test_a_name_that_begins_with_no_card_is_kept() -> None:
    """Only names of this record's devices are taken off."""
    record = of_cards(0)
    (check,) = record.checks
    other = Measurement(name="gpu7 uncorrected errors", value=0, unit="1")
    changed = msgspec.structs.replace(check, measurements=(other,))
    (row,) = rows(msgspec.structs.replace(record, checks=(changed,)))
    assert row.name == "gpu7 uncorrected errors"
