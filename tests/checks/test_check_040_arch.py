"""The judgement of torch's architecture list, and of the Triton beside it."""

from __future__ import annotations

from typing import Any

import pytest

from preflight.events import Environment
from preflight.harness.result import Result
from preflight.records import Versions

from .situations import (
    asking,
    b200,
    card,
    environment,
    judged,
    load,
    mi300x,
    never,
    rehearsal,
    situation,
)

arch = load("check_040_arch.py")
BLACKWELL = ["sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120"]


def judge(answer: Environment, **fields: Any) -> Result:
    """The judgement of one card against what torch answers."""
    return judged(arch.check_torch, card(0, **fields), situation(), ask_torch=asking(answer))


def v100(**fields: Any) -> Any:
    """One V100, which the catalogue does not have."""
    values = {"product": "Tesla V100-SXM2-32GB", "architecture": "sm_70", "memory_GiB": 31.73}
    return card(0, **{**values, **fields})


# -- torch's own code ------------------------------------------------------------------------------


def test_code_for_this_card() -> None:
    """An architecture that the list serves passes, and says by which list."""
    result = judge(environment())
    assert (result.status, result.reason) == ("pass", "sm_90 in sm_80 sm_90 sm_100")
    assert "gpu0 is sm_90" in result.evidence


def test_code_of_a_lower_minor_capability() -> None:
    """A B300 is not in the list and runs code for 10.0: a pass that says so."""
    answer = environment(arch_list=BLACKWELL)
    b300 = b200(0, product="NVIDIA B300 SXM6 AC", architecture="sm_103", memory_GiB=268.6)
    result = judged(arch.check_torch, b300, situation(), ask_torch=asking(answer))
    assert result.status == "pass"
    assert result.reason.startswith("sm_103 runs code for sm_100: ")


def test_an_amd_card_with_features() -> None:
    """A gfx target is matched by its processor."""
    answer = environment(
        torch="2.9.0+rocm6.4", cuda=None, hip="6.4", arch_list=["gfx90a", "gfx942"]
    )
    result = judged(arch.check_torch, mi300x(), situation(), ask_torch=asking(answer))
    assert (result.status, result.reason) == ("pass", "gfx942 in gfx90a gfx942")


def test_no_code_for_this_card() -> None:
    """A card that no entry serves fails, with list, product and a command of its release."""
    result = judge(environment(arch_list=["sm_80", "sm_86"]))
    assert result.status == "fail"
    assert result.reason == (
        "torch 2.13.0+cu130 on NVIDIA H100 80GB HBM3: code for sm_90 is not in sm_80 sm_86"
    )
    assert result.action == (
        "/opt/venv/bin/python -m pip install torch==2.13.0+cu130 "
        "--index-url https://download.pytorch.org/whl/cu130"
    )


def test_a_v100_is_told_of_the_index_that_has_volta() -> None:
    """The same release for another CUDA, into the interpreter under test."""
    answer = environment(arch_list=BLACKWELL)
    result = judged(arch.check_torch, v100(), situation(), ask_torch=asking(answer))
    assert result.status == "fail"
    assert result.action == (
        "/opt/venv/bin/python -m pip install torch==2.13.0+cu126 "
        "--index-url https://download.pytorch.org/whl/cu126"
    )


def test_an_old_driver_keeps_the_command_from_cuda_13() -> None:
    """The wheel that is named is one that this driver serves."""
    answer = environment(torch="2.6.0+cu124", cuda="12.4", arch_list=["sm_90"])
    old = b200(0, driver="570.133.20", driver_cuda="12.8")
    result = judged(arch.check_torch, old, situation(), ask_torch=asking(answer))
    assert result.status == "fail" and "/whl/cu128" in result.action


def test_the_interpreter_and_the_host_choose_the_wheel() -> None:
    """Python 3.10 gets no 2.15, an Arm host a wheel for it, a Thor a Triton that knows it."""
    answer = environment(torch="2.10.0+cu128", cuda="12.8", arch_list=["sm_90"])
    asked = Environment(
        versions=Versions(torch="2.10.0+cu128", cuda="12.8", python="3.10.2"),
        torch={**(answer.torch or {}), "machine": "aarch64", "glibc": "2.35"},
    )
    thor = card(0, product="NVIDIA Thor", architecture="sm_110", memory_GiB=122.8)
    result = judged(arch.check_torch, thor, situation(), ask_torch=asking(asked))
    assert "torch==2.14.1+cu130" in result.action


