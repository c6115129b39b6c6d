from __future__ import annotations

import json
from typing import Any

import pytest

from preflight.rendering import ctrf

from . import sample
from .test_protocol import RECORDS

# Keys that the schema of specification 0.1 allows; it forbids all others.
SUMMARY = {"tests", "passed", "failed", "skipped", "pending", "other", "suites", "start", "stop"}
TEST = {
    "name": str,
    "status": str,
    "duration": int,
    "start": int,
    "stop": int,
    "suite": list,
    "message": str,
    "trace": str,
    "rawStatus": str,
    "tags": list,
    "type": str,
    "device": str,
    "extra": dict,
}


def results(name: str) -> dict[str, Any]:
    """The results of a sample record, below a head that is checked."""
    document = json.loads(ctrf.render(RECORDS[name]()))
    assert document["reportFormat"] == "CTRF" and document["specVersion"] == "0.1.0"
    assert set(document) == {"reportFormat", "specVersion", "results"}
    found: dict[str, Any] = document["results"]
    return found


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_the_shape_is_that_of_the_schema(name: str) -> None:
    """Required keys are there with their types, and none that the schema does not know."""
    found = results(name)
    assert set(found) == {"tool", "summary", "tests", "environment"}
    assert found["tool"]["name"] == "preflight"
    assert set(found["summary"]) == SUMMARY | {"extra"}
    assert all(isinstance(found["summary"][key], int) for key in SUMMARY)
    for test in found["tests"]:
        assert {"name", "status", "duration"} <= set(test)
        assert all(isinstance(value, TEST[key]) for key, value in test.items())
        assert test["name"] and test["suite"]


@pytest.mark.parametrize("name", sorted(RECORDS))
def test_the_summary_counts_the_tests(name: str) -> None:
    """Each count is the number of tests of that status, and all together are the tests."""
    found = results(name)
    statuses = [test["status"] for test in found["tests"]]
    for word in ("passed", "failed", "skipped", "pending", "other"):
        assert found["summary"][word] == statuses.count(word)
    assert found["summary"]["tests"] == len(statuses)


def test_statuses_map_as_documented() -> None:
    """An error counts as failed, a warning as passed with a tag; the raw status is always told."""
    record = sample.record(
        tuple(
            sample.check(f"kernel.{status}", status=status, reason="why", action="act")
            for status in ("pass", "warn", "fail", "error", "skip")
        )
    )
    tests = json.loads(ctrf.render(record))["results"]["tests"]
    assert {t["rawStatus"]: (t["status"], t.get("tags", [])) for t in tests} == {
        "pass": ("passed", []),
        "warn": ("passed", ["warning"]),
        "fail": ("failed", []),
        "error": ("failed", ["error"]),
        "skip": ("skipped", []),
    }


def test_times_are_milliseconds() -> None:
    """Start and stop are milliseconds since 1970, durations whole milliseconds."""
    summary = results("passing")["summary"]
    assert summary["start"] == 1796115852000
    assert summary["stop"] - summary["start"] == 48700


def test_only_a_ready_verdict_is_healthy() -> None:
    """A rehearsal is no sign of a healthy card."""
    healthy = {name: results(name)["environment"]["healthy"] for name in RECORDS}
    ready = ["passing", "machine", "ill machine", "hostile machine"]  # of one passing run
    assert [name for name, value in healthy.items() if value] == ready
