"""Stage system: errors of the cards' memory, and what the driver asks for because of them."""

from __future__ import annotations

import pytest

from preflight.compat.neighbours import TIMES_THE_OTHERS, unlikely_counts
from preflight.harness import Result, Situation, Survey, exactly

SOURCE = "NVIDIA GPU memory error management, uncorrected errors"
ROWS_SOURCE = "NVIDIA GPU memory error management, row remapping"
MOST_RETIRED_PAGES = 60
"""DCGM, dcgm_gpu_hardware_limits.h, DCGM_LIMIT_MAX_RETIRED_PAGES: more is a hardware fault."""
REPLACE = "show the seller this report and ask for another card"
RESET = "have the card reset before the campaign (nvidia-smi --gpu-reset, or by the seller)"
RECOVERIES = {
    "gpu reset": "have the card reset (nvidia-smi --gpu-reset, or by the seller)",
    "node reboot": "have the node rebooted by the seller",
    "drain p2p": "end all work on the cards that talk to it, then have it reset",
    "drain and reset": "end all work on it, then have it reset",
}
"""NVML, nvmlDeviceGpuRecoveryAction, in words for a renter."""


@pytest.mark.check(id="system.ecc", stage="system", deadline="10s")
def check_ecc(situation: Situation, result: Result) -> None:
    """The memory of the cards had no error that was not corrected, and ECC is on."""
    survey = Survey.of_cards(situation, result)
    enabled = survey.ask("ECC", lambda card: card.ecc.enabled)
    pending = survey.glance("pending ECC", lambda card: card.ecc.pending)
    now = survey.ask("uncorrected errors", lambda card: card.ecc.uncorrected)
    ever = survey.glance("lifetime errors", lambda card: card.ecc.lifetime_uncorrected)
    for name, count in now.items():
        if count:
            survey.fail(
                name, f"{count} uncorrected memory errors since the driver started", REPLACE
            )
        limit = exactly(0, SOURCE)
        survey.measure(f"{name} uncorrected errors", count, "1", limit)
    for name, count in ever.items():
        survey.measure(f"{name} lifetime uncorrected errors", count, "1")
        if count and not now.get(name):
            action = "see system.rows; if the count grows during the campaign, ask for another card"
            survey.warn(name, f"{count} uncorrected memory errors in its life", action)
    _judge_corrected(survey)
    for name, is_on in enabled.items():
        product = survey.product(name)
        if not is_on and product is not None and product.data_center:
            action = "have ECC switched on (nvidia-smi -e 1, and a reboot)"
            survey.warn(name, "ECC is off: errors of memory go unseen", action)
        if pending.get(name, is_on) != is_on:
            word = "on" if pending[name] else "off"
            survey.warn(name, f"ECC will be {word} after the next reboot", "reboot, then run again")
    on = sum(enabled.values())
    survey.settle(f"ECC is on for {on} of {len(survey.cards)} cards")
    if on and not now and result.status == "pass":
        result.skip("ECC is on, and no card tells its error counts here")


def _judge_corrected(survey: Survey) -> None:
    """Corrected errors cost nothing; a card with far more than its neighbours is worth a word."""
    corrected = survey.glance("corrected errors", lambda card: card.ecc.corrected)
    for name, count in corrected.items():
        survey.measure(f"{name} corrected errors", count, "1")
    for group in survey.alike(corrected):
        for name, others in unlikely_counts(group).items():
            survey.warn(
                name,
                f"{group[name]} corrected memory errors, {TIMES_THE_OTHERS:g} times the others' "
                f"median of {others:g} or more",
                "watch it; the driver itself logs XID 92 where the rate is too high",
            )


@pytest.mark.check(id="system.rows", stage="system", deadline="10s")
def check_rows(situation: Situation, result: Result) -> None:
    """Bad rows or pages of memory were replaced by spare ones, and spare ones are left."""
    survey = Survey.of_cards(situation, result)
    failed = survey.ask("row remapping", lambda card: card.remapped.failed)
    pending = survey.glance("pending rows", lambda card: card.remapped.pending)
    remapped = survey.glance("remapped rows", lambda card: card.remapped.uncorrected)
    spent = survey.glance("spare rows", lambda card: card.remapped.banks_without_spares)
    for name, has_failed in failed.items():
        if has_failed:
            survey.fail(name, "a bad row of memory could not be replaced", REPLACE)
        survey.measure(f"{name} failed remappings", int(has_failed), "1", exactly(0, ROWS_SOURCE))
    for name, waits in pending.items():
        if waits:
            survey.warn(name, "a bad row of memory waits for a reset to be replaced", RESET)
    for name, count in remapped.items():
        survey.measure(f"{name} rows remapped for uncorrected errors", count, "1")
    for name, banks in spent.items():
        if banks:
            action = "the next bad row there cannot be replaced: ask the seller for another card"
            survey.warn(name, f"banks of memory without a spare row: {banks}", action)
    _judge_pages(survey)
    replaced = sum(remapped.values())
    survey.settle(f"{replaced} rows replaced" if failed else "")


def _judge_pages(survey: Survey) -> None:
    """Cards before Ampere retire pages instead."""
    for name, waits in survey.ask("retired pages", lambda card: card.retired.pending).items():
        if waits:
            survey.warn(name, "a bad page of memory waits for a reset to be retired", RESET)
    doubles = survey.glance("retired pages", lambda card: card.retired.double_bit)
    singles = survey.glance("retired pages", lambda card: card.retired.single_bit)
    for name in doubles.keys() | singles.keys():
        pages = doubles.get(name, 0) + singles.get(name, 0)
        survey.measure(f"{name} retired pages", pages, "1")
        if pages >= MOST_RETIRED_PAGES:
            survey.fail(name, f"{pages} pages of memory are retired", REPLACE)


@pytest.mark.check(id="system.recovery", stage="system", deadline="10s")
def check_recovery(situation: Situation, result: Result) -> None:
    """No driver asks for a reset or repair of its card."""
    survey = Survey.of_cards(situation, result)
    asked = survey.ask("recovery action", lambda card: card.recovery_action)
    repair = survey.ask("repair", lambda card: card.repair)
    for name, action in asked.items():
        if action != "none":
            mend = RECOVERIES.get(action, f"show the seller this report: {action!r} is asked for")
            survey.fail(name, f"the driver asks for: {action}", mend)
    for name, waits in repair.items():
        if waits != "none":
            survey.warn(name, f"a repair of memory waits: {waits}", RESET)
    survey.settle("nothing is asked for")
