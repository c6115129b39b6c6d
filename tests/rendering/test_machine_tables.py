from __future__ import annotations

from msgspec.structs import replace

from preflight.events import Inventory
from preflight.facts import Driver
from preflight.records import Device, Node
from preflight.rendering.machine_tables import machine_parts, machines_in_short, nodes_of

from . import machines, odd_machines, sample


def on(inventory: Inventory, node: str) -> Inventory:
    """The same on a node of another name."""
    assert inventory.machine is not None
    return replace(
        inventory,
        host=replace(inventory.host, name=node),
        nodes=(Node(name=node),),
        devices=tuple(replace(device, node=node) for device in inventory.devices),
        machine=replace(inventory.machine, node=node),
    )


def titles(inventory: Inventory) -> list[str]:
    """Headings of the parts of a machine."""
    assert inventory.machine is not None
    parts = machine_parts(
        inventory.machine,
        devices=inventory.devices,
        host=inventory.host,
        hidden=inventory.hidden,
        absences=inventory.absences,
    )
    return [part.title for part in parts]


def test_parts_stand_in_the_order_in_which_they_are_read() -> None:
    """All parts of a machine that has something to say in each."""
    assert titles(odd_machines.ill_b200()) == [
        "Host",
        "Driver",
        "Cards",
        "Identity",
        "Links",
        "Topology",
        "Peer to peer",
        "Kernel log",
        "Network",
        "Disks",
        "Environment",
        "Not known",
    ]


def test_a_part_with_nothing_in_it_is_left_out() -> None:
    """A host without a card shows itself and why there is none."""
    assert titles(odd_machines.no_card()) == ["Host", "Cards", "Not known"]


def test_an_old_record_has_no_machines() -> None:
    """A record that was written before there were any shows nothing of them."""
    assert nodes_of(sample.passing()) == ()
    assert machines_in_short(sample.passing()) == ()


def test_each_node_of_a_record_has_its_own_cards() -> None:
    """Cards of the other node, and the host of the first, are not mixed in."""
    made = machines.eight_h100()
    record = machines.record_of(made, on(odd_machines.ill_b200(), "node-b"))
    first, second = nodes_of(record)
    assert (first.node, second.node) == ("node-a", "node-b")
    notes = [[part.note for part in one.parts if part.title == "Cards"] for one in (first, second)]
    assert notes == [["8 × NVIDIA H100 80GB HBM3"], ["2 × NVIDIA B200"]]
    host = dict(second.parts[0].pairs)
    assert host["name"].text == "node-b" and "system" not in host


def test_equal_nodes_are_told_once_in_short() -> None:
    """Driver, links and topology of two nodes alike are a line each."""
    made = machines.eight_h100()
    assert machines_in_short(machines.record_of(made, on(made, "node-b"))) == (
        ("Driver", "580.65.06, open kernel module, CUDA 13.0"),
        (
            "Links",
            "18 × NVLink 4.0 at 26.56 GB/s a direction, all active, no errors, on each card",
        ),
        ("Topology", "NV18 between all cards"),
    )


def test_nodes_that_differ_are_named_in_short() -> None:
    """Another driver on the second node is told with both."""
    made = machines.eight_h100()
    other = on(made, "node-b")
    assert other.machine is not None
    old = replace(other.machine, driver=Driver(version="570.86.15"))
    devices = tuple(replace(d, driver_cuda=None) for d in other.devices)
    record = machines.record_of(made, replace(other, machine=old, devices=devices))
    assert dict(machines_in_short(record))["Driver"] == (
        "node-a: 580.65.06, open kernel module, CUDA 13.0; node-b: 570.86.15"
    )


def test_a_rehearsal_looked_for_no_card() -> None:
    """The CPU is no card, and none is missed."""
    made = odd_machines.no_card()
    cpu = Device(name="cpu", node="build-7", kind="cpu", product="CPU")
    (one,) = nodes_of(machines.record_of(replace(made, devices=(cpu,))))
    notes = {part.title: part.note for part in one.parts}
    assert notes["Cards"] == "none was looked for"
