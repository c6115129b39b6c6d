"""What is missing in a record of facts: a walk over its absences."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from preflight.facts.absence import Absence

ORDINARY = ("not supported", "driver lacks the call", "not asked", "not found")
"""Reasons that tell of the kind of machine: nobody was stopped from looking."""


def absences_in(record: msgspec.Struct) -> tuple[Absence, ...]:
    """Every absence anywhere in ``record``, in the order of its fields.

    One that does not say what was asked gets the place where it stands: ``ecc.enabled``,
    ``links[3].errors``. Left out is ``not asked``, which is a fact that such a machine lacks.
    """
    return tuple(found for found in _walk(record, "") if found.reason != "not asked")


def _walk(value: object, place: str) -> Iterator[Absence]:
    if isinstance(value, Absence):
        yield value if value.what else msgspec.structs.replace(value, what=place)
    elif isinstance(value, msgspec.Struct):
        for name in value.__struct_fields__:
            yield from _walk(getattr(value, name), f"{place}.{name}" if place else name)
    elif isinstance(value, tuple):
        for index, one in enumerate(value):
            yield from _walk(one, f"{place}[{index}]")
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from _walk(one, f"{place}.{key}" if place else str(key))
