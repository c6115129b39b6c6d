"""AMD devices, from simulated machines: who is a device, and what is seen of a sick one."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

import pytest

from preflight.facts import Absence, known
from preflight.hardware.amd import AmdBackend
from preflight.hardware.files import Files, absence
from preflight.hardware.kfd import NODES
from preflight.hardware.protocol import Say, Sighting, silent
from preflight.hardware.simulated_kfd import SimulatedAmd, mi300x_cards

from . import sysfs


def look(machine: SimulatedAmd, root: Path, say: Say = silent, **environ: str) -> Sighting:
    """What the backend sees of a machine that is written below ``root``."""
    machine.write(root)
    return AmdBackend(Files(root), environ).look("node-a", say)


def test_a_healthy_machine(tmp_path: Path) -> None:
    """Eight MI300X with their identity; the CPU nodes before them are no devices."""
    sighting = look(SimulatedAmd(), tmp_path)
    assert [device.name for device in sighting.devices] == [f"gpu{i}" for i in range(8)]
    assert [device.pci for device in sighting.devices] == [
        f"0000:{bus:02x}:00.0" for bus in sysfs.BUSES
    ]
    first = sighting.devices[0]
    assert (first.kind, first.node, first.architecture) == ("hip", "node-a", "gfx942")
    assert (first.memory_GiB, first.driver) == (191.98, "6.12.12")
    assert (first.uuid, first.product) == ("GPU-9a1b000000000000", "AMD Instinct MI300X OAM")
    assert (sighting.hidden, sighting.absences) == ((), ())
    assert sighting.looked_for == "KFD: 8 device(s)"


def test_every_device_has_its_card(tmp_path: Path) -> None:
    """Cards stand in the order of their devices, each with its own numbers."""
    sighting = look(SimulatedAmd(), tmp_path)
    assert [card.device for card in sighting.cards] == [d.name for d in sighting.devices]
    assert [card.serial for card in sighting.cards] == [f"6922510000{i:02d}" for i in range(8)]
    assert [card.numa_node for card in sighting.cards] == [0] * 4 + [1] * 4


def test_it_says_what_it_asks_next(tmp_path: Path) -> None:
    """Each node, card and device file is named before it is touched; /dev/kfd near the end."""
    said: list[str] = []
    look(SimulatedAmd(cards=mi300x_cards(2)), tmp_path, said.append)
    assert said == [
        *(f"KFD node {number}" for number in range(4)),
        "sysfs of gpu0",
        "sysfs of gpu1",
        "open /dev/kfd",
        "open /dev/dri/renderD128",
        "open /dev/dri/renderD136",
    ]


def test_nodes_are_ordered_by_number(tmp_path: Path) -> None:
    """Node 10 comes after node 9, as HIP counts them, not after node 1."""
    machine = SimulatedAmd(cards=mi300x_cards(10))
    sighting = look(machine, tmp_path)
    assert [device.pci for device in sighting.devices] == [c.address for c in machine.cards]


def test_no_driver(tmp_path: Path) -> None:
    """Without KFD there is no device and no device file is opened; the absence names the folder."""
    sighting = AmdBackend(Files(tmp_path), {}).look("n")
    assert (sighting.devices, sighting.cards, sighting.topology) == ((), (), None)
    assert sighting.looked_for == "KFD of the amdgpu driver: not found"
    (missing,) = sighting.absences
    assert (missing.what, missing.reason) == ("KFD", "not found")
    assert NODES in missing.detail and "amdgpu is loaded" not in missing.detail
    assert isinstance(sighting.driver.version, Absence)
    assert sighting.driver.version.reason == "driver not loaded"


def test_a_driver_without_its_computing_half(tmp_path: Path) -> None:
    """amdgpu that drives a screen alone is told apart from one that is not loaded."""
    sighting = look(SimulatedAmd(has_kfd=False), tmp_path)
    assert "amdgpu is loaded, without KFD" in sighting.absences[0].detail
    assert sighting.driver.version == "6.12.12"


def test_a_driver_without_cards(tmp_path: Path) -> None:
    """A driver that lists only CPUs answered: no device, and no grid of none."""
    sighting = look(SimulatedAmd(cards=[]), tmp_path)
    assert (sighting.looked_for, sighting.topology) == ("KFD: 0 device(s)", None)
    assert sighting.absences == ()


def test_a_card_that_only_the_bus_has(tmp_path: Path) -> None:
    """A card that the driver could not start is no device here; the bus is another's part."""
    cards = mi300x_cards()
    cards[3].is_in_kfd = False
    sighting = look(SimulatedAmd(cards=cards), tmp_path)
    assert len(sighting.devices) == 7
    assert cards[3].address not in {device.pci for device in sighting.devices}
    assert (tmp_path / "sys/bus/pci/devices" / cards[3].address / "vendor").exists()


