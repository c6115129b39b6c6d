"""Telemetry of an AMD card, from a folder that looks like its sysfs."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight import clock
from preflight.facts import Absence
from preflight.hardware.amd_telemetry import AmdTelemetry, current_MHz, generation, lanes
from preflight.hardware.files import Files
from preflight.hardware.telemetry import Sample

PCI = "0000:05:00.0"
SCLK = "S: 19Mhz\n0: 132Mhz\n1: 2100Mhz *"
CARD = {
    "vendor": "0x1002",
    "current_link_speed": "32.0 GT/s PCIe",
    "current_link_width": "16",
    "pp_dpm_sclk": SCLK,
    "pp_dpm_mclk": "0: 900Mhz\n1: 1300Mhz *",
    "mem_info_vram_used": str(5 << 30),
    "hwmon/hwmon7/power1_input": "742000000",
    "hwmon/hwmon7/temp2_input": "58000",
}
"""Files as amdgpu of Linux 6.8 writes them for an MI300X, which has no edge sensor."""


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
    write(place.parent, {"vendor": "0x1022", "current_link_speed": "32.0 GT/s PCIe"})
    bus = tmp_path / "sys/bus/pci/devices"
    bus.mkdir(parents=True)
    (bus / PCI).symlink_to(f"../../../devices/pci0000:00/0000:00:01.1/{PCI}")
    return place


def test_a_card_at_work(card: Path, tmp_path: Path) -> None:
    """Watts from microwatts, degrees from thousandths, the clock that is marked."""
    found = sample(tmp_path)
    assert (found.pcie_generation, found.pcie_width) == (5, 16)
    assert (found.sm_MHz, found.memory_MHz) == (2100, 1300)
    assert (found.power_W, found.temperature_C) == (742.0, 58.0)
    assert found.memory_used_GiB == 5.0
    assert isinstance(found.slowed_by, Absence) and found.slowed_by.reason == "not asked"


def test_the_average_and_the_edge_come_first(card: Path, tmp_path: Path) -> None:
    """Where a card has both sensors, the calmer ones count."""
    write(card, {"hwmon/hwmon7/power1_average": "500000000", "hwmon/hwmon7/temp1_input": "41000"})
    found = sample(tmp_path)
    assert (found.power_W, found.temperature_C) == (500.0, 41.0)


def test_the_link_of_a_card_with_its_own_switch_is_that_of_its_slot(tmp_path: Path) -> None:
    """Behind AMD's bridges the device shows 32 GT/s, the outermost bridge the slot's 8 GT/s."""
    port = tmp_path / "sys/devices/pci0000:00/0000:00:01.1"
    outer = port / "0000:03:00.0"
    place = outer / "0000:04:00.0" / PCI
    write(port, {"vendor": "0x1022"})
    write(
        outer,
        {
            "vendor": "0x1002",
            "current_link_speed": "8.0 GT/s PCIe",
            "current_link_width": "4",
        },
    )
    write(place.parent, {"vendor": "0x1002", "current_link_speed": "32.0 GT/s PCIe"})
    write(place, CARD)
    bus = tmp_path / "sys/bus/pci/devices"
    bus.mkdir(parents=True)
    (bus / PCI).symlink_to(place)
    found = sample(tmp_path)
    assert (found.pcie_generation, found.pcie_width) == (3, 4)


def test_a_captured_folder_without_links_is_read_in_place(tmp_path: Path) -> None:
    """A copy of the bus has plain folders; the device's own link is all there is."""
    write(tmp_path / "sys/bus/pci/devices" / PCI, CARD)
    assert sample(tmp_path).pcie_generation == 5


def test_a_card_that_is_gone_is_absent(tmp_path: Path) -> None:
    """No file: each fact says not found, none is 0."""
    found = sample(tmp_path)
    for name in ("pcie_generation", "pcie_width", "sm_MHz", "power_W", "memory_used_GiB"):
        value = getattr(found, name)
        assert isinstance(value, Absence) and value.reason == "not found", name


def test_what_is_no_number_is_not_readable(card: Path, tmp_path: Path) -> None:
    """A link without a speed (``Unknown``) and without lanes is not a slow link."""
    write(card, {"current_link_speed": "Unknown", "current_link_width": "0"})
    found = sample(tmp_path)
    for value in (found.pcie_generation, found.pcie_width):
        assert isinstance(value, Absence) and value.reason == "not readable"


@pytest.mark.parametrize(
    ("text", "number"),
    [("2.5 GT/s PCIe", 1), ("8 GT/s", 3), ("16.0 GT/s PCIe", 4), ("64.0 GT/s PCIe", 6)],
)
def test_speeds_of_old_and_new_kernels(text: str, number: int) -> None:
    """Older kernels write ``8 GT/s``, newer ones ``16.0 GT/s PCIe``."""
    assert generation(text) == number


def test_a_clock_in_deep_sleep_is_marked_too() -> None:
    """The level of deep sleep is called S; without a mark there is no current clock."""
    assert current_MHz("S: 19Mhz *\n0: 132Mhz") == 19
    with pytest.raises(ValueError, match="132"):
        current_MHz("0: 132Mhz")


def test_lanes_of_a_function_without_a_link() -> None:
    """63 is what the register holds where there is no link."""
    with pytest.raises(ValueError, match="63"):
        lanes("63")
