"""Stage backward: gradients against float64, and an optimizer that lowers the loss."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.harness import Result, Situation, at_most, measure_errors

WRONG = (
    "gradients leave float64 further than rounding explains: run again; if one card alone does so, "
    "ask for another; if all do, try another torch or cuDNN"
)


@pytest.mark.check(id="backward.gradients", stage="backward", deadline="240s")
def check_gradients(device: Any, probe: Any, result: Result, situation: Situation) -> None:
    """Every parameter's gradient agrees with float64 in each dtype."""
    answer = probe("backward.gradients", level=situation.options.level)
    result.advise(WRONG)
    measure_errors(result, {f"{e['model']} {e['dtype']}": e for e in answer["entries"]})
    models = dict.fromkeys(entry["model"] for entry in answer["entries"])
    dtypes = dict.fromkeys(entry["dtype"] for entry in answer["entries"])
    result.note(f"{' and '.join(models)} in {', '.join(dtypes)}")


@pytest.mark.check(id="backward.optimizer", stage="backward", deadline="120s")
def check_optimizer(device: Any, probe: Any, result: Result, situation: Situation) -> None:
    """Steps of an optimizer under autocast lower the loss and keep every parameter finite."""
    answer = probe("backward.optimizer", level=situation.options.level)
    result.advise(WRONG)
    losses = answer["losses"]
    result.draw("loss by step", enumerate(losses), x="step", y="loss", x_unit="1", y_unit="nat")
    step = answer["step_s"]
    result.measure(
        "optimizer step", step["median_s"], "s", n=step["n"], p10=step["p10_s"], p90=step["p90_s"]
    )
    if not answer["finite"] or None in losses:
        result.fail("a loss or a parameter is not finite")
        return
    source = "the loss before the first step, on the same batch"
    result.measure("loss after the last step", losses[-1], "nat", limit=at_most(losses[0], source))
    if not losses[-1] < losses[0]:
        result.fail(f"the loss went from {losses[0]:.4g} to {losses[-1]:.4g}")
    result.note(f"loss {losses[0]:.3g} to {losses[-1]:.3g} in {answer['steps']} steps")
