"""Stage forward: values of a transformer, a convolution and attention against float64."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.harness import Result, Situation, at_most

WRONG = (
    "the forward pass leaves float64 further than rounding explains: run again; if one card alone "
    "does so, ask for another; if all do, try another torch or cuDNN"
)


@pytest.mark.check(id="forward.transformer", stage="forward", deadline="180s")
def check_transformer(device: Any, probe: Any, result: Result, situation: Situation) -> None:
    """A decoder-only transformer agrees with float64 in each dtype."""
    _judge(result, probe("forward.transformer", level=situation.options.level))


@pytest.mark.check(id="forward.convolution", stage="forward", deadline="180s")
def check_convolution(device: Any, probe: Any, result: Result, situation: Situation) -> None:
    """A convolution network agrees with float64 in each dtype."""
    _judge(result, probe("forward.convolution", level=situation.options.level))


@pytest.mark.check(id="forward.attention", stage="forward", deadline="180s")
def check_attention(device: Any, probe: Any, result: Result, situation: Situation) -> None:
    """Each attention backend that the device has agrees with float64."""
    answer = probe("forward.attention", level=situation.options.level)
    result.advise(WRONG)
    present: dict[str, None] = {}
    for entry in answer["entries"]:
        name = f"{entry['backend']} {entry['dtype']}"
        if "absent" in entry:
            result.attach(f"{name} is left out: {entry['absent']}")
            continue
        present[entry["backend"]] = None
        _measure(result, name, entry)
    result.note(", ".join(present))


def _judge(result: Result, answer: dict[str, Any]) -> None:
    result.advise(WRONG)
    for entry in answer["entries"]:
        _measure(result, entry["dtype"], entry)
    result.note(", ".join(entry["dtype"] for entry in answer["entries"]))


def _measure(result: Result, name: str, entry: dict[str, Any]) -> None:
    limit = at_most(1, entry["source"])
    result.measure(f"{name} error over bound", entry["ratio"], "1", limit=limit)
    result.attach(
        f"{name}: worst in {entry['worst']}, relative error {entry['error']}, "
        f"bound {entry['bound']}"
    )
