"""Messages of tools and libraries, what each proves, and dumps by torch, card and driver."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from .cases import explained, score, statuses
from .dump_of import dump_of

_toml: Any = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
TEXTS = _toml.loads(
    (Path(__file__).parents[2] / "data" / "messages.toml").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("entry", TEXTS["message"], ids=lambda entry: entry["text"].strip()[:60])
def test_a_message_is_understood(entry: dict[str, Any]) -> None:
    """The stages that a message speaks of have the status that it proves."""
    found = statuses(entry["text"])
    assert {
        s: found[s] for s, e in entry["expected"].items() if score(e, found[s]) != "right"
    } == {}


@pytest.mark.parametrize("entry", TEXTS["healthy"], ids=lambda entry: entry["text"].strip()[:60])
def test_what_healthy_machines_print_gives_no_alarm(entry: dict[str, Any]) -> None:
    """Zero counters, missing plugins, retried connections and settled warnings are no trouble."""
    answer = explained(entry["text"])
    alarms = {n: one.reason for n, one in answer.stages.items() if one.status in ("warn", "fail")}
    assert not alarms and answer.cause is None


NVIDIA = [
    # torch, CUDA, card, driver, whether torch found it, what is right
    ("1.13.1+cu117", "11.7", "NVIDIA H100 PCIe", "525.85.12", True, "driver arch! kernel!"),
    ("2.5.1+cu124", "12.4", "NVIDIA GeForce RTX 5080", "572.16", True, "driver arch! kernel!"),
    ("2.9.0+cu128", "12.8", "NVIDIA GeForce GTX 1080 Ti", "570.86.15", True, "arch! kernel!"),
    ("2.8.0+cu128", "12.8", "Tesla P100-PCIE-16GB", "570.86.15", True, "arch! kernel!"),
    ("2.1.0+cu121", "12.1", "NVIDIA GeForce RTX 4090", "535.54.03", True, "order driver arch"),
    ("2.7.1+cu128", "12.8", "NVIDIA GeForce RTX 5070 Ti", "576.02", True, "order driver arch"),
    ("2.9.0+cu130", "13.0", "NVIDIA B300 SXM6 AC", "580.95.05", True, "order driver arch"),
    ("2.9.0+cu130", "13.0", "NVIDIA L40S", "570.124.06", True, "order driver arch"),
    ("2.9.0+cu130", "13.0", "NVIDIA L40S", "570.124.06", False, "order driver! arch?"),
    ("2.4.0+cu121", "12.1", "Tesla T4", "470.82.01", False, "order driver!"),
    ("2.0.1", "11.7", "Tesla K80", "470.82.01", True, "driver arch"),
    ("2.3.0", "None", "NVIDIA A100-SXM4-40GB", "535.54.03", False, "order driver import!"),
    ("2.8.0+cpu", "None", "NVIDIA GeForce RTX 3060", "576.02", False, "driver import!"),
    ("2.8.0a0+5228986c39.nv25.06", "12.9", "NVIDIA H200", "570.133.20", True, "driver arch?"),
    ("2.7.0.dev20250101+cu126", "12.6", "NVIDIA B200", "570.133.20", True, "driver arch! kernel!"),
]
AMD = [
    ("2.6.0+rocm6.2.4", "6.2.41134", "AMD Instinct MI250X (gfx90a:sramecc+)", "driver arch"),
    ("2.6.0+rocm6.2.4", "6.2.41134", "AMD Instinct MI355X (gfx950)", "driver arch! kernel!"),
    ("2.5.1+rocm6.2", "6.2.41133", "AMD Radeon RX 6700 XT (gfx1031)", "arch! kernel!"),
    ("2.11.0+rocm7.1", "7.1.52802", "AMD Radeon RX 9070 XT (gfx1201)", "driver arch"),
    ("2.9.1+git8907517", "7.0.51831", "AMD Instinct MI300X (gfx942)", "driver arch?"),
    ("2.10.0.dev20250929+rocm7.0", "7.0.51831", "AMD Radeon 8060S (gfx1151)", "driver arch?"),
]
MEANING = {"!": "fail", "?": "unknown"}


def wanted(words: str) -> dict[str, str]:
    """``driver arch! kernel?``: passes, fails, cannot be told."""
    return {word.rstrip("!?"): MEANING.get(word[-1], "pass") for word in words.split()}


@pytest.mark.parametrize(("torch", "cuda", "card", "driver", "available", "right"), NVIDIA)
def test_torch_card_and_driver(
    torch: str, cuda: str, card: str, driver: str, available: bool, right: str
) -> None:
    """Architecture by the build, driver by its floor and by whether torch found the card."""
    text = dump_of(torch, card, cuda=cuda, driver=driver, available=available)
    found, expected = statuses(text), wanted(right)
    assert {stage: found[stage] for stage in expected} == expected


@pytest.mark.parametrize(("torch", "hip", "card", "right"), AMD)
def test_torch_and_card_of_amd(torch: str, hip: str, card: str, right: str) -> None:
    """A target must be in the build as it is; what a vendor or a night built is not known."""
    found, expected = statuses(dump_of(torch, card, hip=hip)), wanted(right)
    assert {stage: found[stage] for stage in expected} == expected


@pytest.mark.parametrize(
    ("torch", "cuda", "hip"), [("2.7.0+cu126", "12.6", "N/A"), ("2.6.0+rocm6.2.4", "N/A", "6.2.1")]
)
def test_a_machine_on_which_nobody_sees_a_card(torch: str, cuda: str, hip: str) -> None:
    """torch is built for cards and finds none, and no tool lists one: nothing was passed in."""
    text = dump_of(torch, "Could not collect", cuda=cuda, hip=hip, available=False, count=0)
    text = text.replace("configuration: \n\n", "configuration: Could not collect\n")
    found = statuses(text)
    assert (found["order"], found["driver"], found["kernel"]) == ("fail", "unknown", "unknown")


def test_a_slice_is_known_by_its_name() -> None:
    """torch.cuda.get_device_name() of a MIG device."""
    text = dump_of("2.7.0+cu126", "NVIDIA H100 80GB HBM3 MIG 1g.10gb", cuda="12.6", driver="550.1")
    assert statuses(text)["order"] == "fail"


def test_a_matrix_counts_the_cards_that_torch_names_once() -> None:
    """AMD's cards stand on one line of the dump; the weights have a row for each."""
    matrix = "".join(f"GPU{i}   0   15   15\n" for i in range(8))
    text = dump_of("2.6.0+rocm6.2.4", "AMD Instinct MI300X (gfx942)", hip="6.2.41134") + matrix
    assert explained(text).stages["order"].reason.startswith("listed: 8 x AMD Instinct MI300X")


