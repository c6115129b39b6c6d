"""``preflight inspect``: the machine on standard output, and what kept us from looking."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from msgspec.structs import replace
from rendering import machines, odd_machines
from rich.console import Console

from preflight.cli import program
from preflight.errors import UsageError
from preflight.events import Inventory
from preflight.facts import Absence, Card, Machine, Process
from preflight.harness.inventory_child import without_secrets
from preflight.inspection import Inspection, inspect_machine
from preflight.records import Host
from preflight.rendering.escaping import columns
from preflight.rendering.machine_text import render_machine

HANG = "import ctypes; ctypes.PyDLL(None).sleep(600)"
CRASH = "import ctypes; ctypes.string_at(0)"


def invoke(*arguments: str) -> Result:
    """Run the command in this process."""
    return CliRunner().invoke(program, ["inspect", *arguments], prog_name="preflight")


def printed(inspection: Inspection, *, colours: bool, width: int = 100) -> str:
    """What an inspection prints on a terminal of that width, or in a file."""
    screen = Console(
        file=io.StringIO(),
        force_terminal=colours,
        color_system="standard" if colours else None,
        width=width,
        highlight=False,
        legacy_windows=False,
        _environ={},
    )
    inspection.print_to(screen)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue()


@pytest.fixture
def vendor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the vendor's library, first on the path of our processes."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / "pynvml.py"


def test_a_machine_that_was_looked_at_ends_in_zero() -> None:
    """The host stands on standard output, nothing on standard error, and the exit code is 0."""
    result = invoke("--device", "cpu")
    assert (result.exit_code, result.stderr) == (0, "")
    assert "\nHost\n  name " in result.stdout


def test_json_is_the_inventory() -> None:
    """--json prints what decodes to an inventory, and nothing else."""
    result = invoke("--device", "cpu", "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    found = msgspec.json.decode(result.stdout, type=Inventory)
    assert found.host.name == found.nodes[0].name


@pytest.mark.parametrize(
    ("text", "sentence"),
    [(HANG, "did not end within 2 s"), (CRASH, "was ended by SIGSEGV")],
    ids=["hangs", "crashes"],
)
def test_a_driver_that_does_not_answer_ends_in_three(
    vendor: Path, monkeypatch: pytest.MonkeyPatch, text: str, sentence: str
) -> None:
    """The host is printed all the same; standard error says what hung and what to do."""
    monkeypatch.setattr("preflight.harness.inventory_child.INVENTORY_DEADLINE_S", 2.0)
    vendor.write_text(f"{text}\n")
    result = invoke("--device", "cuda")
    assert result.exit_code == 3
    assert "\nHost\n  name " in result.stdout
    assert sentence in result.stderr
    assert "ask the seller to reset" in result.stderr


def test_an_absence_of_another_kind_is_no_trouble() -> None:
    """A card that is lost, or a library that is missing, was looked at."""
    for make in (odd_machines.ill_b200, odd_machines.no_card):
        inspection = Inspection(make())
        assert inspection.inventory.absences
        assert (inspection.trouble, inspection.exit_code) == ("", 0)


@pytest.mark.parametrize(
    ("arguments", "where"),
    [
        (["--device", "cpu", "--simulate", "2xB200"], "--device and --simulate"),
        (["--simulate", " "], "--simulate"),
        (["--device", "tpu"], "--device"),
    ],
)
def test_a_flag_that_cannot_be_used_ends_in_two(arguments: list[str], where: str) -> None:
    """The flag is named on standard error, and nothing is printed."""
    result = invoke(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert where in result.stderr


def test_both_a_profile_and_a_device_are_refused() -> None:
    """Refused before any driver is asked."""
    with pytest.raises(UsageError, match="brings its own devices"):
        inspect_machine("cuda", simulate="2xB200")


def test_a_file_gets_the_text_without_colours() -> None:
    """A pipe or file has 100 columns and no escape, whatever its width."""
    made = machines.eight_h100()
    assert printed(Inspection(made), colours=False, width=60) == render_machine(made)


@pytest.mark.parametrize(("terminal", "width"), [(40, 60), (80, 80), (240, 160)])
def test_a_terminal_is_filled_and_never_overrun(terminal: int, width: int) -> None:
    """Lines have the terminal's width, from 60 columns to 160; colours change no letter."""
    made = odd_machines.ill_b200()
    bare = re.sub(r"\x1b\[[0-9;]*m", "", printed(Inspection(made), colours=True, width=terminal))
    lines = [line.rstrip() for line in bare.splitlines()]
    assert lines == render_machine(made, width=width).splitlines()
    assert max(map(columns, lines)) <= width


