from __future__ import annotations

from collections.abc import Callable

import pytest
from msgspec.structs import replace

from preflight.events import Inventory
from preflight.facts import Grid
from preflight.rendering.escaping import columns
from preflight.rendering.machine_text import machine_lines, render_machine

from . import extremes, gold, machines, odd_machines

WIDTHS = (60, 79, 80, 100, 121, 160)
MAKERS = {make.__name__: make for make in odd_machines.EVERY}


def part(text: str, title: str) -> list[str]:
    """The lines below a heading, the heading itself first."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.split("   ")[0] == title)
    rest = lines[start + 1 :]
    end = next((i for i, line in enumerate(rest) if line and not line.startswith(" ")), len(rest))
    return [lines[start], *(line for line in rest[:end] if line)]


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_the_text_is_as_frozen(name: str) -> None:
    """What is shown of a machine changes only on purpose."""
    gold.check(f"{name}.machine.txt", render_machine(MAKERS[name]()))


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", sorted(MAKERS))
def test_no_line_is_wider_than_the_terminal(name: str, width: int) -> None:
    """Nothing wraps, for a machine of any kind."""
    lines = render_machine(MAKERS[name](), width=width).splitlines()
    assert max(map(columns, lines)) <= width


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("text", [extremes.ALL, extremes.LONG, "显存错误" * 90, ""])
def test_hostile_strings_neither_wrap_nor_command(text: str, width: int) -> None:
    """Every string of the machine may be an attempt: no line is overrun, no control is sent."""
    shown = render_machine(odd_machines.hostile(text), width=width, notice=text)
    assert max(map(columns, shown.splitlines())) <= width
    assert not [c for c in shown if c != "\n" and (ord(c) < 32 or 0x7F <= ord(c) < 0xA0)]
    assert "\u202e" not in shown


@pytest.mark.parametrize(("asked", "given"), [(10, 60), (1000, 160)])
def test_the_width_has_bounds(asked: int, given: int) -> None:
    """Below 60 columns tables have no room, and above 160 the eye loses its row."""
    made = odd_machines.ill_b200()
    assert render_machine(made, width=asked) == render_machine(made, width=given)


@pytest.mark.parametrize("make", [machines.eight_h100, machines.eight_mi300x])
def test_nothing_stands_out_on_a_healthy_machine(make: Callable[[], Inventory]) -> None:
    """No piece of it is in the tone that asks for a look, and nothing is unknown."""
    lines = machine_lines(make())
    assert {piece.style for line in lines for piece in line} == {"", "strong", "dim"}
    assert "Not known" not in render_machine(make())


def test_what_is_odd_stands_out() -> None:
    """Each fault of the ill machine is in the tone that asks for a look."""
    lines = machine_lines(odd_machines.ill_b200())
    odd = {piece.text.strip() for line in lines for piece in line if piece.style == "caution"}
    for words in ("91", "17/18", "2, 14 ever", "Gen3 x8 of Gen4 x16 (card: Gen5)", "XID 94"):
        assert words in odd
    assert "31" not in odd and "18/18" not in odd


def test_a_table_that_is_too_wide_goes_on_below_with_its_names() -> None:
    """Every piece of a split table begins with the names of its rows."""
    names = tuple(f"gpu{i}" for i in range(8)) + tuple(f"mlx5_{i}" for i in range(10))
    made = machines.eight_h100()
    assert made.machine is not None
    grid = replace(made.machine, topology=machines.square(names, "NODE"))
    lines = part(render_machine(replace(made, machine=grid), width=80), "Topology")
    heads = [line.split() for line in lines if line.split()[0] in ("gpu0", "mlx5_0", "mlx5_4")]
    assert [word for head in heads for word in head if "_" in word]
    assert sum(line.split()[0] == "mlx5_9" for line in lines) == 2
    titles = [line for line in lines if line.startswith("          ")]
    assert " ".join(titles).split() == list(names)


def test_a_sentence_is_cut_and_its_neighbours_stay() -> None:
    """A line of the kernel's log gives way to the columns beside it."""
    lines = part(render_machine(odd_machines.ill_b200(), width=80), "Kernel log")
    assert lines[2].startswith("  XID 94  gpu1       3  2 h ago  NVRM: Xid")
    assert lines[2].endswith("…")


def test_the_first_line_names_machine_and_cards() -> None:
    """Node, cards, and what keeps it from being a real machine."""
    first = render_machine(machines.eight_h100(), notice="SIMULATED 8xH100").splitlines()[0]
    assert first == "node-a   8 × NVIDIA H100 80GB HBM3   SIMULATED 8xH100"
    assert render_machine(odd_machines.no_card()).splitlines()[0] == "build-7   no accelerator"


def test_a_look_that_did_not_end_still_shows_host_and_devices() -> None:
    """Without a machine in the inventory, what the record says of host and devices is shown."""
    shown = render_machine(replace(machines.eight_h100(), machine=None))
    assert "Ubuntu 22.04.5 LTS" in shown
    assert part(shown, "Cards")[0] == "Cards   8 × NVIDIA H100 80GB HBM3"
    assert any("0000:df:00.0" in line for line in part(shown, "Cards"))


def test_a_grid_with_short_rows_is_shown_all_the_same() -> None:
    """A record whose rows are too short loses no line."""
    made = machines.eight_h100()
    assert made.machine is not None
    broken = replace(made.machine, topology=Grid(names=("gpu0", "gpu1"), rows=(("X", "SYS"),)))
    lines = part(render_machine(replace(made, machine=broken)), "Topology")
    assert lines[2:4] == ["  gpu0  X     SYS", "  gpu1  –     –"]
