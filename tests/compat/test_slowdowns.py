"""What holds a clock back, in either spelling."""

from __future__ import annotations

import pytest

from preflight.compat.slowdowns import ACTIONS, SLOWDOWNS, plain_reason


@pytest.mark.parametrize(
    ("word", "plain"),
    [
        ("Idle", "gpu idle"),
        ("gpu_idle", "gpu idle"),
        ("SW Power Cap", "sw power cap"),
        ("HW  Thermal Slowdown", "hw thermal slowdown"),
        ("hw power brake", "hw power brake slowdown"),
        ("None", ""),
        ("unknown (0x800)", "unknown (0x800)"),
    ],
)
def test_spellings(word: str, plain: str) -> None:
    """Words of nvidia-smi and of the API are one."""
    assert plain_reason(word) == plain


def test_every_fault_has_an_action() -> None:
    """What warns or fails says what to do."""
    faults = {word for word, reason in SLOWDOWNS.items() if reason.grade != "none"}
    assert faults == set(ACTIONS)
