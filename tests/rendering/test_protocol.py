from __future__ import annotations

import subprocess
import sys

import pytest

from preflight import folders
from preflight.records import Record, decode_record
from preflight.rendering import protocol

from . import extremes, machines, odd_machines, sample

RECORDS = {
    "passing": sample.passing,
    "failing": sample.failing,
    "rehearsal": sample.rehearsal,
    "nothing": sample.nothing_found,
    "simulated": sample.simulated,
    "hostile": extremes.hostile,
    "machine": lambda: machines.record_of(machines.eight_h100()),
    "ill machine": lambda: machines.record_of(odd_machines.ill_b200()),
    "hostile machine": lambda: machines.record_of(odd_machines.hostile(extremes.ALL)),
}


@pytest.mark.parametrize("name", sorted(RECORDS))
@pytest.mark.parametrize("format_name", sorted(protocol.FORMATS))
def test_every_format_renders_every_record(format_name: str, name: str) -> None:
    """Each format gives text that ends with one newline and encodes as UTF-8."""
    text = protocol.renderer(format_name)(RECORDS[name]())
    assert text.endswith("\n") and not text.endswith("\n\n")
    assert text.encode("utf-8")


@pytest.mark.parametrize("format_name", sorted(protocol.FORMATS))
def test_rendering_is_a_pure_function(format_name: str) -> None:
    """The same record gives the same report twice."""
    render = protocol.renderer(format_name)
    assert render(sample.failing()) == render(sample.failing())


@pytest.mark.parametrize("format_name", sorted(protocol.FORMATS))
def test_an_empty_record_renders(format_name: str) -> None:
    """A run that was killed before anything was known still gives every report."""
    empty = sample.record(
        (), devices=(), nodes=(), run=sample.run(finished=None, duration_s=None, argv=())
    )
    assert protocol.renderer(format_name)(empty)


def test_formats_are_imported_when_asked_for() -> None:
    """Importing the table loads no template engine."""
    code = "import sys, preflight.rendering.protocol; sys.exit('jinja2' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_unknown_format_is_a_key_error() -> None:
    """Only names of the table are formats."""
    with pytest.raises(KeyError):
        protocol.renderer("pdf")


def test_files_have_the_names_of_the_run_folder() -> None:
    """The file of each format is the one that the README names."""
    record = sample.passing()
    names = {name: protocol.file_name(name, record) for name in protocol.FORMATS}
    assert names == {
        "html": "report.html",
        "text": "summary.txt",
        "markdown": "summary.md",
        "junit": "junit.xml",
        "ctrf": "ctrf.json",
        "json": "record.json",
        "constraints": "constraints.txt",
    }
    assert protocol.file_name("constraints", sample.failing()) == "constraints.failed.txt"


def test_json_is_the_record() -> None:
    """The JSON format is read back as an equal record."""
    record: Record = sample.failing()
    text = protocol.renderer("json")(record)
    assert decode_record(text.encode(), where="test") == record


def test_templates_and_checks_are_found() -> None:
    """The report folder holds the page, and the checks folder lies beside it."""
    assert (folders.reports_folder() / "report.html.j2").is_file()
    assert folders.checks_folder().name == "checks"
    assert folders.checks_folder().parent == folders.reports_folder().parent
