"""Network interfaces."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.facts import NetworkInterface
from preflight.hardware.files import THIS_MACHINE, Files
from preflight.hardware.network import read_interfaces

from .machines import MALFORMED, machine, reason

NET = "/sys/class/net"
CARD = "/sys/devices/pci0000:15/0000:15:03.0/0000:29:00.0"


def with_interface(root: Path, texts: dict[str, object]) -> Files:
    """A machine with loopback, a bridge of containers, and one card with these files."""
    links = {
        f"{NET}/eth0": f"{CARD}/net/eth0",
        f"{CARD}/net/eth0/device": CARD,
        f"{CARD}/driver": "/sys/bus/pci/drivers/mlx5_core",
        "/sys/bus/pci/devices/0000:29:00.0": CARD,
        f"{NET}/lo": "/sys/devices/virtual/net/lo",
        f"{NET}/docker0": "/sys/devices/virtual/net/docker0",
    }
    files = {f"{CARD}/net/eth0/{name}": text for name, text in texts.items()}
    virtual = {f"/sys/devices/virtual/net/{name}/mtu": 1500 for name in ("lo", "docker0")}
    return machine(
        root, {**virtual, **files, f"{CARD}/numa_node": 1, f"{NET}/bonding_masters": ""}, links
    )


def test_hardware_alone_is_listed(tmp_path: Path) -> None:
    """Loopback and bridges have no device; the card's rate is told in Gb/s."""
    files = with_interface(tmp_path, {"operstate": "up", "speed": 400000, "mtu": 9000})
    assert read_interfaces(files) == (
        NetworkInterface(
            name="eth0",
            state="up",
            rate_Gbps=400.0,
            mtu=9000,
            driver="mlx5_core",
            pci="0000:29:00.0",
            numa_node=1,
        ),
    )


@pytest.mark.parametrize("speed", ["-1", "0", "4294967295"])
def test_a_link_that_does_not_tell_its_rate(tmp_path: Path, speed: str) -> None:
    """The kernel has several numbers for unknown, and none of them is a rate."""
    found = read_interfaces(with_interface(tmp_path, {"operstate": "down", "speed": speed}))
    assert isinstance(found, tuple)
    assert (found[0].state, reason(found[0].rate_Gbps)) == ("down", "not supported")


def test_an_interface_of_a_virtual_machine(tmp_path: Path) -> None:
    """A virtio device lies below its PCI device, whose address and node count."""
    virtio = f"{CARD}/virtio2"
    texts = {f"{virtio}/net/eth0/mtu": 1400, f"{CARD}/numa_node": 0}
    links = {
        f"{NET}/eth0": f"{virtio}/net/eth0",
        f"{virtio}/net/eth0/device": virtio,
        f"{virtio}/driver": "/sys/bus/virtio/drivers/virtio_net",
        "/sys/bus/pci/devices/0000:29:00.0": CARD,
    }
    found = read_interfaces(machine(tmp_path, texts, links))
    assert isinstance(found, tuple)
    assert (found[0].pci, found[0].numa_node, found[0].driver) == ("0000:29:00.0", 0, "virtio_net")


def test_an_interface_that_is_not_on_pci(tmp_path: Path) -> None:
    """An interface of the chip itself has a device and no PCI address."""
    device = "/sys/devices/platform/soc/eth"
    links = {f"{NET}/eth0": f"{device}/net/eth0", f"{device}/net/eth0/device": device}
    found = read_interfaces(machine(tmp_path, {f"{device}/net/eth0/mtu": 1500}, links))
    assert isinstance(found, tuple)
    assert reason(found[0].pci) == "not found"


def test_no_interface_and_no_folder(tmp_path: Path) -> None:
    """A container may see loopback alone, which is an answer; no folder is none."""
    assert read_interfaces(machine(tmp_path / "a", {f"{NET}/lo/mtu": 1})) == ()
    assert reason(read_interfaces(Files(tmp_path / "b"))) == "not found"


@pytest.mark.parametrize("text", MALFORMED)
def test_malformed_files_are_absences(tmp_path: Path, text: str) -> None:
    """The interface is listed with what could be read."""
    found = read_interfaces(with_interface(tmp_path, {"speed": f"x{text}", "mtu": f"x{text}"}))
    assert isinstance(found, tuple)
    assert reason(found[0].rate_Gbps) == reason(found[0].mtu) == "not readable"


def test_this_machine_lists_no_loopback() -> None:
    """The real folder is read, and what is virtual stays out."""
    found = read_interfaces(THIS_MACHINE)
    assert isinstance(found, tuple)
    assert "lo" not in [interface.name for interface in found]
