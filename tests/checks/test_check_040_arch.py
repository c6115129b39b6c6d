"""The judgement of torch's architecture list."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.events import Environment
from preflight.harness.result import Result
from preflight.records import Versions

from .situations import asking, card, environment, judged, load, never, rehearsal, situation

arch = load("check_040_arch.py")


def judge(answer: Environment, **fields: Any) -> Result:
    """The judgement of one card against what torch answers."""
    return judged(arch.check_torch, card(0, **fields), situation(), ask_torch=asking(answer))


def test_code_for_this_card() -> None:
    """An architecture that the list serves passes, and says by which list."""
    result = judge(environment())
    assert (result.status, result.reason) == ("pass", "sm_90 in sm_80 sm_90 sm_100")
    assert "gpu0 is sm_90" in result.evidence


def test_an_amd_card_with_features() -> None:
    """A gfx target is matched by its processor."""
    answer = environment(
        torch="2.9.0+rocm6.4", cuda=None, hip="6.4", arch_list=["gfx90a", "gfx942"]
    )
    assert judge(answer, kind="hip", architecture="gfx942").status == "pass"


def test_no_code_for_this_card() -> None:
    """A card that no entry serves fails, with list, product and what to install."""
    result = judge(environment(arch_list=["sm_80", "sm_86"]))
    assert result.status == "fail"
    assert result.reason == ("torch 2.13.0+cu130 has sm_80 sm_86; NVIDIA H100 80GB HBM3 is sm_90")
    assert result.action == "install a torch built for sm_90"


@pytest.mark.parametrize(
    ("answer", "fields", "words"),
    [
        (
            Environment(versions=Versions(), failed=True, cause="No module named 'torch'"),
            {},
            "torch does not import",
        ),
        (environment(arch_list=[]), {}, "torch holds no device code"),
        (environment(), {"architecture": None}, "does not tell the architecture"),
    ],
)
def test_what_cannot_be_judged_is_skipped(
    answer: Environment, fields: dict[str, Any], words: str
) -> None:
    """Without a torch, a list or an architecture there is nothing to compare."""
    result = judge(answer, **fields)
    assert result.status == "skip" and words in result.reason


def test_a_rehearsal_has_no_architecture() -> None:
    """On the CPU the check is skipped, and torch is not asked."""
    result = judged(arch.check_torch, card(0), rehearsal(), ask_torch=never)
    assert (result.status, result.reason) == ("skip", "a rehearsal has no cards")
