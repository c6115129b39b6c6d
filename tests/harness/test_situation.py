"""What a check may know, read from the journal."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from faults.runs import inventory, open_run, options

from preflight.events import Ended, Environment, Started
from preflight.facts import Absence, Card, HostFacts, Machine
from preflight.harness import CannotLook
from preflight.harness.journal import read_journal
from preflight.harness.situation import Situation, read_situation
from preflight.plan import Plan
from preflight.records import Check, Device, Order, Versions

DONE = Check(id="system.one", stage="system", title="One", status="pass")


def read(tmp_path: Path, *more: object, **changes: object) -> Situation:
    """The situation of a run over two cards, after ``more`` events."""
    journal = open_run(tmp_path, options(**changes), "gpu0", "gpu1")
    for event in more:
        journal.append(event)  # type: ignore[arg-type]
    return read_situation(read_journal(tmp_path))


def test_the_run_and_the_machine_are_there(tmp_path: Path) -> None:
    """Options, plan and devices are those of the journal."""
    file = tmp_path / "plan.toml"
    file.write_text("[order]\ngpus = 2\n")
    found = read(tmp_path, plan_file=str(file))
    assert found.options.level == "quick"
    assert found.plan.order.gpus == 2
    assert [device.name for device in found.devices] == ["gpu0", "gpu1"]
    assert (found.node, found.environment, found.results) == ("node-a", None, [])


def test_an_empty_plan_is_a_plan(tmp_path: Path) -> None:
    """Checks read defaults without asking whether there is a plan."""
    assert read(tmp_path).plan == Plan()


def test_results_so_far_are_read_in_order(tmp_path: Path) -> None:
    """Other events between them do not disturb."""
    begun = Started(id="system.one", device=None, pid=1, at="")
    assert read(tmp_path, begun, Ended(check=DONE)).results == [DONE]


def test_devices_carry_the_names_that_torch_gave(tmp_path: Path) -> None:
    """A device that torch was not seen to have keeps what the inventory knew."""
    environment = Environment(versions=Versions(), torch_devices={"gpu1": "cuda:7"})
    found = read(tmp_path, environment)
    assert found.device("gpu1").torch_device == "cuda:7"
    assert found.device("gpu0").torch_device == "cpu"


def test_an_unknown_device_is_a_fault_of_the_caller(tmp_path: Path) -> None:
    """KeyError, never a device of another name."""
    with pytest.raises(KeyError, match="gpu9"):
        read(tmp_path).device("gpu9")


@pytest.mark.parametrize(("mode", "answer"), [("certify", False), ("rehearse", True)])
def test_only_certifying_is_no_rehearsal(tmp_path: Path, mode: str, answer: bool) -> None:
    """The CPU stands in for the cards in every other mode."""
    assert read(tmp_path, mode=mode).is_rehearsal is answer


def test_a_journal_without_an_inventory_is_a_fault_of_ours() -> None:
    """A phase starts after it."""
    with pytest.raises(AssertionError):
        read_situation([inventory("gpu0")])


@pytest.mark.parametrize(
    ("mode", "answer"), [("certify", True), ("simulate", True), ("rehearse", False)]
)
def test_a_simulated_card_is_a_card(tmp_path: Path, mode: str, answer: bool) -> None:
    """Only a rehearsal has none to judge."""
    assert read(tmp_path, mode=mode).has_cards is answer


H100 = Device(
    name="gpu0",
    node="node-a",
    kind="cuda",
    product="NVIDIA H100 80GB HBM3",
    memory_GiB=79.65,
    architecture="sm_90",
)


def known(found: Situation, **machine: object) -> Situation:
    """The situation with facts of the machine."""
    made = Machine(node="node-a", **machine)  # type: ignore[arg-type]
    found.inventory = msgspec.structs.replace(found.inventory, machine=made)
    return found


def test_the_catalogue_knows_what_was_bought(tmp_path: Path) -> None:
    """An order may mean several products, one, or none that is known."""
    found = read(tmp_path)
    assert found.bought == ()
    found.order = Order(product="H100 80GB")
    assert [one.name for one in found.bought] == ["H100 SXM 80GB", "H100 PCIe 80GB"]
    found.order = Order(product="H1000")
    assert found.bought == ()


def test_the_catalogue_knows_what_a_device_is(tmp_path: Path) -> None:
    """By its name, and not against its PCI id, memory or architecture."""
    found = read(tmp_path)
    product = found.product_of(H100)
    assert product is not None and product.name == "H100 SXM 80GB"
    h800 = known(found, cards=(Card(device="gpu0", pci_id="10de:2324"),))
    assert h800.product_of(H100) is None
    assert found.product_of(msgspec.structs.replace(H100, memory_GiB=40.0)) is None


@pytest.mark.parametrize(
    ("seen", "answer"),
    [
        ("none", None),
        ("podman", "podman"),
        (Absence(reason="not asked"), "docker"),
    ],
)
def test_the_container_is_told(tmp_path: Path, seen: str | Absence, answer: str | None) -> None:
    """The facts have the word; where they are silent, the few of the record's host."""
    found = known(read(tmp_path), host=HostFacts(container=seen))
    host = msgspec.structs.replace(found.inventory.host, container="docker")
    found.inventory = msgspec.structs.replace(found.inventory, host=host)
    assert found.container == answer


def test_without_a_look_at_the_machine_its_facts_are_an_error(tmp_path: Path) -> None:
    """The first thing that was looked for says what did not answer."""
    found = read(tmp_path)
    found.inventory = msgspec.structs.replace(found.inventory, machine=None)
    with pytest.raises(CannotLook):
        _ = found.machine
