"""Heat, power and clocks of a card of AMD."""

from __future__ import annotations

from pathlib import Path

from preflight.facts import Absence, Clocks, Power, Temperature
from preflight.hardware.amd_sensors import Sensors
from preflight.hardware.files import Files
from preflight.hardware.simulated_kfd import (
    SimulatedAmd,
    SimulatedHeat,
    SimulatedPower,
    mi300x_cards,
)

CARD = "/sys/bus/pci/devices/0000:05:00.0"


def sensors(root: Path, **fields: object) -> Sensors:
    """Those of one card with these fields."""
    cards = mi300x_cards(1)
    for name, value in fields.items():
        setattr(cards[0], name, value)
    SimulatedAmd(cards=cards).write(root)
    return Sensors(Files(root), CARD)


def test_a_hot_card(tmp_path: Path) -> None:
    """The hottest point and memory, and where the card slows down and stops, in degrees."""
    hot = sensors(tmp_path, heat=SimulatedHeat(junction_C=104, memory_C=96))
    assert hot.temperature() == Temperature(
        card_C=104.0, memory_C=96.0, slowdown_C=100.0, shutdown_C=110.0
    )


def test_a_card_without_a_junction(tmp_path: Path) -> None:
    """Older cards tell the rim alone, and that counts as the card's."""
    folder = tmp_path / "card/hwmon/hwmon0"
    folder.mkdir(parents=True)
    (folder / "temp1_label").write_text("edge\n")
    (folder / "temp1_input").write_text("51000\n")
    found = Sensors(Files(tmp_path), "/card").temperature()
    assert found.card_C == 51.0
    assert isinstance(found.memory_C, Absence)


def test_a_cap_that_was_lowered(tmp_path: Path) -> None:
    """The cap that is enforced, the default one and the highest, in watts."""
    capped = sensors(tmp_path, power=SimulatedPower(draw_W=139, cap_W=550))
    assert capped.power() == Power(
        draw_W=139.0, limit_W=550.0, default_limit_W=750.0, max_limit_W=750.0
    )


def test_the_average_draw_goes_before_that_of_the_moment(tmp_path: Path) -> None:
    """Cards before MI300 tell an average, and some tell both."""
    both = sensors(tmp_path)
    folder = tmp_path / CARD.lstrip("/") / "hwmon/hwmon3"
    (folder / "power1_average").write_text("97000000\n")
    assert both.power().draw_W == 97.0


def test_clocks(tmp_path: Path) -> None:
    """Clocks of now, and the highest of the card's table; the level of sleep is none of it."""
    asleep = sensors(tmp_path)
    assert asleep.clocks() == Clocks(
        sm_MHz=132, sm_max_MHz=2100, memory_MHz=900, memory_max_MHz=1300
    )


def test_a_table_that_ends_with_its_lowest_level(tmp_path: Path) -> None:
    """The highest level is found wherever it stands; ``S`` is no level, be it the only one."""
    one = sensors(tmp_path)
    table = tmp_path / CARD.lstrip("/") / "pp_dpm_sclk"
    table.write_text("1: 2100Mhz *\n0: 500Mhz\n")
    assert one.clocks().sm_max_MHz == 2100
    table.write_text("S: 132Mhz *\n")
    assert isinstance(one.clocks().sm_max_MHz, Absence)


def test_the_folder_of_amdgpu_is_taken(tmp_path: Path) -> None:
    """Another driver's sensors below the same device are not the card's."""
    one = sensors(tmp_path)
    other = tmp_path / CARD.lstrip("/") / "hwmon/hwmon1"
    other.mkdir()
    (other / "name").write_text("nvme\n")
    (other / "power1_cap").write_text("1000000\n")
    assert Sensors(Files(tmp_path), CARD).power().limit_W == 750.0
    assert one.power().limit_W == 750.0


def test_no_sensors(tmp_path: Path) -> None:
    """Without the folder nothing is 0: each fact says that it was not found."""
    none = Sensors(Files(tmp_path), CARD)
    facts = (none.temperature().card_C, none.power().draw_W, none.clocks().sm_MHz)
    for fact in facts:
        assert isinstance(fact, Absence) and fact.reason == "not found"


def test_an_empty_folder_of_sensors(tmp_path: Path) -> None:
    """A folder that lists none is told apart from one that is missing."""
    (tmp_path / "card/hwmon").mkdir(parents=True)
    fact = Sensors(Files(tmp_path), "/card").power().limit_W
    assert isinstance(fact, Absence) and fact.detail == "the folder is empty"
