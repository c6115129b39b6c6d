"""The simulated machine: what it writes, and that each of its faults is seen where it was put."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from preflight.facts import known
from preflight.hardware.amd import AmdBackend
from preflight.hardware.files import STAND_INS, Files
from preflight.hardware.pci import accelerators
from preflight.hardware.protocol import Sighting
from preflight.hardware.simulated_kfd import (
    SimulatedAmd,
    SimulatedHeat,
    SimulatedLink,
    SimulatedPower,
    SimulatedProcess,
    SimulatedRas,
    mi300x_cards,
)


def see(root: Path) -> Sighting:
    """What the backend sees there."""
    return AmdBackend(Files(root), {}).look("n")


def test_two_machines_share_nothing() -> None:
    """A fault in one card is in no other card, and not in the next machine."""
    one, other = SimulatedAmd(), SimulatedAmd()
    assert one.cards[0].ras is not None and one.cards[0].power is not None
    one.cards[0].ras["umc"].uncorrected = 5
    one.cards[0].power.cap_W = 500
    one.cut_xgmi(0)
    for card in (one.cards[1], other.cards[0]):
        assert card.ras is not None and card.power is not None
        assert (card.ras["umc"].uncorrected, card.power.cap_W) == (0, 750)
    assert other.cut == set()


def test_cards_have_numbers_of_their_own() -> None:
    """Addresses, serials, unique and GPU IDs of sixteen cards all differ."""
    cards = mi300x_cards(16)
    for field in ("address", "serial", "unique_id", "gpu_id"):
        assert len({getattr(card, field) for card in cards}) == 16


def test_the_bus(tmp_path: Path) -> None:
    """Each card is a device of the PCI bus below a port, with its driver; ports are no cards."""
    cards = mi300x_cards(2)
    cards[1].driver = None
    SimulatedAmd(cards=cards).write(tmp_path)
    files = Files(tmp_path)
    assert accelerators(Files(tmp_path)) == (
        "AMD 1002:74a1 at 0000:05:00.0",
        "AMD 1002:74a1 at 0000:26:00.0",
    )
    assert files.target("/sys/bus/pci/devices/0000:05:00.0/driver") == "amdgpu"
    assert not files.exists("/sys/bus/pci/devices/0000:26:00.0/driver")
    real = files.at("/sys/bus/pci/devices/0000:05:00.0").resolve()
    assert real.parent.name == "0000:04:01.1"


def test_the_tree_may_be_moved(tmp_path: Path) -> None:
    """All links are relative: the same is seen after the folder was renamed."""
    SimulatedAmd().write(tmp_path / "a")
    before = see(tmp_path / "a")
    (tmp_path / "a").rename(tmp_path / "b")
    assert see(tmp_path / "b") == before


def test_other_parts_of_the_machine_are_kept(tmp_path: Path) -> None:
    """The file of stand-ins keeps what others wrote, and gains what opening ends in."""
    stand_ins = {"space": {"/dev/shm": [1, 1]}, "opening": {"/dev/nvidia0": 13}}
    (tmp_path / STAND_INS).write_text(json.dumps(stand_ins))
    (tmp_path / "sys/bus/pci/devices/0000:9a:00.0").mkdir(parents=True)
    SimulatedAmd(kfd_errno=errno.EINVAL).write(tmp_path)
    assert json.loads((tmp_path / STAND_INS).read_text()) == {
        "space": {"/dev/shm": [1, 1]},
        "opening": {"/dev/nvidia0": 13, "/dev/kfd": errno.EINVAL},
    }


def test_a_machine_with_no_stand_ins(tmp_path: Path) -> None:
    """A healthy machine opens all its files without an entry."""
    SimulatedAmd(cards=mi300x_cards(1)).write(tmp_path)
    assert json.loads((tmp_path / STAND_INS).read_text()) == {"opening": {}}
    assert Files(tmp_path).opens("/dev/kfd") is True


Fault = tuple[str, Any, Callable[[Sighting], Any], Any]
FAULTS: dict[str, Fault] = {
    "ras": (
        "ras",
        {"umc": SimulatedRas(uncorrected=3)},
        lambda s: s.cards[2].ecc.uncorrected,
        3,
    ),
    "width": ("link", SimulatedLink(width=8), lambda s: s.cards[2].pcie.width, 8),
    "speed": ("link", SimulatedLink(generation=3), lambda s: s.cards[2].pcie.generation, 3),
    "slot": ("link", SimulatedLink(port_width=8), lambda s: s.cards[2].pcie.max_width, 8),
    "replays": ("link", SimulatedLink(replays=912), lambda s: s.cards[2].pcie.replays, 912),
    "cap": ("power", SimulatedPower(cap_W=500), lambda s: s.cards[2].power.limit_W, 500.0),
    "heat": ("heat", SimulatedHeat(memory_C=99), lambda s: s.cards[2].temperature.memory_C, 99.0),
    "memory": ("memory_bytes", 128 * 1024**3, lambda s: s.devices[2].memory_GiB, 128.0),
    "product": ("product_name", "AMD Instinct MI210", lambda s: s.devices[2].product[-5:], "MI210"),
    "partition": ("memory_partition", "NPS4", lambda s: s.cards[2].memory_partition, "NPS4"),
    "kfd": ("is_in_kfd", False, lambda s: len(s.devices), 3),
    "process": (
        "processes",
        [SimulatedProcess(pid=4242, memory_bytes=1024**3)],
        lambda s: [p.pid for p in known(s.cards[2].processes) or ()],
        [4242],
    ),
    "render node": (
        "has_render_node",
        False,
        lambda s: [(a.what, a.reason) for a in s.absences],
        [("/dev/dri/renderD144", "not found")],
    ),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_of_one_card(tmp_path: Path, name: str) -> None:
    """Each field that goes wrong is seen on its card, and the card before is as healthy as ever."""
    field, value, fact, expected = FAULTS[name]
    machine = SimulatedAmd(cards=mi300x_cards(4))
    machine.write(tmp_path / "healthy")
    healthy = see(tmp_path / "healthy")
    assert fact(healthy) != expected
    setattr(machine.cards[2], field, value)
    machine.write(tmp_path / "sick")
    sick = see(tmp_path / "sick")
    assert fact(sick) == expected
    kept = ("serial", "pcie", "ecc", "ras", "power", "temperature", "processes", "partition")
    for one in kept:
        assert getattr(sick.cards[1], one) == getattr(healthy.cards[1], one)


@pytest.mark.parametrize(
    ("mode", "parts"), [("SPX", 1), ("DPX", 2), ("TPX", 3), ("QPX", 4), ("CPX", 8)]
)
def test_parts_of_a_card(tmp_path: Path, mode: str, parts: int) -> None:
    """A card in each mode shows as so many nodes, which share its memory and have own files."""
    cards = mi300x_cards(2)
    cards[0].compute_partition = mode
    SimulatedAmd(cards=cards).write(tmp_path)
    sighting = see(tmp_path)
    own = [d for d in sighting.devices if d.pci == "0000:05:00.0"]
    assert len(own) == parts
    assert own[0].memory_GiB == round(cards[0].memory_bytes // parts / 1024**3, 2)
    files = known(sighting.driver.files) or ()
    assert len({file.path for file in files}) == 1 + parts + 1
    assert all(file.is_open is True for file in files)
