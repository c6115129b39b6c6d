"""``junit.xml`` as Jenkins, GitLab and pytest's readers take it: a suite a stage, a case a check.

A warning is a passed case with ``system-out``; an ``error`` stays an error. Attributes and nesting
follow Jenkins' ``junit-10.xsd``, against which pytest's own tests hold its files.
"""

from __future__ import annotations

from xml.etree import ElementTree as ET

from preflight.records import Check, Record
from preflight.rendering import wording
from preflight.rendering.escaping import one_line, xml_text
from preflight.rendering.findings import StageRow, place, reason_of, stage_rows
from preflight.rendering.quantities import SPACE, is_out_of_limit, value_and_bound


def render(record: Record) -> str:
    """The XML document with its declaration."""
    root = ET.Element("testsuites", {"name": "preflight", **_counts(record.checks)})
    root.set("time", _seconds(record.run.duration_s))
    for row in stage_rows(record):
        root.append(_suite(record, row))
    ET.indent(root, " ")
    text = ET.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def _suite(record: Record, row: StageRow) -> ET.Element:
    attributes = {"name": _attribute(row.name), **_counts(row.checks)}
    attributes["skipped"] = str(sum(check.status == "skip" for check in row.checks))
    attributes["time"] = _seconds(row.duration_s)
    attributes["timestamp"] = _attribute(record.run.started.removesuffix("Z"))
    attributes["hostname"] = _attribute(record.host.name)
    suite = ET.Element("testsuite", attributes)
    suite.append(_properties(record))
    for check in row.checks:
        suite.append(_case(record, check))
    return suite


def _counts(checks: tuple[Check, ...]) -> dict[str, str]:
    return {
        "tests": str(len(checks)),
        "failures": str(sum(check.status == "fail" for check in checks)),
        "errors": str(sum(check.status == "error" for check in checks)),
    }


def _properties(record: Record) -> ET.Element:
    """What ties the file to its order; on every suite, as readers drop those of the root."""
    values = {
        "order.reference": record.order.reference,
        "verdict": record.verdict.word,
        "run.id": record.run.id,
        "run.mode": record.run.mode,
        "run.notices": " ".join(wording.notices(record.run)),
        "preflight.version": record.run.tool_version,
        "torch.version": record.versions.torch,
    }
    properties = ET.Element("properties")
    for name, value in values.items():
        if value:
            ET.SubElement(properties, "property", {"name": name, "value": _attribute(value)})
    return properties


def _case(record: Record, check: Check) -> ET.Element:
    where = place(record, check)
    name = f"{check.id}[{where}]" if where else check.id
    case = ET.Element("testcase", {"name": _attribute(name)})
    case.set("classname", _attribute(f"preflight.{check.stage}"))
    case.set("time", _seconds(check.duration_s))
    tag = {"fail": "failure", "error": "error", "skip": "skipped"}.get(check.status)
    if tag is not None:
        outcome = ET.SubElement(case, tag, {"message": _attribute(reason_of(check))})
        outcome.set("type", "blocked" if check.blocked_by else check.status)
        outcome.text = xml_text(_body(check))
    output = _output(check)
    if output:
        ET.SubElement(case, "system-out").text = xml_text(output)
    return case


def _body(check: Check) -> str:
    """Reason, action and evidence of what did not pass."""
    parts = [reason_of(check)]
    if check.action:
        parts.append(f"Do: {check.action}")
    if not check.required:
        parts.append("This check is not required.")
    return "\n\n".join([*parts, check.evidence] if check.evidence else parts)


def _output(check: Check) -> str:
    """Warning and measurements, as text."""
    lines = []
    if check.status == "warn":
        lines += [f"warning: {reason_of(check)}", check.action, check.evidence]
    for measurement in check.measurements:
        value, limit = value_and_bound(measurement)
        mark = "  OUT OF LIMIT" if is_out_of_limit(measurement) else ""
        source = f"  ({limit}, {measurement.limit.source})" if measurement.limit else ""
        lines.append(f"{measurement.name}: {value}{source}{mark}".replace(SPACE, " "))
    return "\n".join(line for line in lines if line)


def _seconds(value: float | None) -> str:
    return f"{value or 0.0:.3f}"


def _attribute(value: str) -> str:
    return xml_text(one_line(value))