def test_a_card_named_on_the_command_line_stands_for_a_missing_one() -> None:
    """A list of packages names no card: --gpu does, and the build is judged on it."""
    text = "Versions of relevant libraries:\n[pip3] torch==2.6.0+cu124\n"
    assert statuses(text)["arch"] == "unknown"
    assert statuses(text, "B200")["arch"] == "fail"
    assert statuses(text, "H100 SXM")["arch"] == "pass"


def test_what_the_text_names_outweighs_the_command_line() -> None:
    """The card of the dump is judged, whatever --gpu says."""
    text = dump_of("2.6.0+cu124", "NVIDIA H100 80GB HBM3", cuda="12.4", driver="550.54.15")
    assert statuses(text, "B200")["arch"] == "pass"


def test_a_missing_kernel_of_an_extension_is_no_fault_of_torch() -> None:
    """torch has code for the card by the tables, so that the kernel is an extension's."""
    healthy = dump_of("2.7.0+cu128", "NVIDIA GeForce RTX 5090", cuda="12.8", driver="575.57.08")
    text = f"{healthy}\nRuntimeError: CUDA error: no kernel image is available for execution\n"
    found = statuses(text)
    assert (found["arch"], found["import"]) == ("pass", "fail")
    assert found["kernel"] != "fail"


def test_a_missing_kernel_with_nothing_else_is_not_blamed_on_torch() -> None:
    """Whose kernel it is cannot be told: kernel fails, arch and import stay open."""
    found = statuses("RuntimeError: CUDA error: no kernel image is available for execution")
    assert (found["kernel"], found["arch"], found["import"]) == ("fail", "unknown", "unknown")


def test_the_frame_before_an_error_names_the_extension() -> None:
    """The traceback ends in flash_attn, which has kernels of its own."""
    text = (
        "Traceback (most recent call last):\n"
        '  File "/opt/venv/lib/python3.12/site-packages/flash_attn/interface.py", line 9, in f\n'
        "    out = op(q)\n"
        "RuntimeError: CUDA error: no kernel image is available for execution on the device\n"
    )
    answer = explained(text).stages["import"]
    assert answer.status == "fail" and "flash_attn" in answer.reason


@pytest.mark.parametrize(("listed", "stage"), [(True, "driver"), (False, "order")])
def test_no_card_for_cuda_means_another_thing_where_the_driver_lists_one(
    listed: bool, stage: str
) -> None:
    """With a card listed it is the driver's, without one nothing was passed in."""
    table = (
        "| NVIDIA-SMI 575.51.02  Driver Version: 576.02  CUDA Version: 12.9 |\n"
        "|   0  NVIDIA GeForce RTX 4090   On  |   00000000:65:00.0 Off |   Off |\n"
    )
    text = (table if listed else "") + "RuntimeError: No CUDA GPUs are available\n"
    cause = explained(text).cause
    assert cause is not None and cause.stage == stage
