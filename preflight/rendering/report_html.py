"""``report.html``: one file that needs no network, no script to be read, and holds its record."""

from __future__ import annotations

import base64
import hashlib
from functools import lru_cache
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Undefined
from markupsafe import Markup, escape

from preflight.folders import reports_folder
from preflight.records import Record, encode_record
from preflight.rendering import quantities, wording
from preflight.rendering.escaping import (
    ELLIPSIS,
    json_in_script,
    last_part,
    one_line,
    shorten,
    visible,
)
from preflight.rendering.findings import reason_of
from preflight.rendering.page import STATUS_LEGEND, page_of

_LONGEST = 2000
_LONGEST_EVIDENCE = 6000


def render(record: Record) -> str:
    """The whole page."""
    data = encode_record(record)
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            page=page_of(record),
            embedded=Markup(json_in_script(data.decode())),
            digest=hashlib.sha256(data).hexdigest(),
        )
    )


@lru_cache(maxsize=1)
def _environment() -> Environment:
    """Templates with escaping everywhere, and no name that may be missing."""
    environment = Environment(
        loader=FileSystemLoader(reports_folder()),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        prose=_prose,
        short=_short,
        block=_block,
        evidence=_evidence,
        duration=quantities.duration,
        bound=quantities.value_and_bound,
        out_of_limit=quantities.is_out_of_limit,
        spread=quantities.spread,
        reason=reason_of,
        moment=wording.moment,
        quantity=quantities.quantity,
        identity=id,
    )
    style, script = _asset("style.css"), _asset("script.js")
    environment.globals.update(
        glyphs=wording.GLYPHS,
        labels=wording.LABELS,
        legend=STATUS_LEGEND,
        style=style,
        script=script,
        policy=_policy(style, script),
    )
    return environment


def _asset(name: str) -> Markup:
    """A style sheet or script of ours, as it goes between its tags."""
    return Markup((reports_folder() / name).read_text(encoding="utf-8"))


def _policy(style: str, script: str) -> str:
    """Content security policy: our own style and script by digest, nothing else, no network."""
    return (
        f"default-src 'none'; style-src {_source(style)}; script-src {_source(script)}; "
        "base-uri 'none'; form-action 'none'"
    )


def _source(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _finalize(value: Any) -> Any:
    """Every expression of every template passes here, before it is escaped.

    Text shows characters that hide or reorder as escapes, and is cut where it would swamp the page.
    """
    if isinstance(value, Markup | Undefined):
        return value
    if isinstance(value, str):
        return visible(shorten(value, _LONGEST))
    if value is None:
        raise TypeError("a template asked for a value that the record does not have")
    return value


def _prose(text: str) -> Markup:
    """A sentence in which words between single backticks are code, as the checks write them."""
    parts = visible(shorten(text, _LONGEST)).split("`")
    if len(parts) % 2 == 0:
        return escape("`".join(parts))
    pieces = (
        Markup("<code>{}</code>").format(part) if index % 2 else escape(part)
        for index, part in enumerate(parts)
    )
    return Markup("").join(pieces)


def _short(text: str, limit: int = 120) -> str:
    """A name on one line, cut where it is none."""
    return one_line(text if len(text) <= limit else f"{text[:limit]}{ELLIPSIS}")


def _block(text: str) -> Markup:
    """Preformatted text of our own making, whole."""
    return escape(visible(text))


def _evidence(text: str) -> Markup:
    """The end of raw output, where the error stands."""
    return escape(visible(last_part(text.rstrip(), _LONGEST_EVIDENCE)))
