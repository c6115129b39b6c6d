"""Stage forward: values of a transformer, a convolution and attention against float64."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.harness import Result, Situation, measure_errors

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
    entries = answer["entries"]
    for entry in (one for one in entries if "absent" in one):
        result.attach(f"{entry['backend']} {entry['dtype']} is left out: {entry['absent']}")
    present = {f"{e['backend']} {e['dtype']}": e for e in entries if "absent" not in e}
    measure_errors(result, present)
    result.note(", ".join(dict.fromkeys(entry["backend"] for entry in present.values())))


def _judge(result: Result, answer: dict[str, Any]) -> None:
    result.advise(WRONG)
    measure_errors(result, {entry["dtype"]: entry for entry in answer["entries"]})
    result.note(", ".join(entry["dtype"] for entry in answer["entries"]))
