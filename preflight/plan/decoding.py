"""The plan: what the campaign will do, read from TOML and turned into an order."""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from preflight import records
from preflight.errors import PlanError
from preflight.order_folder import check_reference
from preflight.plan.locations import KeyPath, key_lines, show_path
from preflight.plan.reading import Mistake, read_tables
from preflight.plan.rules import contradictions
from preflight.plan.tables import Plan
from preflight.plan.values import DTYPES
from preflight.redaction import redact_facts, redact_text, redact_value

_toml: Any = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

LARGEST_PLAN = 64 * 1024
"""Bytes; a plan is a page of text, and whatever is larger is another file.

The plan travels to the checks in one environment variable, and Linux bounds one at 128 KiB.
"""
_LARGEST_ENCODED = 48 * 1024
"""Bytes of a plan as JSON, which may be longer than its TOML; the variable holds it twice, as it is
and without secrets, beside the options of the run."""
_START = "`preflight init` writes a plan to start from"
_MOST_MISTAKES = 20
_AT_LINE = re.compile(r"\s*\(at line (\d+), column (\d+)\)$")


def load_plan(path: Path) -> Plan:
    """The plan in a file.

    Raises PlanError, naming file, line and key, for whatever cannot be used.
    """
    where = os.fsencode(path).decode("utf-8", "backslashreplace")
    return decode_plan(_text_of(_bytes_of(path, where), where), where=where)


def decode_plan(text: str, *, where: str) -> Plan:
    """The plan in a text; ``where`` is the file to name in messages.

    Raises PlanError that holds every mistake found, the first in the file first.
    """
    try:
        plan, mistakes = read_tables(_tree_of(text, where))
    except RecursionError as error:
        what = "arrays or tables stand too deep inside each other"
        raise PlanError(what, where=where, mend=_START) from error
    mistakes += contradictions(plan)
    if mistakes:
        raise _mistakes_error(mistakes, key_lines(text), where)
    if len(msgspec.json.encode(plan)) > _LARGEST_ENCODED:
        what = "the plan holds too much: as JSON it is larger than 48 KiB"
        raise PlanError(what, where=where, mend="shorten its lists and texts")
    return plan


def plan_to_builtins(plan: Plan) -> dict[str, Any]:
    """The plan for a record: defaults left out, secrets and the home folder taken out of each text.

    Each table and key stands as in the file, so that a plan without secrets reads as one again. The
    reference stays as the seller wrote it, as it is what the seller knows the order by.
    """
    whole: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(plan))
    tables: dict[str, Any] = redact_facts(whole)
    if plan.order.reference is not None:
        tables["order"]["reference"] = plan.order.reference
    if plan.software.env:
        env = plan.software.env
        tables["software"]["env"] = {
            redact_text(name): redact_value(name, value) for name, value in env.items()
        }
    limits = tables.pop("limits", {})
    floors = limits.pop("floors", {})
    limits.update({redact_text(name): floor for name, floor in floors.items()})
    tables["limits"] = limits
    return {name: tables[name] for name in Plan.__struct_fields__ if tables.get(name)}


def order_of(plan: Plan, *, reference: str | None) -> records.Order:
    """What was bought, without secrets; ``reference`` is that of ``--order``, None without one.

    The reference alone stays as it was written.

    Raises PlanError where the flag and the plan name two references, as one of the two would
    otherwise file the run under an order it does not belong to.
    """
    order = plan.order
    flag = None if reference is None else check_reference(reference)
    if flag is not None and order.reference is not None and flag != order.reference:
        raise PlanError(
            f"--order names {flag!r}, but the plan is of {order.reference!r}",
            where="--order",
            mend="leave out --order, or order.reference in the plan",
        )
    return records.Order(
        reference=flag if flag is not None else order.reference,
        provider=None if order.provider is None else redact_text(order.provider),
        product=None if order.gpu is None else redact_text(order.gpu),
        gpus=order.gpus,
        nodes=order.nodes,
        memory_GB=order.memory_GB,
        link=order.link,
        start=order.start,
        days=order.days,
    )


