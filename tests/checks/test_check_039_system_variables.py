"""The judgement of the environment's variables."""

from __future__ import annotations

import pytest

from preflight.plan import decode_plan

from .machines import HEALTHY, eight_h100, look, sole_alarm, spoiled


@pytest.mark.parametrize(
    ("variable", "status"),
    [
        (("NCCL_P2P_DISABLE", "1"), "warn"),
        (("NCCL_IB_DISABLE", "1"), "warn"),
        (("NCCL_SHM_DISABLE", "1"), "warn"),
        (("NCCL_NET", "Socket"), "warn"),
        (("NCCL_NVLS_ENABLE", "0"), "warn"),
        (("NCCL_SOCKET_IFNAME", "docker0"), "warn"),
        (("CUDA_LAUNCH_BLOCKING", "1"), "warn"),
        (("AMD_SERIALIZE_KERNEL", "3"), "warn"),
        (("HSA_OVERRIDE_GFX_VERSION", "11.0.0"), "warn"),
        (("PYTORCH_NO_CUDA_MEMORY_CACHING", "1"), "warn"),
        (("TORCH_NCCL_BLOCKING_WAIT", "1"), "warn"),
        (("CUDA_VISIBLE_DEVICES", ""), "fail"),
    ],
)
def test_a_variable_that_closes_a_path(variable: tuple[str, str], status: str) -> None:
    """It is named with its value, what it does, who says so, and how to mend it."""
    name, value = variable
    facts = {"machine.environment": {name: value}}
    check = sole_alarm(eight_h100(), facts, "system.variables")
    assert check.status == status
    assert check.reason.startswith(f"{name}={value}: ") and check.reason.endswith(")")
    assert "unset it" in check.action


def test_several_variables_are_told_together() -> None:
    """Each with its own words."""
    environment = {"NCCL_P2P_DISABLE": "1", "NCCL_IB_DISABLE": "1", "NCCL_DEBUG": "INFO"}
    check = look("system.variables", spoiled(eight_h100(), {"machine.environment": environment}))
    assert "NCCL_P2P_DISABLE=1" in check.reason and "NCCL_IB_DISABLE=1" in check.reason
    assert "NCCL_DEBUG" not in check.reason


def test_what_the_plan_sets_is_expected() -> None:
    """The same value as in [software] env is a note; another one is not what was planned."""
    machine = spoiled(eight_h100(), {"machine.environment": {"NCCL_P2P_DISABLE": "1"}})
    machine.plan = decode_plan('[software]\nenv = { NCCL_P2P_DISABLE = "1" }\n', where="plan.toml")
    check = look("system.variables", machine)
    assert (check.status, check.reason) == ("pass", "NCCL_P2P_DISABLE=1: the plan sets it")
    machine.plan = decode_plan('[software]\nenv = { NCCL_P2P_DISABLE = "0" }\n', where="plan.toml")
    assert look("system.variables", machine).status == "warn"


def test_a_variable_that_only_steers_is_a_note() -> None:
    """It stands beside the pass."""
    facts = {"machine.environment": {"HSA_XNACK": "1"}}
    check = look("system.variables", spoiled(eight_h100(), facts))
    assert check.status == "pass" and check.reason.startswith("HSA_XNACK=1: ")


def test_a_rehearsal_has_no_cards_to_hide() -> None:
    """CI images hide cards on purpose; what steers any program still counts."""
    facts = {"machine.environment": {"CUDA_VISIBLE_DEVICES": "", "NCCL_P2P_DISABLE": "1"}}
    assert look("system.variables", spoiled(HEALTHY["rehearsal"](), facts)).status == "pass"
    facts = {"machine.environment": {"TORCHDYNAMO_DISABLE": "1"}}
    assert look("system.variables", spoiled(HEALTHY["rehearsal"](), facts)).status == "warn"
