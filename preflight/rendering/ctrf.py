"""``ctrf.json``, the Common Test Report Format (https://ctrf.io), specification 0.1.

How statuses map, with our own word always in ``rawStatus``:

- ``pass`` is passed; ``warn`` is passed with a message and the tag ``warning``.
- ``fail`` is failed.
- ``error`` is failed too, with the tag ``error``: many readers count only ``failed``, and what
  could not be looked at must not read as health.
- ``skip`` is skipped, with the tag ``blocked`` where an earlier failure closed its gate.
"""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

from preflight.records import Check, Record, Status
from preflight.rendering import wording
from preflight.rendering.findings import place, reason_of, stage_rows

SPECIFICATION = "0.1.0"

_STATUSES: dict[Status, str] = {
    "pass": "passed",
    "warn": "passed",
    "fail": "failed",
    "error": "failed",
    "skip": "skipped",
}


def render(record: Record) -> str:
    """JSON with a final newline; times in milliseconds, as the format wants them."""
    results: dict[str, Any] = {
        "tool": {"name": "preflight", "version": record.run.tool_version},
        "summary": _summary(record),
        "tests": [_test(record, check) for row in stage_rows(record) for check in row.checks],
        "environment": _environment(record),
    }
    document = {"reportFormat": "CTRF", "specVersion": SPECIFICATION, "results": results}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _summary(record: Record) -> dict[str, Any]:
    statuses = [_STATUSES[check.status] for check in record.checks]
    start = _milliseconds(record.run.started) or 0
    stop = start + round(1000 * (record.run.duration_s or 0.0))
    return {
        "tests": len(statuses),
        **{word: statuses.count(word) for word in ("passed", "failed", "pending", "skipped")},
        "other": 0,
        "suites": len(stage_rows(record)),
        "start": start,
        "stop": stop,
        "extra": {
            "verdict": record.verdict.word,
            "exit_code": record.verdict.exit_code,
            "reasons": list(record.verdict.reasons),
            "warnings": sum(check.status == "warn" for check in record.checks),
            "errors": sum(check.status == "error" for check in record.checks),
        },
    }


def _test(record: Record, check: Check) -> dict[str, Any]:
    where = place(record, check)
    test: dict[str, Any] = {
        "name": f"{check.id}[{where}]" if where else check.id,
        "status": _STATUSES[check.status],
        "duration": round(1000 * (check.duration_s or 0.0)),
        "suite": [check.stage or "preflight"],
        "rawStatus": check.status,
        "type": "acceptance",
    }
    start = _milliseconds(check.started)
    if start is not None:
        test["start"], test["stop"] = start, start + test["duration"]
    message = reason_of(check)
    if message:
        test["message"] = message
    if check.evidence and check.status in ("fail", "error", "warn"):
        test["trace"] = check.evidence
    if check.device:
        test["device"] = check.device
    tags = _tags(check)
    if tags:
        test["tags"] = tags
    test["extra"] = _extra(check)
    return test


def _tags(check: Check) -> list[str]:
    tags = {"warn": ["warning"], "error": ["error"]}.get(check.status, [])
    return (
        tags + (["blocked"] if check.blocked_by else []) + ([] if check.required else ["optional"])
    )


def _extra(check: Check) -> dict[str, Any]:
    """What the format has no field for."""
    extra: dict[str, Any] = {"title": check.title, "required": check.required}
    for name in ("action", "node", "rank", "blocked_by"):
        value = getattr(check, name)
        if value not in (None, ""):
            extra[name] = value
    if check.measurements:
        extra["measurements"] = [
            {"name": m.name, "value": m.value, "unit": m.unit} for m in check.measurements
        ]
    return extra


def _environment(record: Record) -> dict[str, Any]:
    environment: dict[str, Any] = {
        "reportName": f"{wording.WORDS[record.verdict.word]}: {wording.reference(record.order)}",
        "osPlatform": "linux",
        "testEnvironment": wording.flags(record.run) or record.run.mode,
        "healthy": record.verdict.word in ("READY", "READY_WITH_WARNINGS"),
        "extra": {
            "order": record.order.reference,
            "host": record.host.name,
            "run": record.run.id,
            "devices": [device.product for device in record.devices],
            "notices": list(wording.notices(record.run)),
            "versions": dict(wording.environment(record.versions)),
        },
    }
    if record.host.kernel:
        environment["osRelease"] = record.host.kernel
    if record.host.distribution:
        environment["osVersion"] = record.host.distribution
    return environment


def _milliseconds(moment: str | None) -> int | None:
    """RFC 3339 in UTC to milliseconds since 1970; None for what is no such time."""
    try:
        when = datetime.fromisoformat((moment or "").replace("Z", "+00:00"))
    except ValueError:
        return None
    aware = when if when.tzinfo else when.replace(tzinfo=timezone.utc)
    return round(1000 * aware.timestamp())