@pytest.mark.parametrize(
    ("number", "reason", "advice"),
    [
        (errno.EACCES, "no permission", "render or video"),
        (errno.EPERM, "no permission", "--device /dev/kfd"),
        (errno.EINVAL, "failed", "the kernel driver itself refuses"),
        (errno.ENOMEM, "failed", "the kernel driver itself refuses"),
    ],
)
def test_the_device_file_that_does_not_open(
    tmp_path: Path, number: int, reason: str, advice: str
) -> None:
    """Groups, the container's devices and the driver are three faults with three remedies."""
    sighting = look(SimulatedAmd(kfd_errno=number), tmp_path)
    assert len(sighting.devices) == 8
    (closed,) = sighting.absences
    assert (closed.what, closed.reason) == ("/dev/kfd", reason)
    assert closed.detail.startswith(os.strerror(number)) and advice in closed.detail
    assert ("render or video" in closed.detail) == (number == errno.EACCES)


def test_the_device_file_is_missing(tmp_path: Path) -> None:
    """A container that was given /sys but not /dev/kfd is told so, and how it is passed."""
    (closed,) = look(SimulatedAmd(has_kfd_file=False), tmp_path).absences
    assert (closed.what, closed.reason) == ("/dev/kfd", "not found")
    assert "--device /dev/kfd" in closed.detail


def test_a_render_node_of_one_card(tmp_path: Path) -> None:
    """The render nodes of the shown cards count; that of a hidden card does not."""
    cards = mi300x_cards(4)
    cards[1].render_errno = errno.EACCES
    cards[2].has_render_node = False
    machine = SimulatedAmd(cards=cards)
    sighting = look(machine, tmp_path)
    assert [(a.what, a.reason) for a in sighting.absences] == [
        ("/dev/dri/renderD136", "no permission"),
        ("/dev/dri/renderD144", "not found"),
    ]
    hidden = AmdBackend(Files(tmp_path), {"HIP_VISIBLE_DEVICES": "0,3"}).look("n")
    assert hidden.absences == ()


def test_hidden_cards_are_named(tmp_path: Path) -> None:
    """Cards hidden by the environment keep their names, and what hides them is told."""
    sighting = look(
        SimulatedAmd(),
        tmp_path,
        ROCR_VISIBLE_DEVICES="6,GPU-9a1b000000000007",
        HIP_VISIBLE_DEVICES="1",
    )
    assert [device.name for device in sighting.devices] == ["gpu7"]
    assert [card.device for card in sighting.cards] == ["gpu7"]
    assert sighting.topology is not None and sighting.topology.names == ("gpu7",)
    assert len(sighting.hidden) == 7
    assert sighting.hidden[0].startswith("gpu0 (AMD Instinct MI300X OAM) by ROCR_VISIBLE_DEVICES=6")
    assert sighting.hidden[0].endswith("HIP_VISIBLE_DEVICES=1")


class Withholding(Files):
    """A kernel that refuses what belongs to one card, as KFD does outside its device cgroup."""

    folder = f"{NODES}/4/"

    def text(self, path: str) -> str | Absence:
        """EPERM below the folder of that card."""
        if path.startswith(self.folder):
            return absence(path, PermissionError(errno.EPERM, os.strerror(errno.EPERM)))
        return super().text(path)


def test_a_card_that_the_container_may_not_see(tmp_path: Path) -> None:
    """A card outside the device cgroup is hidden and named; the others stay, with their links."""
    SimulatedAmd().write(tmp_path)
    sighting = AmdBackend(Withholding(tmp_path), {}).look("n")
    assert len(sighting.devices) == 7
    assert sighting.hidden == ("KFD node 4 (a card) by the device cgroup of this container",)
    assert sighting.absences == ()
    links = known(sighting.cards[0].links) or ()
    assert [link.remote for link in links][1] == "KFD node 4"