def resolve(path_text: str, plan_file: Path) -> Path:
    """A path of the plan as an absolute one: relative to the plan's folder, ``~`` expanded.

    Raises PlanError where no home folder is known.
    """
    try:
        path = Path(path_text).expanduser()
    except RuntimeError as error:
        mend = "write the path from / on"
        raise PlanError(f"{path_text!r}: {error}", where=str(plan_file), mend=mend) from error
    # Not Path.resolve(): a link to the current run's folder must stay the link.
    return Path(os.path.abspath(plan_file.parent / path))  # noqa: PTH100


def plan_schema() -> dict[str, Any]:
    """JSON Schema of a plan, for editors; it knows the short forms that the file may use."""
    schema: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(Plan)))
    tables = schema["$defs"]
    extensions = tables["Software"]["properties"]["extensions"]
    extensions["items"] = {"anyOf": [{"type": "string"}, extensions["items"]]}
    spellings = [name for key in sorted(DTYPES) for name in (key, *DTYPES[key])]
    tables["Model"]["properties"]["dtype"]["anyOf"][0]["enum"] = spellings
    floors = tables["Limits"]["properties"].pop("floors")
    # A dotted key of TOML is a table inside a table.
    tables["Floors"] = {
        "description": floors["description"],
        "anyOf": [
            floors["additionalProperties"],
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/Floors"}},
        ],
    }
    tables["Limits"]["additionalProperties"] = {"$ref": "#/$defs/Floors"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "preflight plan",
        **schema,
    }


def _bytes_of(path: Path, where: str) -> bytes:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_PLAN + 1)
    except FileNotFoundError as error:
        raise PlanError("there is no such file", where=where, mend=_START) from error
    except IsADirectoryError as error:
        mend = "give the file in it, such as plan.toml"
        raise PlanError("this is a folder, not a plan", where=where, mend=mend) from error
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        mend = "give a file that this user may read"
        raise PlanError(f"the file cannot be read ({reason})", where=where, mend=mend) from error
    if len(data) > LARGEST_PLAN:
        mend = "accepted: a TOML file of at most 64 KiB"
        raise PlanError("the file is larger than 64 KiB, so it is no plan", where=where, mend=mend)
    return data


def _text_of(data: bytes, where: str) -> str:
    mend = "save the file as UTF-8"
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise PlanError("the file is UTF-16, not UTF-8", where=where, mend=mend)
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"not UTF-8: the byte 0x{data[error.start]:02x} at offset {error.start}"
        raise PlanError(what, where=f"{where}:{line}", mend=mend) from error


def _tree_of(text: str, where: str) -> dict[str, Any]:
    try:
        tree: dict[str, Any] = _toml.loads(text)
    except ValueError as error:
        raise _syntax_error(error, text, where) from error
    return tree


def _syntax_error(error: ValueError, text: str, where: str) -> PlanError:
    """The parser's message, with the line where it stopped."""
    message = str(error)
    if found := _AT_LINE.search(message):
        line, column = int(found[1]), f", column {found[2]}"
    else:
        line, column = len(text.rstrip().split("\n")), ""
    reason = _AT_LINE.sub("", message).removesuffix(" (at end of document)")
    return PlanError(
        f"not TOML: {reason}{column}",
        where=f"{where}:{line}",
        mend='accepted: lines such as gpus = 2 or gpu = "B200" below a header such as [order]',
    )


def _mistakes_error(mistakes: list[Mistake], lines: dict[KeyPath, int], where: str) -> PlanError:
    """One error for all mistakes: the first as its own, the others below in the same form."""

    def place(mistake: Mistake) -> tuple[int, str]:
        path = mistake.path
        while path and path not in lines:
            path = path[:-1]
        line = lines.get(path, 0)
        return line, f"{where}:{line}" if line else where

    ordered = sorted(mistakes, key=lambda mistake: place(mistake)[0])
    errors = [
        PlanError(
            mistake.what,
            where=f"{place(mistake)[1]}: {show_path(mistake.path)}",
            mend=mistake.mend,
        )
        for mistake in ordered
    ]
    mend = "\n".join([errors[0].mend, *map(str, errors[1:_MOST_MISTAKES])])
    if len(errors) > _MOST_MISTAKES:
        mend += f"\n{where}: {len(errors) - _MOST_MISTAKES} more mistakes"
    return PlanError(errors[0].what, where=errors[0].where, mend=mend)
