"""Which card a KFD node is."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.hardware.amd_identity import Identity, gfx_name, identify
from preflight.hardware.files import Files
from preflight.hardware.kfd import NODES, read_topology
from preflight.hardware.simulated_kfd import SimulatedAmd, mi300x_cards

from . import sysfs


def first(root: Path) -> Identity:
    """The first card of the machine below ``root``."""
    files = Files(root)
    return identify(files, read_topology(files).gpus[0], 0, "n", None)


def test_the_address_has_domain_bus_device_and_function(tmp_path: Path) -> None:
    """location_id holds bus, device and function; the domain stands apart."""
    properties = {**sysfs.mi300x(0), "location_id": 0xC3 << 8 | 0x1F << 3 | 5, "domain": 2}
    sysfs.write_node(tmp_path, 1, properties, [])
    assert first(tmp_path).device.pci == "0002:c3:1f.5"


def test_a_function_that_is_none(tmp_path: Path) -> None:
    """The number of a part stands in the place of the function; the card is the one that exists."""
    properties = {**sysfs.mi300x(0), "location_id": 0x05 << 8 | 3}
    sysfs.write_node(tmp_path, 1, properties, [])
    sysfs.write_pci(tmp_path, "0000:05:00.0", product_name="AMD Instinct MI300X OAM")
    assert first(tmp_path).device.pci == "0000:05:00.0"
    sysfs.write_pci(tmp_path, "0000:05:00.3", product_name="AMD Instinct MI300X VF")
    assert first(tmp_path).device.pci == "0000:05:00.3"


@pytest.mark.parametrize(
    ("line", "pci", "names"),
    [
        ("location_id", "0000:05:00.0", []),
        ("domain", "0000:05:00.0", []),
        ("location_id drm_render_minor", None, ["PCI address of gpu0"]),
    ],
)
def test_an_address_that_is_damaged(
    tmp_path: Path, line: str, pci: str | None, names: list[str]
) -> None:
    """The render node leads to the card too; without both the address is absent and named."""
    SimulatedAmd(cards=mi300x_cards(1)).write(tmp_path)
    path = tmp_path / NODES.lstrip("/") / "2/properties"
    lines = path.read_text().splitlines()
    damaged = [f"{x.split()[0]} zz" if x.split()[0] in line.split() else x for x in lines]
    path.write_text("\n".join(damaged))
    found = first(tmp_path)
    assert found.device.pci == pci
    assert [absence.what for absence in found.absences] == names


def test_a_render_node_that_leads_nowhere(tmp_path: Path) -> None:
    """The parts of a divided card hang from a device without an address."""
    SimulatedAmd(cards=mi300x_cards(1)).write(tmp_path)
    path = tmp_path / NODES.lstrip("/") / "2/properties"
    path.write_text(path.read_text().replace("location_id 1280", "location_id zz"))
    link = tmp_path / "sys/class/drm/renderD128/device"
    link.unlink()
    link.symlink_to("../../../devices/platform/amdgpu_xcp_0")
    found = first(tmp_path)
    assert found.device.pci is None
    assert found.folder == "/sys/class/drm/renderD128/device"


@pytest.mark.parametrize(
    ("written", "device_id", "product"),
    [
        ("AMD Instinct MI300X OAM", 0x74A1, "AMD Instinct MI300X OAM"),
        ("", 0x74A1, "AMD Instinct MI300X"),
        ("", 0x74B5, "AMD Instinct MI300X VF"),
        ("", 0x1234, "AMD device 0x1234"),
        ("", 0, "unknown AMD device"),
    ],
)
def test_the_product(tmp_path: Path, written: str, device_id: int, product: str) -> None:
    """As the board tells it, else by the PCI ID, else the ID itself."""
    sysfs.write_node(tmp_path, 1, {**sysfs.mi300x(0), "device_id": device_id}, [])
    sysfs.write_pci(tmp_path, "0000:05:00.0", product_name=written)
    assert first(tmp_path).device.product == product


@pytest.mark.parametrize(
    ("unique_id", "written", "uuid"),
    [
        (0x9A1B_0000_0000_0007, "", "GPU-9a1b000000000007"),
        (0, "9a1b000000000008", "GPU-9a1b000000000008"),
        (0, "0000000000000000", None),
        (0, "N/A", None),
    ],
)
def test_the_number_of_the_card(
    tmp_path: Path, unique_id: int, written: str, uuid: str | None
) -> None:
    """KFD's number, else that of the driver's file; 0 is none."""
    sysfs.write_node(tmp_path, 1, {**sysfs.mi300x(0), "unique_id": unique_id}, [(1, 1024**3)])
    sysfs.write_pci(tmp_path, "0000:05:00.0", unique_id=written)
    found = first(tmp_path)
    assert found.device.uuid == uuid
    assert [a.what for a in found.absences] == ([] if uuid else ["UUID of gpu0"])


def test_memory_that_cannot_be_read_is_absent_and_not_zero(tmp_path: Path) -> None:
    """Without its banks a card has no known size, and the absence names the card."""
    sysfs.write_node(tmp_path, 1, sysfs.mi300x(0), [])
    found = first(tmp_path)
    assert found.device.memory_GiB is None
    (absence,) = found.absences
    assert (absence.what, absence.reason) == ("memory of gpu0", "not found")


@pytest.mark.parametrize(
    ("version", "name"),
    [
        (90402, "gfx942"),
        (90500, "gfx950"),
        (90010, "gfx90a"),
        (90008, "gfx908"),
        (100300, "gfx1030"),
        (110000, "gfx1100"),
        (110501, "gfx1151"),
        (120001, "gfx1201"),
    ],
)
def test_the_name_of_an_architecture(version: int, name: str) -> None:
    """KFD's number spells the name: major, minor, and the stepping in hex."""
    assert gfx_name(version) == name