class Vanishing(Files):
    """A machine whose fourth node goes away after the nodes were listed."""

    def names(self, path: str) -> tuple[str, ...] | Absence:
        """The listing, and then the folder is gone."""
        found = super().names(path)
        if path == NODES:
            shutil.rmtree(self.at(f"{NODES}/4"))
        return found


def test_a_node_that_vanishes(tmp_path: Path) -> None:
    """A card lost while it is looked at is an absence, and the others are listed."""
    SimulatedAmd().write(tmp_path)
    sighting = AmdBackend(Vanishing(tmp_path), {}).look("n")
    assert len(sighting.devices) == 7
    (lost,) = sighting.absences
    assert (lost.what, lost.reason) == (f"{NODES}/4/properties", "not found")


def test_a_virtual_function(tmp_path: Path) -> None:
    """A card of a virtual machine has its product from its PCI ID, and tells no RAS or power."""
    cards = mi300x_cards()
    for card in cards:
        card.make_virtual()
    sighting = look(SimulatedAmd(cards=cards), tmp_path)
    assert {device.product for device in sighting.devices} == {"AMD Instinct MI300X VF"}
    first = sighting.cards[0]
    assert first.pci_id == "1002:74b5"
    missing = (first.serial, first.ras, first.power.limit_W, first.pcie.width, first.ecc.enabled)
    assert all(isinstance(fact, Absence) for fact in missing)
    assert first.temperature.card_C == 42.0
    assert sighting.absences == ()


def test_divided_cards(tmp_path: Path) -> None:
    """In CPX each card is eight devices at one PCI address, each with an eighth of the memory."""
    cards = mi300x_cards(2)
    for card in cards:
        card.compute_partition = "CPX"
    sighting = look(SimulatedAmd(cards=cards), tmp_path)
    assert [device.name for device in sighting.devices] == [f"gpu{i}" for i in range(16)]
    assert [d.pci for d in sighting.devices] == ["0000:05:00.0"] * 8 + ["0000:26:00.0"] * 8
    assert {device.memory_GiB for device in sighting.devices} == {24.0}
    assert {card.partition for card in sighting.cards} == {"CPX"}
    assert [link.remote for link in known(sighting.cards[0].links) or ()] == ["gpu8"]
    assert sighting.absences == ()


def test_an_apu(tmp_path: Path) -> None:
    """MI300A has CPU cores and SIMDs in one node, and is a device."""
    properties = {**sysfs.mi300x(0), "cpu_cores_count": 24, "simd_count": 912, "device_id": 0x74A0}
    sysfs.write_node(tmp_path, 0, properties, [(1, 128 * 1024**3)])
    (device,) = AmdBackend(Files(tmp_path), {}).look("n").devices
    assert (device.product, device.memory_GiB) == ("AMD Instinct MI300A", 128.0)


def test_an_old_kernel(tmp_path: Path) -> None:
    """A kernel that tells less: the card is listed, and what is not told is absent and named."""
    cards = mi300x_cards(2)
    for card in cards:
        card.unique_id = None
    machine = SimulatedAmd(cards=cards, is_old_kernel=True, hive_id=0, amdgpu_version=None)
    sighting = look(machine, tmp_path)
    first = sighting.devices[0]
    assert (first.architecture, first.uuid, first.driver) == (None, None, None)
    assert (first.pci, first.memory_GiB) == ("0000:05:00.0", 191.98)
    assert [a.what for a in sighting.absences if "gpu0" in a.what] == [
        "UUID of gpu0",
        "architecture of gpu0",
    ]
    assert sighting.peers is not None and sighting.peers.rows[0] == ("X", "unknown")
    assert isinstance(sighting.driver.version, Absence)
    assert sighting.driver.version.reason == "not found"


def test_a_folder_of_little_is_a_machine(tmp_path: Path) -> None:
    """With the topology alone the devices are known, and every fact of a card says why not."""
    sysfs.write_machine(tmp_path, cards=1)
    sighting = AmdBackend(Files(tmp_path), {}).look("n")
    (card,) = sighting.cards
    assert sighting.devices[0].product == "AMD Instinct MI300X"
    assert isinstance(card.serial, Absence) and card.serial.reason == "not found"
    assert isinstance(card.links, Absence) and isinstance(card.processes, Absence)
