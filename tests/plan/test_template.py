"""The plan that ``preflight init`` writes."""

from __future__ import annotations

import re

import pytest

from preflight.plan import Plan, decode_plan
from preflight.plan.reading import accepted_keys
from preflight.plan.tables import TABLES
from preflight.plan.template import MachineFacts, render_plan

FOUND = MachineFacts(
    product="NVIDIA B200",
    gpus=2,
    memory_GB=179.5,
    link="nvlink",
    host="node-a",
    python="3.12.4",
    extensions=("flash_attn", "apex.amp"),
)


def _uncommented(text: str) -> str:
    """The plan with its examples taken for values."""
    return re.sub(r'(?m)^# ("[^"]+" = |\S+ = )', r"\1", text)


def test_what_was_found_stands_in_the_plan() -> None:
    """The file says what the machine has, and can be used as it is."""
    text = render_plan(FOUND)
    plan = decode_plan(text, where="plan.toml")
    assert (plan.order.gpu, plan.order.gpus) == ("NVIDIA B200", 2)
    assert (plan.order.memory_GB, plan.order.link) == (179.5, "nvlink")
    assert plan.software.python == "3.12.4"
    assert [extension.module for extension in plan.software.extensions] == [
        "flash_attn",
        "apex.amp",
    ]
    assert "Filled in from node-a" in text


def test_nothing_found_gives_a_plan_that_says_nothing() -> None:
    """Examples are comments: none of them is taken for a wish of the user."""
    text = render_plan(MachineFacts())
    assert decode_plan(text, where="plan.toml") == Plan()
    assert "Filled in" not in text


@pytest.mark.parametrize("facts", [FOUND, MachineFacts()], ids=["found", "nothing"])
def test_every_key_stands_with_a_value_and_its_meaning(facts: MachineFacts) -> None:
    """Whoever reads the file sees all that a plan may say."""
    lines = render_plan(facts).splitlines()
    for name in TABLES:
        assert f"[{name}]" in lines
        for key in accepted_keys(name):
            found = [line for line in lines if re.match(rf"(# )?{key} = .+  # \w", line)]
            found = found or [line for line in lines if re.match(rf'(# )?{key} = .+  # "', line)]
            assert found, key
    assert any(line.startswith('# "all-reduce') for line in lines)


def test_every_example_is_accepted() -> None:
    """A user who takes away the # signs has a valid plan."""
    plan = decode_plan(_uncommented(render_plan(MachineFacts())), where="plan.toml")
    assert (plan.order.reference, plan.order.gpus) == ("ORD-1042", 2)
    assert plan.limits.floors == {"all-reduce bus bandwidth, largest": 400.0}
    assert plan.required.stages == ("compile",)


@pytest.mark.parametrize(
    "facts",
    [
        MachineFacts(product='B200"\n[evil]'),
        MachineFacts(product="2xB200"),
        MachineFacts(product=""),
        MachineFacts(gpus=0),
        MachineFacts(memory_GB=float("nan")),
        MachineFacts(memory_GB=0.0),
        MachineFacts(link="sli"),
        MachineFacts(python="3.13.0rc1"),
        MachineFacts(extensions=("not a name",)),
        MachineFacts(host="a\n[evil]\x1b[31m\u2028\ud800"),
    ],
    ids=lambda facts: repr(facts)[13:40],
)
def test_a_fact_that_no_plan_can_hold_is_left_as_an_example(facts: MachineFacts) -> None:
    """Whatever the driver says, the file can be read."""
    text = render_plan(facts)
    assert decode_plan(text, where="plan.toml") == Plan()
    text.encode()
    assert "\x1b" not in text


def test_one_unusable_extension_does_not_hide_the_others() -> None:
    """Each name is judged alone."""
    plan = decode_plan(render_plan(MachineFacts(extensions=("a b", "flash_attn"))), where="p")
    assert [extension.module for extension in plan.software.extensions] == ["flash_attn"]