def test_what_is_worth_a_look_has_its_colour() -> None:
    """Yellow on a terminal: the missing card of an ill machine; none on a healthy one."""
    ill = printed(Inspection(odd_machines.ill_b200()), colours=True)
    assert "\x1b[1;33mon the PCI bus" in ill
    assert "\x1b[1;33m" not in printed(Inspection(machines.eight_h100()), colours=True)


def test_a_simulated_machine_says_so_first() -> None:
    """The first line names the profile."""
    text = printed(Inspection(machines.eight_h100(), notice="SIMULATED 8xH100"), colours=False)
    assert text.splitlines()[0].endswith("SIMULATED 8xH100")


def test_json_of_equal_machines_is_equal() -> None:
    """The order in which variables were set changes nothing."""
    made = machines.eight_h100()
    assert made.machine is not None
    turned: dict[str, Any] = dict(reversed(made.machine.environment.items()))
    other = replace(made, machine=replace(made.machine, environment=turned))
    assert Inspection(other).json == Inspection(made).json
    assert json.loads(Inspection(made).json)["machine"]["cards"][7]["device"] == "gpu7"


def test_an_unanswered_look_without_a_word_still_says_what_to_do() -> None:
    """The trouble is never empty where the look did not end."""
    stuck = Absence(what="inventory", reason="deadline")
    inspection = Inspection(replace(machines.eight_h100(), looked_for=(), absences=(stuck,)))
    assert inspection.exit_code == 3
    assert inspection.trouble.startswith("the driver did not answer\n")


TOKENS = {
    "NCCL_AUTH_TOKEN": "hf_" + "Q7wErTyUiOpAsDfGhJkL" * 2,
    "NCCL_SOCKET_IFNAME": "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2,
    "HF_TOKEN": "hf_" + "Zx9Cv8Bn7Mm6Kk5Jj4Hh" * 2,
    "PIP_INDEX_URL": "https://renter:s3cr3t-Pa55@packages.example/simple",
}
"""Secrets by a variable's name, by their shape in an allowed variable, and in others."""


def test_no_secret_leaves_by_the_inventory() -> None:
    """Tokens in allowed and other variables and in a pip address are in neither output."""
    for flag in ((), ("--json",)):
        done = subprocess.run(
            [sys.executable, "-m", "preflight", "inspect", "--device", "cpu", *flag],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, **TOKENS},
        )
        assert done.returncode == 0, done.stderr
        assert "NCCL_SOCKET_IFNAME" in done.stdout
        for secret in (*TOKENS.values(), "s3cr3t-Pa55"):
            assert secret not in done.stdout + done.stderr


def test_no_secret_leaves_by_the_names_of_processes() -> None:
    """A token on another process's command line is taken out before the inventory is kept."""
    token = "sk-proj-" + "A1b2C3d4E5f6G7h8" * 2
    process = Process(pid=7, name=f"/usr/bin/train --api-key={token}", memory_GiB=1.0)
    card = Card(device="gpu0", processes=(process,))
    machine = Machine(node="n", cards=(card,))
    kept = without_secrets(Inventory(host=Host(name="n"), nodes=(), machine=machine))
    assert kept.machine is not None
    (found,) = kept.machine.cards[0].processes
    assert token not in str(found) and "/usr/bin/train" in str(found)
