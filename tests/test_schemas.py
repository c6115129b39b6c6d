"""The JSON Schema of the record: committed, in step with the structs, and true of real records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rendering import sample

import preflight
from preflight.records import Record, encode_record
from preflight.schemas import record_schema, schema_text

COMMITTED = Path(preflight.__file__).with_name("record.schema.json")
SAMPLES = sorted((Path(__file__).parent / "data" / "records").glob("*.json"))
MADE = [
    sample.passing,
    sample.failing,
    sample.rehearsal,
    sample.nothing_found,
    sample.simulated,
]


def validate(data: bytes) -> None:
    """Validate JSON against the committed schema."""
    schema = json.loads(COMMITTED.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.loads(data))


def test_the_committed_schema_is_the_generated_one() -> None:
    """A changed record shows in the diff: ``preflight schema > preflight/record.schema.json``."""
    assert COMMITTED.read_text(encoding="utf-8") == schema_text("record")


@pytest.mark.parametrize("make", MADE, ids=lambda make: make.__name__)
def test_records_validate(make: Any) -> None:
    """What this version writes is what its schema says."""
    validate(encode_record(make()))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_sample_records_validate(path: Path) -> None:
    """The records of released versions are what the schema says, too."""
    validate(path.read_bytes())


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("run", "mode"), "guess"),
        (("verdict", "word"), "FINE"),
        (("checks", 0, "status"), "ok"),
        (("checks", 0, "id"), None),
        (("devices", 0, "memory_GiB"), "80 GiB"),
    ],
)
def test_wrong_records_do_not_validate(place: tuple[Any, ...], value: object) -> None:
    """The schema knows the words of modes, statuses and verdicts, and the types of the rest."""
    record = json.loads(encode_record(sample.passing()))
    target = record
    for step in place[:-1]:
        target = target[step]
    target[place[-1]] = value
    with pytest.raises(jsonschema.ValidationError):
        validate(json.dumps(record).encode())


def test_the_schema_names_its_dialect_and_the_record() -> None:
    """A validator finds the dialect, and that the whole is a Record."""
    schema = record_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert schema["$ref"] == f"#/$defs/{Record.__name__}"


@pytest.mark.parametrize("what", ["record", "plan"])
def test_the_text_is_json_with_a_final_newline(what: str) -> None:
    """``preflight schema > FILE`` gives a file that every tool reads."""
    text = schema_text(what)
    assert text.endswith("}\n")
    jsonschema.Draft202012Validator.check_schema(json.loads(text))
