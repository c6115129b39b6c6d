"""``python -m faults.command OUT OPTIONS``: the engine as a command, over given options."""

from __future__ import annotations

import sys
from pathlib import Path

import msgspec

from preflight import engine
from preflight.engine import Request
from preflight.errors import PreflightError
from preflight.events import Options
from preflight.plan import Plan
from preflight.records import Order


def main() -> None:
    """Run it, print the folder, leave with its exit code."""
    request = Request(
        options=msgspec.json.decode(sys.argv[2], type=Options),
        order=Order(reference="ORD-1"),
        plan=Plan(),
        out=Path(sys.argv[1]),
        strict=False,
        argv=("preflight", "run"),
    )
    try:
        outcome = engine.run(request, lambda events: None)
    except PreflightError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
    print(outcome.folder)
    if outcome.trouble is not None:
        print(outcome.trouble, file=sys.stderr)
    sys.exit(outcome.exit_code)


if __name__ == "__main__":
    main()
