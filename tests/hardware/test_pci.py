"""Accelerators on the PCI bus, without any driver."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.facts import BusCard
from preflight.hardware.files import THIS_MACHINE, Files
from preflight.hardware.pci import BUS, accelerators, bus_path, read_bus

from .machines import machine, reason
from .sysfs import write_pci

H100 = {"vendor": "0x10de", "device": "0x2330", "class": "0x030200", "numa_node": "1"}


def cards(root: Path) -> tuple[BusCard, ...]:
    """Cards on a bus that can be read."""
    found = read_bus(Files(root))
    assert isinstance(found, tuple)
    return found


def test_accelerators_are_found_by_vendor_and_class(tmp_path: Path) -> None:
    """NVIDIA and AMD display controllers and accelerators are listed by address."""
    write_pci(tmp_path, "0000:9a:00.0", vendor="0x10de", device="0x2330", **{"class": "0x030200"})
    write_pci(tmp_path, "0000:05:00.0", vendor="0x1002", device="0x74a1", **{"class": "0x120000"})
    assert accelerators(Files(tmp_path)) == (
        "AMD 1002:74a1 at 0000:05:00.0",
        "NVIDIA 10de:2330 at 0000:9a:00.0",
    )


def test_other_devices_are_not(tmp_path: Path) -> None:
    """A bridge of NVIDIA, an AMD USB controller and another vendor's graphics are no cards."""
    write_pci(tmp_path, "0000:01:00.0", vendor="0x10de", device="0x22a3", **{"class": "0x068000"})
    write_pci(tmp_path, "0000:02:00.0", vendor="0x1002", device="0x1234", **{"class": "0x0c0330"})
    write_pci(tmp_path, "0000:03:00.0", vendor="0x102b", device="0x0538", **{"class": "0x030000"})
    assert accelerators(Files(tmp_path)) == ()
    assert cards(tmp_path) == ()


def test_no_bus(tmp_path: Path) -> None:
    """A machine or container without /sys/bus/pci has none, and does not say that it is empty."""
    assert accelerators(Files(tmp_path)) == ()
    assert reason(read_bus(Files(tmp_path))) == "not found"


def test_a_device_that_goes_away_is_passed_over(tmp_path: Path) -> None:
    """A device whose files vanish while the bus is read does not hide the others."""
    write_pci(tmp_path, "0000:01:00.0", vendor="0x10de")
    write_pci(tmp_path, "0000:02:00.0", vendor="0x10de", device="0x2330", **{"class": "0x030200"})
    assert accelerators(Files(tmp_path)) == ("NVIDIA 10de:2330 at 0000:02:00.0",)
    assert [card.pci for card in cards(tmp_path)] == ["0000:02:00.0"]


def test_a_card_with_everything(tmp_path: Path) -> None:
    """Vendor, product, the driver that has taken it, and its NUMA node."""
    folder = write_pci(tmp_path, "0000:9a:00.0", **H100)
    (folder / "driver").symlink_to("../../../bus/pci/drivers/nvidia")
    assert cards(tmp_path) == (
        BusCard(
            pci="0000:9a:00.0",
            vendor="NVIDIA",
            pci_id="10de:2330",
            driver="nvidia",
            numa_node=1,
            is_accelerator=True,
        ),
    )


def test_a_card_that_no_driver_has_taken(tmp_path: Path) -> None:
    """It is listed, and its driver is not found."""
    write_pci(tmp_path, "0000:9a:00.0", vendor="0x10de", device="0x2901", **{"class": "0x030200"})
    (card,) = cards(tmp_path)
    assert reason(card.driver) == "not found"
    assert card.numa_node is None


def test_a_virtual_function_beside_its_card_is_no_card(tmp_path: Path) -> None:
    """A host that divides a card lists the slices too; the card is counted once."""
    write_pci(tmp_path, "0000:9a:00.0", **H100)
    for slot in ("4", "5"):
        folder = write_pci(tmp_path, f"0000:9a:00.{slot}", **H100)
        (folder / "physfn").symlink_to("../0000:9a:00.0")
    assert [card.pci for card in cards(tmp_path)] == ["0000:9a:00.0"]


