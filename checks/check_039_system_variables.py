"""Stage system: variables of the environment that close a path."""

from __future__ import annotations

import pytest

from preflight.compat.variables import Variable, steering
from preflight.harness import Result, Situation, Survey


@pytest.mark.check(id="system.variables", stage="system", deadline="10s")
def check_variables(situation: Situation, result: Result) -> None:
    """No variable of the environment closes a path or slows the cards, unless the plan sets it."""
    survey = Survey.of_host(situation, result)
    environment = situation.surroundings.environment
    planned = situation.plan.software.env
    notes = []
    for entry in steering(environment):
        value = environment[entry.name]
        if entry.about == "cards" and not situation.has_cards:
            continue
        if planned.get(entry.name) == value:
            notes.append(f"{entry.name}={value}: the plan sets it")
        elif entry.status == "note":
            notes.append(f"{entry.name}={value}: {entry.does}")
        else:
            _tell(survey, entry, value)
    survey.settle("; ".join(notes) or "none")


def _tell(survey: Survey, entry: Variable, value: str) -> None:
    tell = survey.fail if entry.status == "fail" else survey.warn
    tell(f"{entry.name}={value}", f"{entry.does} ({entry.source})", entry.mend)
