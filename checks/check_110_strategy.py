"""Stage strategy: the sharded layouts train a small model like one process."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from preflight.harness import Result, Situation, at_most
from preflight.plan import Plan

STEPS = {"quick": 3, "standard": 10}
WRONG = (
    "training on several ranks is not the training of one: look at the first step and parameter in "
    "the evidence; if collective.* passes, another torch version is worth a try"
)


EXERCISED = frozenset({"single", "ddp", "fsdp2"})


@pytest.mark.check(id="strategy.plan", stage="strategy", deadline="10s", required=False)
def check_plan(plan: Plan, result: Result) -> None:
    """The plan's layout is among those that the checks below carry out."""
    if plan.strategy.kind is None:
        result.skip("no plan says how the ranks share the work")
    others = sorted(set(plan.strategy.kind.split("+")) - EXERCISED)
    if others:
        result.warn(
            f"the plan trains with {plan.strategy.kind}; {', '.join(others)} is not exercised yet, "
            "ddp and fsdp2 are",
            "try the campaign's own first steps before you rely on it",
        )
    result.note(plan.strategy.kind)


@pytest.mark.check(id="strategy.ddp", stage="strategy", deadline="180s")
def check_ddp(ranks: Any, result: Result, situation: Situation) -> None:
    """DistributedDataParallel gives the losses and gradients of one process, in float64."""
    _train("ddp", ranks, result, situation)


@pytest.mark.check(id="strategy.fsdp2", stage="strategy", deadline="180s")
def check_fsdp2(ranks: Any, result: Result, situation: Situation) -> None:
    """FSDP2 gives the losses and gradients of one process, in float64, on divided parameters."""
    answers = _train("fsdp2", ranks, result, situation)
    whole = answers[0]["all_numbers"]
    largest = max(answer["held_numbers"] for answer in answers)
    result.measure("largest share of the parameters on a rank", largest / whole, "1")
    if len(answers) > 1 and largest >= whole:
        result.fail("every rank holds all parameters: nothing is sharded")


def _train(name: str, ranks: Any, result: Result, situation: Situation) -> list[dict[str, Any]]:
    """Train on all ranks, judge every step on every rank; the answers by rank."""
    options = situation.options
    answers: list[dict[str, Any]] = ranks(
        f"layouts.{name}",
        seed=options.seed,
        steps=STEPS[options.level],
        level=options.level,
    )
    result.advise(WRONG)
    if "absent" in answers[0]:
        result.skip(answers[0]["absent"])
    ratios = [answer["ratio"] for answer in answers]
    worst = ratios.index(None) if None in ratios else ratios.index(max(ratios))
    shown = answers[worst]
    limit = at_most(1, shown["source"])
    others_are_right = all(
        ratio is not None and ratio <= 1 for rank, ratio in enumerate(ratios) if rank != worst
    )  # else the worst rank may well be the one that got what another broke
    if ratios[worst] is None or ratios[worst] > 1:
        step = max(shown["steps"], key=lambda s: inf if s["ratio"] is None else s["ratio"])
        result.fail(
            f"step {step['step']} leaves the training of one process, most in {step['worst']}",
            rank=worst if len(ratios) > 1 and others_are_right else None,
        )
    result.measure("worst error over bound", ratios[worst], "1", limit=limit)
    result.measure("seconds", max(answer["seconds"] for answer in answers), "s")
    steps = shown["steps"]
    axes = {"x": "step", "y": "loss", "x_unit": "1", "y_unit": "nat"}
    result.draw(
        f"{name} loss", [(s["step"], s["loss"]) for s in steps if s["loss"] is not None], **axes
    )
    result.draw("one process", [(s["step"], s["reference_loss"]) for s in steps], **axes)
    for step in steps:
        result.attach(
            f"step {step['step']}: loss {step['loss']} against {step['reference_loss']}, "
            f"gradient error {step['gradient_error']} (bound {step['gradient_bound']}), "
            f"worst {step['worst']}"
        )
    result.note(f"{len(answers)} ranks, {len(steps)} steps, loss {steps[-1]['loss']:.4g}")
    return answers
