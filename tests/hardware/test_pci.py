"""Accelerators on the PCI bus, without any driver."""

from __future__ import annotations

from pathlib import Path

from preflight.hardware.pci import accelerators

from .sysfs import write_pci


def test_accelerators_are_found_by_vendor_and_class(tmp_path: Path) -> None:
    """NVIDIA and AMD display controllers and accelerators are listed by address."""
    write_pci(tmp_path, "0000:9a:00.0", vendor="0x10de", device="0x2330", **{"class": "0x030200"})
    write_pci(tmp_path, "0000:05:00.0", vendor="0x1002", device="0x74a1", **{"class": "0x120000"})
    assert accelerators(tmp_path) == (
        "AMD 1002:74a1 at 0000:05:00.0",
        "NVIDIA 10de:2330 at 0000:9a:00.0",
    )


def test_other_devices_are_not(tmp_path: Path) -> None:
    """A bridge of NVIDIA, an AMD USB controller and another vendor's graphics are no cards."""
    write_pci(tmp_path, "0000:01:00.0", vendor="0x10de", device="0x22a3", **{"class": "0x068000"})
    write_pci(tmp_path, "0000:02:00.0", vendor="0x1002", device="0x1234", **{"class": "0x0c0330"})
    write_pci(tmp_path, "0000:03:00.0", vendor="0x102b", device="0x0538", **{"class": "0x030000"})
    assert accelerators(tmp_path) == ()


def test_no_bus(tmp_path: Path) -> None:
    """A machine or container without /sys/bus/pci has none."""
    assert accelerators(tmp_path) == ()


def test_a_device_that_goes_away_is_passed_over(tmp_path: Path) -> None:
    """A device whose files vanish while the bus is read does not hide the others."""
    write_pci(tmp_path, "0000:01:00.0", vendor="0x10de")
    write_pci(tmp_path, "0000:02:00.0", vendor="0x10de", device="0x2330", **{"class": "0x030200"})
    assert accelerators(tmp_path) == ("NVIDIA 10de:2330 at 0000:02:00.0",)
