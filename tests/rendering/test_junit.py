from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest

from preflight.rendering import junit

from . import extremes, sample
from .test_protocol import RECORDS

# Attributes and children that Jenkins' junit-10.xsd knows ("error" as every writer spells it).
KNOWN = {
    "testsuites": ({"name", "time", "tests", "failures", "errors"}, {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "time", "timestamp", "hostname"},
        {"properties", "testcase"},
    ),
    "properties": (set(), {"property"}),
    "property": ({"name", "value"}, set()),
    "testcase": (
        {"name", "time", "classname"},
        {"skipped", "error", "failure", "system-out"},
    ),
    "failure": ({"type", "message"}, set()),
    "error": ({"type", "message"}, set()),
    "skipped": ({"type", "message"}, set()),
    "system-out": (set(), set()),
}


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_only_known_elements_and_attributes_stand_in_the_file(name: str) -> None:
    """Readers that hold the file against a schema accept it, for every record."""
    for element in ET.fromstring(junit.render(RECORDS[name]())).iter():
        attributes, children = KNOWN[element.tag]
        assert set(element.attrib) <= attributes
        assert {child.tag for child in element} <= children
        assert re.fullmatch(r"\d*\.\d{3}", element.get("time", "0.000"))


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_counts_are_those_of_the_elements(name: str) -> None:
    """What the attributes count is what the file holds, for each suite and for all."""
    root = ET.fromstring(junit.render(RECORDS[name]()))
    for element in (root, *root.iter("testsuite")):
        for attribute, tag in (("tests", "testcase"), ("failures", "failure"), ("errors", "error")):
            assert int(element.get(attribute, "-1")) == len(list(element.iter(tag)))
    for suite in root.iter("testsuite"):
        assert int(suite.get("skipped", "-1")) == len(list(suite.iter("skipped")))


def test_statuses_map_and_a_warning_passes_with_output() -> None:
    """fail, error and skip have their element; a warning is a passed case with its text."""
    record = sample.record(
        tuple(
            sample.check(f"kernel.{status}", status=status, reason=f"why {status}", action="act")
            for status in ("pass", "warn", "fail", "error", "skip")
        )
    )
    cases = {c.get("name"): c for c in ET.fromstring(junit.render(record)).iter("testcase")}
    tags = {name: [child.tag for child in case] for name, case in cases.items()}
    assert tags == {
        "kernel.pass": [],
        "kernel.warn": ["system-out"],
        "kernel.fail": ["failure"],
        "kernel.error": ["error"],
        "kernel.skip": ["skipped"],
    }
    assert "why warn" in (cases["kernel.warn"][0].text or "")
    assert cases["kernel.fail"][0].get("message") == "why fail"


def test_a_case_names_its_device_and_a_blocked_one_its_cause() -> None:
    """Cases of one check on many devices differ by name; a skip says what blocked it."""
    root = ET.fromstring(junit.render(sample.failing()))
    case = next(c for c in root.iter("testcase") if c.get("name") == "forward.transformer[gpu5]")
    assert case[0].get("type") == "blocked"
    assert case[0].get("message") == "blocked by kernel.first on gpu5"


def test_every_suite_is_tied_to_its_order() -> None:
    """Order reference and verdict are properties of each suite."""
    for suite in ET.fromstring(junit.render(sample.failing())).iter("testsuite"):
        values = {p.get("name"): p.get("value") for p in suite.iter("property")}
        assert values["order.reference"] == "ORD-1042"
        assert values["verdict"] == "NOT_READY"


def test_characters_that_xml_forbids_are_shown() -> None:
    """NUL and escape sequences stand as visible escapes in a file that parses."""
    text = junit.render(extremes.hostile())
    assert "\x00" not in text and "\\x00" in text
