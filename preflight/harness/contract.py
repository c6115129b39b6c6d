"""The contract of a check: a function, a docstring, and a marker that says what it is.

::

    @pytest.mark.check(id="kernel.first", stage="kernel", deadline="60s")
    def check_first(device, probe, result):
        \"\"\"The first kernel launches and gives the right numbers.\"\"\"

Marker arguments, all by keyword:

- ``id``: ``<stage>.<fact>``, unique and stable for ever.
- ``stage``: a name of the path.
- ``deadline``: ``30s``, ``5m``; what bounds the check as a whole.
- ``required`` (True): whether its failure makes the verdict NOT READY.
- ``needs`` (none): ids of the same stage without which it makes no sense.
- ``gates`` (True): whether its failure blocks what the stage blocks.
- ``phase`` (that of the stage): ``"compare"`` for judgement over the measurements of all devices.

A check that takes ``device`` runs once per device, another one once per run.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from preflight.errors import CheckContractError
from preflight.quantities import parse_duration
from preflight.stages import BY_NAME, PHASES, STAGE_NAMES, Phase

MARKER = "check"
_ID = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")
_ARGUMENTS = ("id", "stage", "deadline", "required", "needs", "gates", "phase")
_EXAMPLE = '@pytest.mark.check(id="kernel.first", stage="kernel", deadline="60s")'


@dataclass(frozen=True, kw_only=True)
class CheckSpec:
    """A check as its marker, docstring and signature declare it."""

    id: str
    stage: str
    title: str
    """First sentence of the docstring, without its full stop."""
    deadline_s: float
    required: bool
    needs: tuple[str, ...]
    gates: bool
    phase: Phase
    per_device: bool
    where: str
    """``checks/check_030_kernel.py:12``."""


def read_spec(function: Callable[..., Any], marker: Any, where: str) -> CheckSpec:
    """The spec of a check function and its pytest mark (None where it has none).

    Raises CheckContractError, naming ``where``, for what breaks the contract.
    """
    if marker is None:
        raise _refusal("a check needs a marker", where, f"write {_EXAMPLE} above it")
    if marker.args:
        raise _refusal("the check marker takes keywords only", where, f"write {_EXAMPLE}")
    values: Mapping[str, Any] = marker.kwargs
    unknown = sorted(set(values) - set(_ARGUMENTS))
    if unknown:
        raise _refusal(
            f"the check marker has no argument {unknown[0]!r}",
            where,
            "it takes " + ", ".join(_ARGUMENTS),
        )
    stage = _stage(values, where)
    per_device = "device" in inspect.signature(function).parameters
    phase = values.get("phase", stage.phase)
    if phase not in PHASES:
        raise _refusal(f"phase {phase!r} is none", where, "phases are " + ", ".join(PHASES))
    if phase == "devices" and not per_device:
        raise _refusal(
            f"a check of stage {stage.name} runs once per device",
            where,
            "give it an argument named device",
        )
    return CheckSpec(
        id=_id(values, stage.name, where),
        stage=stage.name,
        title=_title(function, where),
        deadline_s=_deadline(values, where),
        required=bool(values.get("required", True)),
        needs=_needs(values, where),
        gates=bool(values.get("gates", True)),
        phase=phase,
        per_device=per_device,
        where=where,
    )


def refuse_duplicates(specs: list[CheckSpec]) -> None:
    """Raise CheckContractError when two checks have one id, naming both places."""
    seen: dict[str, CheckSpec] = {}
    for spec in specs:
        first = seen.setdefault(spec.id, spec)
        if first.where != spec.where:
            raise _refusal(
                f"the id {spec.id!r} is taken by {first.where}",
                spec.where,
                "an id names one check for ever: choose another one",
            )


def _refusal(what: str, where: str, mend: str) -> CheckContractError:
    return CheckContractError(what, where=where, mend=mend)


def _stage(values: Mapping[str, Any], where: str) -> Any:
    name = values.get("stage")
    if name not in BY_NAME:
        raise _refusal(
            f"stage {name!r} is not on the path", where, "stages are " + ", ".join(STAGE_NAMES)
        )
    return BY_NAME[name]


def _id(values: Mapping[str, Any], stage: str, where: str) -> str:
    name = values.get("id")
    if not isinstance(name, str) or not _ID.fullmatch(name) or not name.startswith(stage + "."):
        raise _refusal(
            f"the id {name!r} is not <stage>.<fact>",
            where,
            f'write an id such as "{stage}.some_fact": lower case, digits, underscores',
        )
    return name


def _title(function: Callable[..., Any], where: str) -> str:
    text = inspect.getdoc(function) or ""
    first = re.split(r"(?<=[.!?])\s|\n\s*\n", text.strip(), maxsplit=1)[0]
    title = " ".join(first.split()).rstrip(".")
    if not title:
        raise _refusal(
            "a check needs a docstring", where, "its first sentence is the title in every report"
        )
    return title


def _needs(values: Mapping[str, Any], where: str) -> tuple[str, ...]:
    needs = values.get("needs", ())
    if isinstance(needs, str) or not all(isinstance(name, str) for name in needs):
        raise _refusal(
            f"needs is {needs!r}, not ids in a tuple", where, 'write needs=("kernel.first",)'
        )
    return tuple(needs)


def _deadline(values: Mapping[str, Any], where: str) -> float:
    text = values.get("deadline")
    try:
        return parse_duration(str(text))
    except ValueError as error:
        raise _refusal(f"deadline {text!r}: {error}", where, f"write {_EXAMPLE}") from error
