"""The contract of every report: ``render(record) -> str``, and the table of the formats."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType

from preflight.records import Record

Render = Callable[[Record], str]
"""Called with one record; returns the whole report.

Pure: the same record gives the same text, no file is read but the shipped templates, no clock, no
environment. Every string of the record may hold any character, and is made safe for the format.
"""

FORMATS: Mapping[str, str] = MappingProxyType(
    {
        "html": "preflight.rendering.report_html.render",
        "text": "preflight.rendering.text.render",
        "markdown": "preflight.rendering.markdown.render",
        "junit": "preflight.rendering.junit.render",
        "ctrf": "preflight.rendering.ctrf.render",
        "json": "preflight.rendering.record_json.render",
        "constraints": "preflight.rendering.constraints.render",
    }
)
"""Format name to the dotted name of its function, imported only when it is asked for."""

FILES: Mapping[str, str] = MappingProxyType(
    {
        "json": "record.json",
        "html": "report.html",
        "junit": "junit.xml",
        "ctrf": "ctrf.json",
        "markdown": "summary.md",
        "constraints": "constraints.txt",
    }
)
"""Format name to its file in a run's folder, ``record.json`` first; ``text`` goes to the terminal.

``constraints`` takes its name from :func:`preflight.rendering.constraints.file_name`, as a record
that failed must not leave a ``constraints.txt`` behind.
"""


def renderer(name: str) -> Render:
    """Function of a format.

    Raises KeyError for a name that is not in FORMATS.
    """
    module, _, function = FORMATS[name].rpartition(".")
    render: Render = getattr(import_module(module), function)
    return render


def file_name(name: str, record: Record) -> str:
    """Name of the file that holds a format in a run's folder; ``text`` is ``summary.txt``."""
    if name == "constraints":
        from preflight.rendering import constraints

        return constraints.file_name(record)
    return FILES.get(name, "summary.txt")
