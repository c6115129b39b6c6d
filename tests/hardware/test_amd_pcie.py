"""The link of a card of AMD to the host."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.facts import Absence, Pcie
from preflight.hardware.amd_pcie import read_pcie
from preflight.hardware.files import Files
from preflight.hardware.simulated_kfd import SimulatedAmd, SimulatedLink, mi300x_cards

CARD = "/sys/bus/pci/devices/0000:05:00.0"


def pcie(root: Path, link: SimulatedLink | None) -> Pcie:
    """What is read of one card with that link."""
    cards = mi300x_cards(1)
    cards[0].link = link
    SimulatedAmd(cards=cards).write(root)
    return read_pcie(Files(root), CARD)


def test_a_healthy_link(tmp_path: Path) -> None:
    """Generation 5 on 16 lanes, which is what card and port can do."""
    assert pcie(tmp_path, SimulatedLink(replays=3)) == Pcie(
        generation=5, width=16, max_generation=5, max_width=16, card_max_generation=5, replays=3
    )


def test_a_link_that_came_up_narrow_and_slow(tmp_path: Path) -> None:
    """The link that is differs from the one that could be."""
    found = pcie(tmp_path, SimulatedLink(generation=4, width=8))
    assert (found.generation, found.width) == (4, 8)
    assert (found.max_generation, found.max_width) == (5, 16)


def test_a_slot_that_can_do_less_than_the_card(tmp_path: Path) -> None:
    """What card and slot can do together is the lesser; the card's own word stays apart."""
    found = pcie(tmp_path, SimulatedLink(port_generation=4, port_width=8))
    assert (found.max_generation, found.max_width, found.card_max_generation) == (4, 8, 5)


def test_a_virtual_function(tmp_path: Path) -> None:
    """``Unknown`` and widths of 0 and 255 are no link, and nothing counts replays."""
    found = pcie(tmp_path, None)
    facts = (found.generation, found.width, found.max_generation, found.max_width, found.replays)
    assert all(isinstance(fact, Absence) for fact in facts)


def test_a_switch_on_the_card(tmp_path: Path) -> None:
    """A card with a switch of its own is linked to the slot by the upper end of that switch."""
    port = tmp_path / "sys/devices/pci0000:00/0000:00:01.1"
    upper = port / "0000:01:00.0"
    card = upper / "0000:02:00.0/0000:03:00.0"
    card.mkdir(parents=True)
    for folder, vendor, now, most in (
        (port, "0x1022", "8.0", "16.0"),
        (upper, "0x1002", "8.0", "16.0"),
        (upper / "0000:02:00.0", "0x1002", "16.0", "16.0"),
        (card, "0x1002", "16.0", "16.0"),
    ):
        (folder / "vendor").write_text(f"{vendor}\n")
        (folder / "current_link_speed").write_text(f"{now} GT/s PCIe\n")
        (folder / "max_link_speed").write_text(f"{most} GT/s PCIe\n")
    listed = tmp_path / "sys/bus/pci/devices"
    listed.mkdir(parents=True)
    (listed / "0000:03:00.0").symlink_to(card)
    found = read_pcie(Files(tmp_path), "/sys/bus/pci/devices/0000:03:00.0")
    assert (found.generation, found.max_generation) == (3, 4)


@pytest.mark.parametrize(
    ("text", "generation"),
    [
        ("2.5 GT/s PCIe", 1),
        ("5.0 GT/s PCIe", 2),
        ("5 GT/s", 2),
        ("8.0 GT/s PCIe", 3),
        ("16.0 GT/s PCIe", 4),
        ("32.0 GT/s PCIe", 5),
        ("64.0 GT/s PCIe", 6),
        ("Unknown", None),
        ("Unknown speed", None),
        ("7.0 GT/s PCIe", None),
    ],
)
def test_speed_and_generation(tmp_path: Path, text: str, generation: int | None) -> None:
    """Each speed of Linux, old and new in form, is one generation."""
    (tmp_path / "current_link_speed").write_text(text)
    found = read_pcie(Files(tmp_path), "/").generation
    assert (None if isinstance(found, Absence) else found) == generation


def test_a_card_that_points_outside(tmp_path: Path) -> None:
    """A link out of the root, as a captured folder may hold, is not followed."""
    listed = tmp_path / "root/sys/bus/pci/devices"
    listed.mkdir(parents=True)
    outside = tmp_path / "0000:04:01.1/0000:05:00.0"
    outside.mkdir(parents=True)
    (outside / "current_link_width").write_text("16\n")
    (listed / "0000:05:00.0").symlink_to(outside)
    found = read_pcie(Files(tmp_path / "root"), CARD)
    assert isinstance(found.width, Absence)
    assert isinstance(found.max_width, Absence)
