"""What the interpreter under test has: torch's own answer, or why there is none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from faults.runs import MODULES, device

from preflight.events import Environment
from preflight.harness.software import join_devices, look_at_environment
from preflight.records import Device

CARDS = (
    device("gpu0", uuid="GPU-aa", pci="0000:9a:00.0", torch_device=None),
    device("gpu1", uuid="GPU-bb", pci="0000:1b:00.0", torch_device=None),
)


def look(
    torch: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *devices: Device
) -> Environment:
    """The environment of an interpreter whose torch is ``torch``, a Python text."""
    (tmp_path / "torch.py").write_text(torch, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    return look_at_environment(sys.executable, devices)


@pytest.mark.parametrize(
    ("fault", "cause"),
    [
        ("crashes", "killed by SIGSEGV in import torch"),
        ("leaves", "exited with code 0 without a word, in import torch"),
        (
            "raises",
            "ImportError: libnothing.so.9: cannot open shared object file (in import torch)",
        ),
        ("hangs", "no answer within 1 s, in import torch"),
    ],
)
def test_a_torch_that_does_not_import_is_a_failure(
    fault: str, cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its cause is a fact of the environment, and the packages are told all the same."""
    if fault == "hangs":
        monkeypatch.setattr("preflight.harness.software.LOOK_DEADLINE_S", 1.0)
    text = (MODULES / f"fault_{fault}.py").read_text()
    found = look(text, tmp_path, monkeypatch, *CARDS)
    assert (found.torch, found.failed, found.cause) == (None, True, cause)
    assert found.versions.python == sys.version.split()[0]
    if fault != "hangs":  # listing the packages may take longer than that deadline
        assert "pytest" in found.versions.packages
    assert found.torch_devices == {}


def test_an_interpreter_that_does_not_start_is_no_failure_of_torch() -> None:
    """Nobody could look: not failed, without torch, with the cause."""
    found = look_at_environment("/nowhere/python", CARDS)
    assert (found.torch, found.failed) == (None, False)
    assert (
        found.cause
        == "the interpreter /nowhere/python cannot be started: No such file or directory"
    )
    assert found.versions.packages == {}


def test_secrets_in_the_answer_are_redacted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message of the user's environment may hold a token."""
    secret = "hf_" + "b" * 34
    found = look(f"raise ImportError('token {secret}')", tmp_path, monkeypatch)
    assert "ImportError" in found.cause
    assert secret not in found.cause + found.evidence


def test_devices_are_joined_by_uuid_whatever_the_order() -> None:
    """NVML's order is not CUDA's."""
    seen = [
        {"torch_device": "cuda:0", "uuid": "GPU-bb", "pci": None},
        {"torch_device": "cuda:1", "uuid": "GPU-aa", "pci": None},
    ]
    assert join_devices(CARDS, seen) == {"gpu0": "cuda:1", "gpu1": "cuda:0"}


def test_devices_are_joined_by_pci_address_without_a_uuid() -> None:
    """An older torch does not tell the UUID."""
    seen = [
        {"torch_device": "cuda:0", "uuid": None, "pci": "0000:1b:00.0"},
        {"torch_device": "cuda:1", "uuid": None, "pci": "0000:9a:00.0"},
    ]
    assert join_devices(CARDS, seen) == {"gpu0": "cuda:1", "gpu1": "cuda:0"}


def test_two_unknowns_are_not_the_same_device() -> None:
    """A device without UUID and address matches nothing, not another one without."""
    bare = device("gpu0", torch_device=None)
    assert join_devices([bare], [{"torch_device": "cuda:0", "uuid": None, "pci": None}]) == {}


def test_a_card_that_torch_does_not_list_has_no_name() -> None:
    """It stays out, the others keep theirs."""
    seen = [{"torch_device": "cuda:0", "uuid": "GPU-bb", "pci": None}]
    assert join_devices(CARDS, seen) == {"gpu1": "cuda:0"}


def test_the_cpu_is_called_cpu() -> None:
    """Whether or not torch imports."""
    assert join_devices([device("cpu", kind="cpu", torch_device=None)], []) == {"cpu": "cpu"}


@pytest.mark.long
def test_the_real_torch_is_described() -> None:
    """Versions of torch and of the distributions come back from one process."""
    found = look_at_environment(sys.executable, [device("cpu", kind="cpu")])
    assert found.cause == ""
    assert found.torch is not None
    assert found.versions.torch == found.torch["torch"]
    assert found.versions.packages["torch"].version == found.versions.torch
    assert found.torch_devices == {"cpu": "cpu"}
