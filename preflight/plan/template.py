"""The plan that ``preflight init`` writes: every key, filled in with what was found."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import msgspec

from preflight.errors import PlanError
from preflight.plan import decode_plan
from preflight.plan.reading import accepted_keys
from preflight.plan.tables import TABLES, Table

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_KEY_COLUMN = 40
_HEAD = """\
# Plan of a training campaign, for `preflight run --plan`.
# Every table and key may be left out; a line that begins with # is only an example.
"""


@dataclass(frozen=True, kw_only=True)
class MachineFacts:
    """What was found on the machine; None or empty where nothing was."""

    product: str | None = None
    """As the driver names it: ``NVIDIA B200``."""
    gpus: int | None = None
    memory_GB: float | None = None
    """Memory of one card, decimal gigabytes."""
    link: str | None = None
    """``nvlink``, ``xgmi`` or ``pcie``."""
    host: str | None = None
    python: str | None = None
    """Version of the user's interpreter: ``3.12.4``."""
    extensions: tuple[str, ...] = ()
    """Import names of the compiled extensions that are installed."""


def render_plan(facts: MachineFacts) -> str:
    """A commented ``plan.toml`` that :func:`preflight.plan.decode_plan` reads.

    A fact that a plan cannot hold, such as a product with an unusable name, is left as an example.
    """
    found = _found(facts)
    tables = [_render_table(name, found) for name in TABLES]
    host = _one_line(facts.host) if facts.host else ""
    origin = f"# Filled in from {host or 'this machine'}: correct it to what was bought.\n"
    return "\n".join([_HEAD + (origin if found else ""), *tables])


def _found(facts: MachineFacts) -> dict[tuple[str, str], Any]:
    """The facts by table and key, without those that no plan accepts."""
    candidates: dict[tuple[str, str], Any] = {
        ("order", "gpu"): facts.product,
        ("order", "gpus"): facts.gpus,
        ("order", "memory_GB"): facts.memory_GB,
        ("order", "link"): facts.link,
        ("software", "python"): facts.python,
        ("software", "extensions"): [
            name for name in facts.extensions if _is_accepted(("software", "extensions"), [name])
        ],
    }
    return {
        place: value for place, value in candidates.items() if value and _is_accepted(place, value)
    }


def _is_accepted(place: tuple[str, str], value: Any) -> bool:
    table, key = place
    try:
        plan = decode_plan(f"[{table}]\n{key} = {_toml(value)}\n", where="")
    except PlanError:
        return False
    # A product that is read as a count and a product would say something that was not found.
    return key != "gpu" or plan.order.gpus is None


def _render_table(name: str, found: dict[tuple[str, str], Any]) -> str:
    """One table: its meaning, its header, and a line for each key."""
    meaning = (TABLES[name].__doc__ or "").split(";")[0].strip().rstrip(".")
    lines = [f"# {meaning}.", f"[{name}]"]
    schema = _properties(TABLES[name])
    for key in [*accepted_keys(name), *(["floors"] if name == "limits" else [])]:
        property_ = schema[key]
        example = property_["examples"][0]
        value = found.get((name, key))
        if key == "floors":
            ((key, example),) = example.items()
        text = f"{_key(key)} = {_toml(example if value is None else value)}"
        if value is None:
            text = f"# {text}"
        lines.append(f"{text:<{_KEY_COLUMN}}  # {property_['description']}")
    return "\n".join(lines) + "\n"


def _properties(table: type[Table]) -> dict[str, dict[str, Any]]:
    """Schema of each key, without the alternative of leaving it out."""
    schema = msgspec.json.schema(table)["$defs"][table.__name__]["properties"]
    return {key: kind["anyOf"][0] if "anyOf" in kind else kind for key, kind in schema.items()}


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _toml(key)


def _toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return '"' + "".join(map(_escaped, value)) + '"'
    if isinstance(value, list):
        return f"[{', '.join(map(_toml, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return character if code >= 0x20 and code != 0x7F else f"\\u{code:04x}"


def _one_line(text: str) -> str:
    """The text for a comment, which ends at the line and holds no control character."""
    return "".join(character if character.isprintable() else " " for character in text).strip()