@pytest.mark.parametrize(
    ("driver_cuda", "status", "words"),
    [
        ("13.0", "warn", "compiles every kernel at its first use"),
        ("12.8", "fail", "it cannot compile it"),
        (None, "skip", "is not told"),
    ],
)
def test_a_card_that_only_ptx_serves(driver_cuda: str | None, status: str, words: str) -> None:
    """The driver must be as new as the CUDA that torch was built with."""
    answer = environment(arch_list=["sm_80", "compute_80"])
    result = judge(answer, driver_cuda=driver_cuda)
    assert result.status == status and words in result.reason


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
@pytest.mark.parametrize("check", [arch.check_torch, arch.check_triton])
def test_what_cannot_be_judged_is_skipped(
    check: Any, answer: Environment, fields: dict[str, Any], words: str
) -> None:
    """Without a torch, a list or an architecture there is nothing to compare."""
    result = judged(check, card(0, **fields), situation(), ask_torch=asking(answer))
    assert result.status == "skip" and words in result.reason


@pytest.mark.parametrize("check", [arch.check_torch, arch.check_triton])
def test_a_rehearsal_has_no_architecture(check: Any) -> None:
    """On the CPU the check is skipped, and torch is not asked."""
    result = judged(check, card(0), rehearsal(), ask_torch=never)
    assert (result.status, result.reason) == ("skip", "a rehearsal has no cards")


# -- Triton ----------------------------------------------------------------------------------------


def tool(version: str | None, error: str | None = None) -> dict[str, str | None]:
    """An assembler as the probe found it."""
    return {"path": "/opt/venv/triton/ptxas", "version": version, "error": error}


def triton(device: Any = None, **facts: Any) -> Result:
    """The judgement of a Triton on a B300, but for what is given."""
    b300 = b200(0, product="NVIDIA B300 SXM6 AC", architecture="sm_103", memory_GiB=268.6)
    values = {"arch_list": BLACKWELL, "triton": "3.7.1", **facts}
    answer = environment(**values)
    return judged(arch.check_triton, device or b300, situation(), ask_torch=asking(answer))


def test_a_triton_that_knows_the_card() -> None:
    """By the assembler that was found, or by the table where none was asked."""
    seen = {"ptxas": tool("12.8.93"), "ptxas-blackwell": tool("13.1.80")}
    result = triton(assemblers=seen)
    assert result.status == "pass"
    assert result.reason == "ptxas-blackwell of Triton 3.7.1, of CUDA 13.1, knows sm_103"
    assert "ptxas-blackwell: /opt/venv/triton/ptxas: 13.1.80" in result.evidence
    assert triton().status == "pass"


def test_a_triton_that_does_not_know_the_card_is_a_warning() -> None:
    """torch 2.9 on a B300 runs eager: no failure, and a newer torch is named."""
    result = triton(torch="2.9.1+cu130", triton="3.5.1", assemblers={"ptxas": tool("12.8.93")})
    assert result.status == "warn"
    assert "does not know sm_103: eager runs" in result.reason
    assert "/opt/venv/bin/python -m pip install torch==2." in result.action


def test_another_assembler_in_its_place_helps() -> None:
    """TRITON_PTXAS_PATH at CUDA 13.0 makes the same Triton compile for a B300."""
    result = triton(torch="2.9.1+cu130", triton="3.5.1", assemblers={"ptxas": tool("13.0.88")})
    assert result.status == "pass"


def test_an_assembler_that_does_not_run() -> None:
    """Unpacked without its executable bit, it fails whatever it knows."""
    denied = tool(None, "PermissionError: [Errno 13] Permission denied")
    result = triton(assemblers={"ptxas": tool("12.8.93"), "ptxas-blackwell": denied})
    assert result.status == "warn"
    assert "Permission denied" in result.reason and "chmod +x" in result.action
    hopper = triton(card(0), assemblers={"ptxas": tool("12.8.93"), "ptxas-blackwell": denied})
    assert hopper.status == "pass", "a card below 10.0 does not use ptxas-blackwell"


@pytest.mark.parametrize(
    ("device", "facts", "words"),
    [
        (None, {"triton": None}, "no Triton is installed"),
        (None, {"triton": "3.99.0"}, "is in no table"),
        (mi300x(), {"cuda": None, "hip": "6.4", "arch_list": ["gfx942"]}, "LLVM"),
    ],
)
def test_no_word_on_triton(device: Any, facts: dict[str, Any], words: str) -> None:
    """Without a Triton, with an unknown one, and on AMD's cards the check is skipped."""
    result = triton(device, **facts)
    assert result.status == "skip" and words in result.reason
