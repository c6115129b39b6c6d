"""The record itself, as it stands in ``record.json``."""

from __future__ import annotations

from preflight.records import Record, encode_record


def render(record: Record) -> str:
    """JSON of the record with a final newline."""
    return encode_record(record).decode()
