"""Stage system: clocks, heat and power of the cards at rest."""

from __future__ import annotations

import pytest

from preflight.compat.neighbours import upper_bound
from preflight.compat.slowdowns import ACTIONS, SLOWDOWNS, SOURCE, plain_reason
from preflight.facts import known
from preflight.harness import Result, Situation, Survey
from preflight.records import Limit

SHARE_OF_LIMIT = 0.5
"""A card below half its limit is not held back by that limit: somebody else caps it."""
MARGIN_C = 5.0
"""A card this near its slowdown at rest slows down under load; loads add far more than that."""
SENSOR_STEP_C = 1.0
"""NVML and hwmon tell whole degrees."""
FEW_C = 20.0
"""Allowed between fewer than five cards, which tell no spread: front and back of one chassis."""
SHARE_OF_POWER = 0.9
"""Variants of a product differ by more than a tenth, rounding by less."""
COOLING = "show the seller this report: cooling of this card is to be checked"
UNCAP = "have the limit restored (nvidia-smi -pl, rocm-smi --setpoweroverdrive, or by the seller)"


@pytest.mark.check(id="system.throttling", stage="system", deadline="10s")
def check_throttling(situation: Situation, result: Result) -> None:
    """Nothing but rest holds the clocks back."""
    survey = Survey.of_cards(situation, result)
    reasons = survey.ask("what slows the clock", lambda card: card.clocks.slowed_by)
    harmless = set()
    for name, words in reasons.items():
        plain = [plain_reason(word) for word in words]
        for reason in filter(None, plain):
            slowdown = SLOWDOWNS.get(reason)
            if slowdown is None or slowdown.grade == "none":
                harmless.add(reason)
                continue
            tell = survey.fail if slowdown.grade == "fail" else survey.warn
            tell(name, f"{reason}: {slowdown.means} ({SOURCE})", ACTIONS[reason])
        if "sw power cap" in plain and "gpu idle" not in plain:
            _judge_cap(survey, name)
    survey.settle(", ".join(sorted(harmless)) or "the clocks are free")


def _judge_cap(survey: Survey, name: str) -> None:
    """A power cap at work is normal near the limit, and a sign of another cap far below it."""
    card = next(card for card in survey.cards if card.device == name)
    draw_W, limit_W = known(card.power.draw_W), known(card.power.limit_W)
    if draw_W is not None and limit_W is not None and draw_W < SHARE_OF_LIMIT * limit_W:
        what = f"sw power cap at {draw_W:.0f} W, with a limit of {limit_W:.0f} W"
        survey.warn(name, what, "ask the seller what caps the power of this card or node")


@pytest.mark.check(id="system.temperature", stage="system", deadline="10s")
def check_temperature(situation: Situation, result: Result) -> None:
    """No card at rest is near its slowdown, or far hotter than its neighbours."""
    survey = Survey.of_cards(situation, result)
    heat = survey.ask("temperature", lambda card: card.temperature.card_C)
    slowdown = survey.glance("slowdown", lambda card: card.temperature.slowdown_C)
    told = set()
    for name, at_C in heat.items():
        top_C = slowdown.get(name)
        limit = None
        if top_C is not None:
            limit = Limit(value=top_C, op="<", source="where the card begins to slow itself down")
        if top_C is not None and at_C >= top_C - MARGIN_C:
            told.add(name)
            tell = survey.fail if at_C >= top_C else survey.warn
            tell(name, f"{at_C:.0f} C at rest, and it slows down at {top_C:.0f} C", COOLING)
        survey.measure(f"{name} temperature", at_C, "C", limit)
    for group in survey.alike(heat):
        bound = upper_bound(group.values(), resolution=SENSOR_STEP_C, few=FEW_C)
        for name, at_C in group.items():
            if bound is not None and at_C > bound.value and name not in told:
                what = f"{at_C:.0f} C at rest, above its neighbours ({bound.rule})"
                survey.warn(name, what, COOLING)
    hottest = max(heat.values(), default=0.0)
    survey.settle(f"{min(heat.values()):.0f} to {hottest:.0f} C" if heat else "")


@pytest.mark.check(id="system.power", stage="system", deadline="10s")
def check_power(situation: Situation, result: Result) -> None:
    """No card's power is capped below what it is sold with."""
    survey = Survey.of_cards(situation, result)
    limits = survey.ask("power limit", lambda card: card.power.limit_W)
    defaults = survey.glance("default power limit", lambda card: card.power.default_limit_W)
    draws = survey.glance("power draw", lambda card: card.power.draw_W)
    for name, draw_W in draws.items():
        survey.measure(f"{name} power at rest", draw_W, "W")
    for name, limit_W in limits.items():
        survey.measure(f"{name} power limit", limit_W, "W")
        default_W = defaults.get(name, limit_W)
        if limit_W < default_W:
            what = f"limited to {limit_W:.0f} W, its default is {default_W:.0f} W"
            survey.warn(name, what, UNCAP)
        _judge_default(survey, name, default_W)
    for group in survey.alike(limits):
        most_W = max(group.values())
        for name, limit_W in group.items():
            if limit_W < most_W and limit_W >= defaults.get(name, limit_W):
                what = f"limited to {limit_W:.0f} W, its neighbours to {most_W:.0f} W"
                survey.warn(name, what, UNCAP)
    survey.settle(", ".join(f"{limit_W:.0f} W" for limit_W in sorted(set(limits.values()))))


def _judge_default(survey: Survey, name: str, default_W: float) -> None:
    """Compare the limit as delivered with the catalogue; two devices of one card share theirs."""
    product = survey.product(name)
    if product is None or product.devices_per_card > 1 or "power_W" in product.unverified:
        return
    if product.power_W is not None and default_W < SHARE_OF_POWER * product.power_W:
        survey.warn(
            name,
            f"delivered with {default_W:.0f} W, {product.name} has {product.power_W:.0f} W",
            "ask the seller which variant of the product this is",
        )


@pytest.mark.check(id="system.persistence", stage="system", deadline="10s")
def check_persistence(situation: Situation, result: Result) -> None:
    """The driver stays loaded between programs, or on no card."""
    survey = Survey.of_cards(situation, result)
    persistent = survey.ask("persistence mode", lambda card: card.persistence)
    off = [name for name, is_on in persistent.items() if not is_on]
    if off and len(off) < len(persistent):
        action = "have it switched on (nvidia-smi -pm 1, or nvidia-persistenced)"
        for name in off:
            survey.warn(name, "persistence is off, and on for the others", action)
    survey.settle("off: each first program waits for the driver to start" if off else "on")
