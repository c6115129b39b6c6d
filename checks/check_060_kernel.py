"""Stage kernel: the first kernel, then matrix products and reductions per dtype."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.harness import Result, Situation, at_most, exactly

DATA_FAULT = (
    "the card computes wrong numbers: run this stage again; if it stays on this card alone, ask "
    "for another card and attach this report"
)


@pytest.mark.check(id="kernel.first", stage="kernel", deadline="90s")
def check_first(device: Any, probe: Any, result: Result) -> None:
    """The first kernel launches and every element it writes is right."""
    answer = probe("kernel.first")
    result.advise(DATA_FAULT)
    result.measure("context", answer["context_s"], "s")
    result.measure("first launch", answer["launch_s"], "s")
    if answer["wrong"]:
        result.fail(f"{answer['wrong']} of {answer['elements']} elements are wrong")
        result.attach(f"first wrong element: {answer['first_wrong']}")
    result.measure("wrong elements", answer["wrong"], "1", limit=exactly(0, answer["source"]))


@pytest.mark.check(id="kernel.matmul", stage="kernel", deadline="180s", needs=("kernel.first",))
def check_matmul(device: Any, probe: Any, result: Result, situation: Situation) -> None:
    """Matrix products agree with float64 within the bound of each dtype."""
    answer = probe("kernel.matmul", level=situation.options.level)
    result.advise(DATA_FAULT)
    present = [entry for entry in answer["entries"] if "absent" not in entry]
    for entry in present:
        name = entry["dtype"]
        result.measure(
            f"{name} error over bound", entry["ratio"], "1", limit=at_most(1, entry["source"])
        )
        _attach_wrong(result, name, entry["shapes"])
        speed = entry["tflops"]
        unit = "TOP/s" if name.startswith("int") else "TFLOP/s"
        result.measure(
            f"{name} {entry['square']}³",
            speed["median"],
            unit,
            n=speed["n"],
            p10=speed["p10"],
            p90=speed["p90"],
        )
    _attach_absent(result, answer["entries"])
    result.note(", ".join(entry["dtype"] for entry in present))


@pytest.mark.check(id="kernel.reduction", stage="kernel", deadline="120s", needs=("kernel.first",))
def check_reduction(device: Any, probe: Any, result: Result, situation: Situation) -> None:
    """Sum, mean and softmax agree with float64 within the bound of each dtype."""
    answer = probe("kernel.reduction", level=situation.options.level)
    result.advise(DATA_FAULT)
    for entry in answer["entries"]:
        name = f"{entry['operation']} {entry['dtype']}"
        result.measure(
            f"{name} error over bound", entry["ratio"], "1", limit=at_most(1, entry["source"])
        )
        _attach_wrong(result, name, [{"shape": answer["shape"], **entry}])
    result.note(f"{len(answer['entries'])} cases")


def _attach_wrong(result: Result, name: str, shapes: list[dict[str, Any]]) -> None:
    for shape in shapes:
        if shape["wrong"]:
            result.attach(
                f"{name} of shape {shape['shape']}: {shape['wrong']} of {shape['elements']} "
                f"elements are wrong, the first: {shape['first_wrong']}"
            )


def _attach_absent(result: Result, entries: list[dict[str, Any]]) -> None:
    for entry in entries:
        if "absent" in entry:
            result.attach(f"{entry['dtype']} is left out: {entry['absent']}")
