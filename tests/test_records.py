"""The record's JSON: written, read back, and refused where it is of another kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from rendering import sample

from preflight import records
from preflight.errors import RecordError
from preflight.records import STATUSES, Record, decode_record, encode_record

SAMPLES = sorted((Path(__file__).parent / "data" / "records").glob("*.json"))
MADE = [sample.passing, sample.failing, sample.rehearsal]


def as_dict(record: Record) -> dict[str, Any]:
    """The record as the JSON a program of another language would read."""
    decoded: dict[str, Any] = json.loads(encode_record(record))
    return decoded


def changed(**fields: Any) -> bytes:
    """JSON of a good record with some of its fields replaced."""
    return json.dumps({**as_dict(sample.passing()), **fields}).encode()


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_a_record_reads_back_as_it_was(make: Any) -> None:
    """Encoding and decoding give the same record."""
    record = make()
    assert decode_record(encode_record(record), where="record.json") == record


@pytest.mark.parametrize("status", STATUSES)
def test_every_status_reads_back(status: str) -> None:
    """The words that the package lists are those that a record may hold."""
    record = sample.record((sample.check("kernel.first", status=status),))
    assert decode_record(encode_record(record), where="record.json") == record


def test_old_sample_records_are_kept() -> None:
    """There is at least one sample of each kind of run that was ever written."""
    assert {path.stem for path in SAMPLES} >= {"1-ready", "1-not-ready", "1-killed"}


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_old_sample_records_load(path: Path) -> None:
    """Every record that a released version wrote is read for ever."""
    record = decode_record(path.read_bytes(), where=str(path))
    assert record.schema.startswith("preflight.record/")
    assert record.checks
    assert record.verdict.word in ("READY", "NOT_READY", "REHEARSED", "INCONCLUSIVE")


def test_the_json_is_for_people_too() -> None:
    """It is indented, begins with the schema, and ends with a newline."""
    lines = encode_record(sample.passing()).decode().split("\n")
    assert lines[:2] == ["{", ' "schema": "preflight.record/1",']
    assert lines[-2:] == ["}", ""]


def test_the_top_level_stands_in_the_documented_order() -> None:
    """The keys of ``record.json`` are those of the design, in its order."""
    assert list(as_dict(sample.passing())) == [
        "schema",
        "run",
        "order",
        "plan",
        "host",
        "nodes",
        "devices",
        "machines",
        "versions",
        "stages",
        "checks",
        "verdict",
    ]


def test_a_newer_minor_version_is_read() -> None:
    """``preflight.record/1.3`` is read, and what this version does not know is passed over."""
    data = changed(schema="preflight.record/1.3", weather={"sky": "clear"})
    record = decode_record(data, where="record.json")
    assert record.schema == "preflight.record/1.3"
    assert record.checks == sample.passing().checks


@pytest.mark.parametrize("version", ["2", "2.0", "0", "10", "1x", ""])
def test_another_major_version_is_refused(version: str) -> None:
    """A record of another major version is refused, and the message says which one is read."""
    with pytest.raises(RecordError, match="major version") as caught:
        decode_record(changed(schema=f"preflight.record/{version}"), where="old.json")
    assert caught.value.where == "old.json"
    assert "preflight.record/1" in caught.value.mend


@pytest.mark.parametrize("schema", [None, 1, "", "other/1", "preflight.plan/1", ["x"]])
def test_what_is_no_record_is_refused(schema: object) -> None:
    """JSON of another kind is refused by its schema, with what to give instead."""
    with pytest.raises(RecordError, match=r"not 'preflight\.record/1'") as caught:
        decode_record(changed(schema=schema), where="x.json")
    assert "record.json of a preflight run" in caught.value.mend


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[1]", b"null", b'"text"', b"\xff\xfe{}", b"{}x", b"<html>"]
)
def test_what_is_not_a_json_object_is_refused(data: bytes) -> None:
    """Text that is no JSON object ends in a message that names the file."""
    with pytest.raises(RecordError, match=r"^x\.json: not a JSON object"):
        decode_record(data, where="x.json")


@pytest.mark.parametrize(
    ("fields", "place"),
    [
        ({"run": 5}, "$.run"),
        ({"checks": [{"id": 5}]}, "$.checks[0].id"),
        ({"devices": [{"name": "gpu0"}]}, "$.devices[0]"),
        ({"verdict": {"word": "FINE", "exit_code": 0}}, "$.verdict.word"),
    ],
)
def test_the_place_of_a_mistake_is_named(fields: dict[str, Any], place: str) -> None:
    """A record with a wrong value is refused with the JSON path of it."""
    with pytest.raises(RecordError) as caught:
        decode_record(changed(**fields), where="x.json")
    assert place in caught.value.what
    assert caught.value.exit_code == 2


def test_an_unpaired_surrogate_is_refused_without_a_traceback() -> None:
    """JSON may spell half a character; it ends as a message, not as an exception of the decoder."""
    data = changed(plan={"note": "x"}).replace(b'"x"', b'"\\ud800"')
    with pytest.raises(RecordError):
        decode_record(data, where="x.json")


@pytest.mark.parametrize(
    "kind",
    [k for k in vars(records).values() if isinstance(k, type) and issubclass(k, msgspec.Struct)],
    ids=lambda kind: kind.__name__,
)
def test_records_are_frozen_and_by_keyword(kind: type[msgspec.Struct]) -> None:
    """No part of a record can be changed, and each is built by keywords."""
    assert kind.__struct_config__.frozen
    with pytest.raises(TypeError, match="positional"):
        kind("something")


def test_numbers_that_are_not_finite_have_no_place_in_a_record() -> None:
    """A measurement without a finite value is null in JSON, which has no infinity."""
    data = encode_record(
        sample.record((sample.check("a.b", measurements=(sample.measured("x", None, "s"),)),))
    )
    assert json.loads(data)["checks"][0]["measurements"][0]["value"] is None
