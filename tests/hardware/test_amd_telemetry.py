"""Telemetry of an AMD card, from a folder that looks like its sysfs.

How each file is read is tested with the facts of a card; here it is which of them a sample holds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight import clock
from preflight.facts import Absence
from preflight.hardware.amd_telemetry import AmdTelemetry
from preflight.hardware.files import Files
from preflight.hardware.telemetry import Sample

PCI = "0000:05:00.0"
CARD = {
    "vendor": "0x1002",
    "current_link_speed": "32.0 GT/s PCIe",
    "current_link_width": "16",
    "max_link_speed": "32.0 GT/s PCIe",
    "max_link_width": "16",
    "mem_info_vram_used": str(5 << 30),
    "hwmon/hwmon7/name": "amdgpu",
    "hwmon/hwmon7/power1_input": "742000000",
    "hwmon/hwmon7/temp2_label": "junction",
    "hwmon/hwmon7/temp2_input": "58000",
    "hwmon/hwmon7/freq1_label": "sclk",
    "hwmon/hwmon7/freq1_input": "2100000000",
    "hwmon/hwmon7/freq2_label": "mclk",
    "hwmon/hwmon7/freq2_input": "1300000000",
}
"""Files as amdgpu of Linux 6.8 writes them for an MI300X at work."""


def write(folder: Path, files: dict[str, str]) -> None:
    """Files of one PCI function."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text + "\n")


def sample(root: Path) -> Sample:
    """One look at the card below a root."""
    return AmdTelemetry(clock.seconds(), Files(root)).sample(PCI)


@pytest.fixture
def card(tmp_path: Path) -> Path:
    """The card's folder, a link from the bus to its place below a root port of the CPU."""
    place = tmp_path / f"sys/devices/pci0000:00/0000:00:01.1/{PCI}"
    write(place, CARD)
    write(place.parent, {"vendor": "0x1022"})
    bus = tmp_path / "sys/bus/pci/devices"
    bus.mkdir(parents=True)
    (bus / PCI).symlink_to(f"../../../devices/pci0000:00/0000:00:01.1/{PCI}")
    return place


def test_a_card_at_work(card: Path, tmp_path: Path) -> None:
    """The link, clocks, watts, degrees and memory of the moment; nobody asked what slows it."""
    found = sample(tmp_path)
    assert (found.pcie_generation, found.pcie_width) == (5, 16)
    assert (found.sm_MHz, found.memory_MHz) == (2100, 1300)
    assert (found.power_W, found.temperature_C) == (742.0, 58.0)
    assert found.memory_used_GiB == 5.0
    assert isinstance(found.slowed_by, Absence) and found.slowed_by.reason == "not asked"
    assert 0 <= found.at_s < 60


def test_each_look_reads_anew(card: Path, tmp_path: Path) -> None:
    """A link that falls back while it is watched shows in the next sample."""
    telemetry = AmdTelemetry(clock.seconds(), Files(tmp_path))
    assert telemetry.sample(PCI).pcie_generation == 5
    write(card, {"current_link_speed": "8.0 GT/s PCIe", "current_link_width": "8"})
    found = telemetry.sample(PCI)
    assert (found.pcie_generation, found.pcie_width) == (3, 8)


def test_the_link_of_a_card_with_its_own_switch_is_that_of_its_slot(tmp_path: Path) -> None:
    """Behind AMD's bridges the device shows 32 GT/s, the outermost bridge the slot's 8 GT/s."""
    port = tmp_path / "sys/devices/pci0000:00/0000:00:01.1"
    outer = port / "0000:03:00.0"
    slow = {"current_link_speed": "8.0 GT/s PCIe", "current_link_width": "4"}
    write(port, {"vendor": "0x1022"})
    write(outer, {"vendor": "0x1002", **slow})
    write(outer / "0000:04:00.0", {"vendor": "0x1002", "current_link_speed": "32.0 GT/s PCIe"})
    write(outer / "0000:04:00.0" / PCI, CARD)
    bus = tmp_path / "sys/bus/pci/devices"
    bus.mkdir(parents=True)
    (bus / PCI).symlink_to(
        f"../../../devices/pci0000:00/0000:00:01.1/0000:03:00.0/0000:04:00.0/{PCI}"
    )
    found = sample(tmp_path)
    assert (found.pcie_generation, found.pcie_width) == (3, 4)


def test_a_card_that_is_gone_is_absent(tmp_path: Path) -> None:
    """No file: each fact says not found, none is 0."""
    found = sample(tmp_path)
    for name in ("pcie_generation", "pcie_width", "sm_MHz", "power_W", "memory_used_GiB"):
        value = getattr(found, name)
        assert isinstance(value, Absence) and value.reason == "not found", name
