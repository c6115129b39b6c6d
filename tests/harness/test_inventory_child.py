"""The inventory is taken in a child, and a driver that hangs or crashes costs the child alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from preflight.events import Inventory
from preflight.harness.inventory_child import look_at_machine
from preflight.harness.sweep import RUN_VARIABLE, survivors

CRASH = "import ctypes; ctypes.string_at(0)"
HANG = "import ctypes; ctypes.PyDLL(None).sleep(600)"


@pytest.fixture
def vendor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of the vendor's library, first on the path of our processes."""
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path / "pynvml.py"


def look(tmp_path: Path, accelerator: str = "cuda") -> Inventory:
    """The inventory of this machine; no process of it is left."""
    found = look_at_machine(accelerator, run_variables={RUN_VARIABLE: str(tmp_path)})
    assert survivors(tmp_path) == ()
    return found


def test_the_cpu_is_found(tmp_path: Path) -> None:
    """A rehearsal has one device, and the host and node are named."""
    found = look(tmp_path, "cpu")
    assert [(d.name, d.kind, d.torch_device) for d in found.devices] == [("cpu", "cpu", "cpu")]
    assert found.nodes[0].name == found.host.name
    assert found.absences == ()


@pytest.mark.parametrize(
    ("text", "reason", "sentence"),
    [
        (CRASH, "failed", "was ended by SIGSEGV"),
        ("import os; os._exit(5)", "failed", "exited with code 5"),
        (HANG, "deadline", "did not end within 2 s"),
    ],
)
def test_a_library_that_crashes_or_hangs_is_told(
    vendor: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    reason: str,
    sentence: str,
) -> None:
    """No device, the host all the same, and an absence that says what happened."""
    monkeypatch.setattr("preflight.harness.inventory_child.INVENTORY_DEADLINE_S", 2.0)
    vendor.write_text(f"print('NVRM: Xid 79', flush=True)\n{text}\n")
    found = look(tmp_path)
    assert found.devices == ()
    assert found.host.name == found.nodes[0].name != ""
    (absence,) = found.absences
    assert (absence.what, absence.reason) == ("inventory", reason)
    assert absence.detail == "NVRM: Xid 79\n"
    assert found.looked_for[0].endswith(f"the process that asked it {sentence}")


def test_a_library_that_raises_is_told(vendor: Path, tmp_path: Path) -> None:
    """An exception of ours or theirs ends the child, and its traceback is kept."""
    vendor.write_text("raise RuntimeError('no such driver')\n")
    found = look(tmp_path)
    assert found.devices == ()
    assert any("no such driver" in absence.detail for absence in found.absences)


def test_an_answer_that_was_cut_short_is_no_answer(vendor: Path, tmp_path: Path) -> None:
    """Half an inventory is treated like none."""
    vendor.write_text(
        "import os\n"
        "os.write(int(os.environ['PREFLIGHT_ANSWER_FD']), b'{\"type\":\"inven')\n"
        "os._exit(0)\n"
    )
    found = look(tmp_path)
    assert [absence.what for absence in found.absences] == ["inventory"]