def test_a_virtual_function_alone_is_the_card(tmp_path: Path) -> None:
    """A virtual machine is given a function without the physical one behind it."""
    write_pci(tmp_path, "0000:00:05.0", vendor="0x1002", device="0x74b5", **{"class": "0x120000"})
    (card,) = cards(tmp_path)
    assert (card.pci_id, card.is_accelerator) == ("1002:74b5", True)


@pytest.mark.parametrize(
    ("vendor", "device", "kind", "expected"),
    [
        ("0x10de", "0x2330", "0x030200", True),
        ("0x10de", "0x2684", "0x030000", True),
        ("0x1002", "0x74a1", "0x120000", True),
        ("0x1002", "0x738c", "0x038000", True),
        ("0x1002", "0x740f", "0x038000", True),
        ("0x1002", "0x744c", "0x030000", True),
        ("0x1002", "0x66a1", "0x030000", True),
        ("0x1002", "0x7551", "0x030000", True),
        ("0x1002", "0x164e", "0x030000", False),
        ("0x1002", "0x13c0", "0x030000", False),
        ("0x1002", "0x515e", "0x030000", False),
        ("0x1002", "0x1586", "0x030000", None),
        ("0x1002", "0x6898", "0x030000", None),
    ],
)
def test_what_computes_for_us(
    tmp_path: Path, vendor: str, device: str, kind: str, expected: bool | None
) -> None:
    """Graphics of a board or a small CPU are no accelerator; larger CPUs' are left open."""
    write_pci(tmp_path, "0000:0b:00.0", vendor=vendor, device=device, **{"class": kind})
    (card,) = cards(tmp_path)
    if expected is None:
        assert reason(card.is_accelerator) == "not supported"
    else:
        assert card.is_accelerator is expected


@pytest.mark.parametrize("text", ["", "0x", "torn", "\x00"])
def test_torn_files_raise_nothing(tmp_path: Path, text: str) -> None:
    """A device of no known vendor or class is no card."""
    write_pci(tmp_path, "0000:01:00.0", vendor=text, device=text, **{"class": text})
    write_pci(
        tmp_path, "0000:02:00.0", vendor="0x10de", device=text, numa_node=text, **{"class": "0x03"}
    )
    assert all(card.numa_node is None for card in cards(tmp_path))


PATH = "/sys/devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:1b:00.0"


def test_the_way_to_a_device(tmp_path: Path) -> None:
    """Host bridge, bridges and device, in the order of the folders that sysfs nests."""
    files = machine(tmp_path, {f"{PATH}/vendor": 1}, {f"{BUS}/0000:1b:00.0": PATH})
    assert bus_path(files, f"{BUS}/0000:1b:00.0") == (
        "pci0000:15",
        "0000:15:01.0",
        "0000:16:00.0",
        "0000:17:02.0",
        "0000:1b:00.0",
    )


def test_what_hangs_below_a_device_ends_at_its_address(tmp_path: Path) -> None:
    """An interface or a virtio device has no address of its own."""
    files = machine(
        tmp_path,
        {f"{PATH}/virtio2/net/eth0/mtu": 1500},
        {"/sys/class/net/eth0": f"{PATH}/virtio2/net/eth0"},
    )
    assert bus_path(files, "/sys/class/net/eth0")[-1] == "0000:1b:00.0"


@pytest.mark.parametrize("target", ["/sys/devices/virtual/net/lo", "/sys/devices/platform/x", "/x"])
def test_what_is_not_on_the_bus_has_no_way(tmp_path: Path, target: str) -> None:
    """Virtual and platform devices belong to no PCI device."""
    files = machine(tmp_path, {f"{target}/mtu": 1}, {"/sys/class/net/a": target})
    assert bus_path(files, "/sys/class/net/a") == ()


def test_this_machine_has_a_way_to_each_of_its_devices() -> None:
    """The real bus nests its devices below host bridges."""
    names = THIS_MACHINE.names(BUS)
    if not isinstance(names, tuple):
        pytest.skip("this machine shows no PCI bus")
    for name in names:
        assert bus_path(THIS_MACHINE, f"{BUS}/{name}")[-1] == name
