"""AMD devices, from folders that look like the KFD topology."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from preflight.hardware.amd import AmdBackend, gfx_name
from preflight.hardware.protocol import Sighting

from . import sysfs


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """The root of a machine with 8 x MI300X."""
    return sysfs.write_machine(tmp_path)


def look(root: Path) -> Sighting:
    """What the backend sees below a root."""
    return AmdBackend(root).look("node-a")


def test_a_healthy_machine(machine: Path) -> None:
    """Eight MI300X with every fact; the CPU nodes before them are no devices."""
    sighting = look(machine)
    assert [device.name for device in sighting.devices] == [f"gpu{i}" for i in range(8)]
    assert [device.pci for device in sighting.devices] == [
        f"0000:{bus:02x}:00.0" for bus in sysfs.BUSES
    ]
    first = sighting.devices[0]
    assert first.kind == "hip"
    assert first.node == "node-a"
    assert first.architecture == "gfx942"
    assert first.memory_GiB == 191.98
    assert first.uuid == "GPU-9a1b000000000000"
    assert first.product == "AMD device 0x74a1"
    assert first.driver == "6.12.12"
    assert (sighting.hidden, sighting.absences) == ((), ())
    assert sighting.looked_for == "KFD: 8 device(s)"


def test_nodes_are_ordered_by_number(tmp_path: Path) -> None:
    """Node 10 comes after node 9, as HIP counts them, not after node 1."""
    for number in range(2, 12):
        properties = {**sysfs.mi300x(0), "location_id": number << 8}
        sysfs.write_node(tmp_path, number, properties, [(1, sysfs.VRAM)])
    buses = [device.pci for device in look(tmp_path).devices]
    assert buses == [f"0000:{number:02x}:00.0" for number in range(2, 12)]


def test_the_product_is_that_of_the_pci_device(machine: Path) -> None:
    """Where the board tells its product, that is its name; an empty one is none."""
    sysfs.write_pci(machine, "0000:05:00.0", product_name="AMD Instinct MI300X OAM")
    sysfs.write_pci(machine, "0000:26:00.0", product_name="")
    first, second = look(machine).devices[:2]
    assert first.product == "AMD Instinct MI300X OAM"
    assert second.product == "AMD device 0x74a1"


def test_the_address_has_domain_bus_device_and_function(tmp_path: Path) -> None:
    """location_id holds bus, device and function; the domain stands apart."""
    properties = {**sysfs.mi300x(0), "location_id": 0xC3 << 8 | 0x1F << 3 | 5, "domain": 2}
    sysfs.write_node(tmp_path, 1, properties, [])
    assert look(tmp_path).devices[0].pci == "0002:c3:1f.5"


def test_only_frame_buffer_is_memory_of_the_card(tmp_path: Path) -> None:
    """Public and private frame buffer add up; system memory and caches do not count."""
    banks = [(0, 512 * 1024**3), (1, 16 * 1024**3), (2, 48 * 1024**3), (4, 1024**3)]
    sysfs.write_node(tmp_path, 1, sysfs.mi300x(0), banks)
    assert look(tmp_path).devices[0].memory_GiB == 64.0


def test_memory_that_cannot_be_read_is_absent_and_not_zero(machine: Path) -> None:
    """Without its banks a card has no known size, and the absence names the card."""
    shutil.rmtree(machine / sysfs.TOPOLOGY / "3" / "mem_banks")
    sighting = look(machine)
    assert sighting.devices[1].memory_GiB is None
    (absence,) = sighting.absences
    assert (absence.what, absence.reason) == ("memory of gpu1", "not readable")


def test_a_card_without_identity_or_driver_version(machine: Path) -> None:
    """unique_id 0 is no identity, and the driver of the kernel has no version of its own."""
    shutil.rmtree(machine / "sys/module")
    path = machine / sysfs.TOPOLOGY / "2" / "properties"
    path.write_text(path.read_text().replace(f"unique_id {sysfs.mi300x(0)['unique_id']}", ""))
    first = look(machine).devices[0]
    assert (first.uuid, first.driver) == (None, None)


def test_an_old_kernel_does_not_tell_the_architecture(tmp_path: Path) -> None:
    """A card whose properties lack a line is listed, and what the line holds is unknown."""
    known = sysfs.mi300x(0)
    del known["gfx_target_version"], known["device_id"]
    sysfs.write_node(tmp_path, 1, known, [(1, sysfs.VRAM)])
    (card,) = look(tmp_path).devices
    assert card.architecture is None
    assert card.product == "AMD device 0x0000"
    assert card.memory_GiB == 191.98


def test_no_driver(tmp_path: Path) -> None:
    """Without KFD there is no device, and an absence that names the folder."""
    sighting = look(tmp_path)
    assert sighting.devices == ()
    assert sighting.looked_for == "KFD of the amdgpu driver: not found"
    (absence,) = sighting.absences
    assert (absence.what, absence.reason) == ("KFD", "not found")
    assert str(sysfs.TOPOLOGY) in absence.detail


def test_a_driver_without_cards(tmp_path: Path) -> None:
    """A driver that lists only CPUs answered: no device."""
    assert look(sysfs.write_machine(tmp_path, cards=0)).looked_for == "KFD: 0 device(s)"


def test_a_card_that_a_container_may_not_see(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KFD refuses the properties of a card outside the container: absent, the others are listed."""
    forbidden = machine / sysfs.TOPOLOGY / "4" / "properties"
    read_text = Path.read_text

    def read(path: Path, *args: Any, **kwargs: Any) -> str:
        if path == forbidden:
            raise PermissionError(1, "Operation not permitted")
        return read_text(path, *args, **kwargs)

    monkeypatch.setattr(Path, "read_text", read)
    sighting = look(machine)
    assert len(sighting.devices) == 7
    (absence,) = sighting.absences
    assert (absence.reason, absence.what) == ("no permission", str(forbidden))
    assert absence.detail == "Operation not permitted"


def test_the_device_file_is_missing(machine: Path) -> None:
    """A container that was given /sys but not /dev/kfd is told so."""
    (machine / "dev/kfd").unlink()
    (absence,) = look(machine).absences
    assert (absence.what, absence.reason) == ("/dev/kfd", "not found")


def test_the_device_file_may_not_be_used(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without permission on /dev/kfd the group to join is named."""
    monkeypatch.setattr("os.access", lambda path, mode: False)
    (absence,) = look(machine).absences
    assert (absence.what, absence.reason) == ("/dev/kfd", "no permission")
    assert "render" in absence.detail


def test_hidden_cards_are_named(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cards hidden by the environment keep their names, and what hides them is told."""
    monkeypatch.setenv("ROCR_VISIBLE_DEVICES", "6,GPU-9a1b000000000007")
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "1")
    sighting = look(machine)
    assert [device.name for device in sighting.devices] == ["gpu7"]
    assert len(sighting.hidden) == 7
    assert sighting.hidden[0].startswith("gpu0 (AMD device 0x74a1) by ROCR_VISIBLE_DEVICES=6,")
    assert sighting.hidden[0].endswith("HIP_VISIBLE_DEVICES=1")


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
