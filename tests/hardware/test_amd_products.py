"""Names of cards that do not tell their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.hardware.amd_products import INSTINCT, product_name
from preflight.hardware.files import Files

LIST = """# List of AMDGPU IDs
1.0.0
744C,\tC8,\tAMD Radeon RX 7900 XTX
744C,\tCC,\tAMD Radeon RX 7900 XT
74a1,\t00,\tAMD Instinct MI300X
7481,   C7,     AMD Steam Machine
"""


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """A machine with libdrm's list."""
    (tmp_path / "usr/share/libdrm").mkdir(parents=True)
    (tmp_path / "usr/share/libdrm/amdgpu.ids").write_text(LIST)
    return Files(tmp_path)


@pytest.mark.parametrize(
    ("device", "revision", "name"),
    [
        (0x744C, 0xC8, "AMD Radeon RX 7900 XTX"),
        (0x744C, 0xCC, "AMD Radeon RX 7900 XT"),
        (0x744C, 0x00, None),
        (0x744C, None, None),
        (0x7481, 0xC7, "AMD Steam Machine"),
        (0x74A1, 0x00, "AMD Instinct MI300X"),
        (0x74B5, 0x00, "AMD Instinct MI300X VF"),
    ],
)
def test_the_machines_list(files: Files, device: int, revision: int | None, name: str) -> None:
    """Device and revision together name a card; an accelerator that is not listed is known."""
    assert product_name(files, device, revision) == name


@pytest.mark.parametrize("content", ["", "zz", "744C,\tC8,\t\n"])
def test_a_damaged_list(tmp_path: Path, content: str) -> None:
    """A list that says nothing leaves the accelerators that are known anyway."""
    (tmp_path / "opt/amdgpu/share/libdrm").mkdir(parents=True)
    (tmp_path / "opt/amdgpu/share/libdrm/amdgpu.ids").write_text(content)
    assert product_name(Files(tmp_path), 0x744C, 0xC8) is None
    assert product_name(Files(tmp_path), 0x74A1, 0) == "AMD Instinct MI300X"


def test_virtual_functions_say_so() -> None:
    """A function of a virtual machine never has the name of the whole card."""
    whole = {INSTINCT[device] for device in (0x74A1, 0x75A0, 0x75A3)}
    virtual = [INSTINCT[device] for device in (0x74B5, 0x75B0, 0x75B3)]
    assert [name.removesuffix(" VF") for name in virtual] == sorted(whole)
    assert not whole & set(virtual)
