"""Health and configuration of one card of AMD."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from preflight.facts import Absence, Card, Process, RasBlock, known
from preflight.hardware.amd_card import read_card
from preflight.hardware.files import Files
from preflight.hardware.kfd import read_topology
from preflight.hardware.simulated_kfd import (
    SimulatedAmd,
    SimulatedAmdCard,
    SimulatedProcess,
    SimulatedRas,
    mi300x_cards,
)

FOLDER = "/sys/bus/pci/devices/0000:05:00.0"


def write(root: Path, *, hive_id: int = 0x93, **fields: object) -> SimulatedAmdCard:
    """A machine of one card with these fields."""
    cards = mi300x_cards(1)
    for name, value in fields.items():
        setattr(cards[0], name, value)
    SimulatedAmd(cards=cards, hive_id=hive_id).write(root)
    return cards[0]


def read(root: Path) -> Card:
    """That card."""
    files = Files(root)
    return read_card(files, FOLDER, read_topology(files).gpus[0], "gpu0")


def test_what_a_card_is(tmp_path: Path) -> None:
    """Serial, board, firmware, IDs, partitions, place and hive of a healthy card."""
    write(tmp_path)
    card = read(tmp_path)
    assert (card.device, card.serial) == ("gpu0", "692251000000")
    assert (card.board, card.vbios) == ("102-G30211-00", "113-M3000100-102")
    assert (card.pci_id, card.subsystem_id) == ("1002:74a1", "1002:74a1")
    assert (card.partition, card.memory_partition, card.hive) == ("SPX", "NPS1", "0x93")
    assert (card.numa_node, card.near_cpus, card.memory_used_GiB) == (0, "0-95", 0.28)
    assert card.processes == ()


def test_firmware_that_names_no_numa_node(tmp_path: Path) -> None:
    """-1 is what Linux says there, and is a fact."""
    write(tmp_path, numa_node=-1)
    assert read(tmp_path).numa_node == -1


def test_a_card_without_xgmi_has_no_hive(tmp_path: Path) -> None:
    """0 is no hive; where KFD does not tell it the driver's own file does."""
    write(tmp_path, hive_id=0)
    assert isinstance(read(tmp_path).hive, Absence)
    info = tmp_path / FOLDER.lstrip("/") / "xgmi_hive_info"
    info.mkdir()
    (info / "xgmi_hive_id").write_text("147\n")
    assert read(tmp_path).hive == "0x93"


def test_errors_of_memory_and_of_other_blocks(tmp_path: Path) -> None:
    """Every block has its counts, and those of the memory controller are the card's ECC."""
    blocks = {"umc": SimulatedRas(corrected=7, uncorrected=2, deferred=1), "sdma": SimulatedRas()}
    write(tmp_path, ras=blocks)
    card = read(tmp_path)
    assert card.ras == (
        RasBlock(block="sdma", corrected=0, uncorrected=0, deferred=0),
        RasBlock(block="umc", corrected=7, uncorrected=2, deferred=1),
    )
    assert (card.ecc.enabled, card.ecc.corrected, card.ecc.uncorrected) == (True, 7, 2)


def test_counters_of_newer_and_older_drivers(tmp_path: Path) -> None:
    """Newer drivers call the file aca_umc; older ones count no deferred errors."""
    write(tmp_path, ras={})
    folder = tmp_path / FOLDER.lstrip("/") / "ras"
    (folder / "aca_umc").write_text("ue: 1\nce: 4\nde: 2\n")
    (folder / "gfx_err_count").write_text("ue: 0\nce: 5\n")
    gfx, umc = known(read(tmp_path).ras) or ()
    assert (umc.uncorrected, umc.corrected, umc.deferred) == (1, 4, 2)
    assert (gfx.uncorrected, gfx.corrected) == (0, 5)
    assert isinstance(gfx.deferred, Absence) and gfx.deferred.reason == "not asked"


def test_a_counter_that_cannot_be_asked_now(tmp_path: Path) -> None:
    """During a reset the driver answers a sentence, and that is no count of 0."""
    write(tmp_path)
    path = tmp_path / FOLDER.lstrip("/") / "ras/umc_err_count"
    path.write_text("Query currently inaccessible\n")
    card = read(tmp_path)
    assert isinstance(card.ecc.uncorrected, Absence)
    assert card.ecc.uncorrected.reason == "not readable"
    assert "inaccessible" in card.ecc.uncorrected.detail


@pytest.mark.parametrize(("mask", "enabled"), [("0x107f", True), ("0x107e", False)])
def test_whether_memory_is_protected(tmp_path: Path, mask: str, enabled: bool) -> None:
    """The memory controller is the first bit of the driver's mask."""
    write(tmp_path)
    (tmp_path / FOLDER.lstrip("/") / "ras/features").write_text(f"feature mask: {mask}\n")
    assert read(tmp_path).ecc.enabled is enabled


def test_no_ras(tmp_path: Path) -> None:
    """A card that tells no errors is not one without errors."""
    write(tmp_path, ras=None)
    card = read(tmp_path)
    for fact in (card.ras, card.ecc.enabled, card.ecc.uncorrected):
        assert isinstance(fact, Absence) and fact.reason == "not found"


def test_who_uses_the_card(tmp_path: Path) -> None:
    """Processes with memory of the card are named; we and those that only opened it are not."""
    users = [
        SimulatedProcess(pid=4242, name="python3", memory_bytes=3 * 1024**3),
        SimulatedProcess(pid=4243, memory_bytes=0),
        SimulatedProcess(pid=os.getpid(), memory_bytes=1024**3),
    ]
    write(tmp_path, processes=users)
    assert read(tmp_path).processes == (Process(pid=4242, name="python3", memory_GiB=3.0),)


def test_a_process_of_the_host(tmp_path: Path) -> None:
    """In a container KFD tells the host's numbers, to which no name is known."""
    write(tmp_path, processes=[SimulatedProcess(pid=991_234, memory_bytes=1024**3)])
    (tmp_path / "proc/991234/comm").unlink()
    (process,) = known(read(tmp_path).processes) or ()
    assert process.pid == 991_234 and isinstance(process.name, Absence)
