"""The JSON Schema of the record and of the plan, generated from their structs."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from preflight.plan import plan_schema
from preflight.records import Record

_DIALECT = "https://json-schema.org/draft/2020-12/schema"


def record_schema() -> dict[str, Any]:
    """Schema of ``record.json``, dialect 2020-12."""
    return {"$schema": _DIALECT, **msgspec.json.schema(Record)}


def schema_text(what: str) -> str:
    """Indented JSON of the schema of ``record`` or ``plan``, with a final newline."""
    chosen = record_schema() if what == "record" else plan_schema()
    return json.dumps(chosen, indent=1, ensure_ascii=False) + "\n"
