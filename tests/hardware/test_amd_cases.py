"""Machines that somebody reported in public, as far as sysfs shows what was wrong with them."""

from __future__ import annotations

import errno
from pathlib import Path

from preflight.facts import Absence, known
from preflight.hardware.amd import AmdBackend
from preflight.hardware.files import Files
from preflight.hardware.protocol import Sighting
from preflight.hardware.simulated_kfd import SimulatedAmd, SimulatedProcess, mi300x_cards


def look(root: Path, machine: SimulatedAmd) -> Sighting:
    """What is seen of it."""
    machine.write(root)
    return AmdBackend(Files(root), {}).look("n")


def test_a_driver_that_refuses_a_root_with_all_groups(tmp_path: Path) -> None:
    """ROCm/legacy-rocm-build#4043: sysfs answers, /dev/kfd is an invalid argument."""
    machine = SimulatedAmd(
        cards=mi300x_cards(1),
        amdgpu_version="6.7.0",
        rocm_version="6.2.1-66",
        kfd_errno=errno.EINVAL,
    )
    sighting = look(tmp_path, machine)
    assert (sighting.driver.version, sighting.driver.rocm) == ("6.7.0", "6.2.1")
    assert [d.product for d in sighting.devices] == ["AMD Instinct MI300X OAM"]
    assert sighting.cards[0].pci_id == "1002:74a1"
    (closed,) = sighting.absences
    assert (closed.what, closed.reason) == ("/dev/kfd", "failed")
    assert "Invalid argument" in closed.detail and "usermod" not in closed.detail


def test_a_virtual_machine_of_eight(tmp_path: Path) -> None:
    """sgl-project/sglang#3622: eight functions of MI300X, named as HIP names them there."""
    cards = mi300x_cards()
    for index, card in enumerate(cards):
        card.make_virtual()
        card.domain, card.bus = index + 2, 0
    sighting = look(tmp_path, SimulatedAmd(cards=cards, amdgpu_version=None))
    assert [d.product for d in sighting.devices] == ["AMD Instinct MI300X VF"] * 8
    assert [d.pci for d in sighting.devices] == [f"{i + 2:04x}:00:00.0" for i in range(8)]
    assert {d.architecture for d in sighting.devices} == {"gfx942"}
    assert {len(known(card.links) or ()) for card in sighting.cards} == {7}


def test_two_cards_that_hang_over_pcie(tmp_path: Path) -> None:
    """ROCm/vllm#390: two MI210 look healthy here; the fault is the host's missing iommu=pt."""
    cards = mi300x_cards(2)
    for card in cards:
        card.device_id, card.gfx_target_version = 0x740F, 90010
        card.product_name, card.simds, card.memory_bytes = None, 416, 68_702_699_520
        card.compute_partition = card.memory_partition = None
        assert card.link is not None
        card.link.generation = card.link.card_generation = card.link.port_generation = 4
    sighting = look(tmp_path, SimulatedAmd(cards=cards, hive_id=0, rocm_version="6.3.1-48"))
    assert [d.product for d in sighting.devices] == ["AMD Instinct MI210"] * 2
    assert [d.architecture for d in sighting.devices] == ["gfx90a"] * 2
    assert sighting.cards[0].links == ()
    assert sighting.peers is not None and sighting.peers.rows[0] == ("X", "OK")
    assert isinstance(sighting.cards[0].partition, Absence)
    assert sighting.absences == ()


def test_a_node_where_somebody_else_computes(tmp_path: Path) -> None:
    """ROCm/rccl#2188: a job on four of eight MI350X makes one on the other four fail."""
    cards = mi300x_cards()
    for index, card in enumerate(cards):
        card.device_id, card.gfx_target_version, card.product_name = 0x75A0, 90500, None
        if index < 4:
            card.processes = [SimulatedProcess(pid=7000 + index, memory_bytes=200 * 1024**3)]
    machine = SimulatedAmd(cards=cards, amdgpu_version="6.16.13", rocm_version="7.2.4-93")
    sighting = look(tmp_path, machine)
    assert {d.product for d in sighting.devices} == {"AMD Instinct MI350X"}
    assert {d.architecture for d in sighting.devices} == {"gfx950"}
    users = [[p.pid for p in known(card.processes) or ()] for card in sighting.cards]
    assert users == [[7000], [7001], [7002], [7003], [], [], [], []]


def test_slices_instead_of_cards(tmp_path: Path) -> None:
    """As pytorch/pytorch#130181 for MIG: eight devices of one divided card are not eight cards."""
    cards = mi300x_cards(1)
    cards[0].compute_partition, cards[0].memory_partition = "CPX", "NPS4"
    sighting = look(tmp_path, SimulatedAmd(cards=cards))
    assert len(sighting.devices) == 8
    assert {d.pci for d in sighting.devices} == {"0000:05:00.0"}
    assert {d.memory_GiB for d in sighting.devices} == {24.0}
    assert {(c.partition, c.memory_partition) for c in sighting.cards} == {("CPX", "NPS4")}
