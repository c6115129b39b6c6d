from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from preflight.events import Inventory
from preflight.facts import Absence, BusCard, Machine, Pcie, Process
from preflight.records import Device
from preflight.rendering.machine_cards import (
    accelerators,
    cards_part,
    identity_part,
    products,
)
from preflight.rendering.machine_parts import Entry, Part

from . import machines, odd_machines


def machine_of(inventory: Inventory, **fields: Any) -> Machine:
    """The machine of an inventory, but for what is given."""
    assert inventory.machine is not None
    return replace(inventory.machine, **fields)


def shown(inventory: Inventory, machine: Machine, **more: Any) -> Part:
    """The part of the cards."""
    return cards_part(machine, accelerators(machine, inventory.devices), **more)


def column_of(part: Part, title: str) -> list[str]:
    """The texts of the column of that title."""
    found = (one for table in part.tables for one in table.columns if one.title == title)
    return [entry.text for entry in next(found).entries]


def test_cards_stand_in_the_drivers_order_without_the_cpu() -> None:
    """The CPU of a rehearsal and the cards of another node are no cards of this machine."""
    made = machines.eight_h100()
    cpu = Device(name="cpu", node="node-a", kind="cpu", product="CPU")
    other = replace(made.devices[0], node="node-b")
    found = accelerators(machine_of(made), (other, *made.devices, cpu))
    assert [one.device.name for one in found] == [f"gpu{i}" for i in range(8)]


def test_a_device_without_a_card_keeps_its_row() -> None:
    """What the record says of it stands there, the rest is a dash."""
    made = machines.eight_h100()
    machine = machine_of(made, cards=machine_of(made).cards[:7])
    part = shown(made, machine)
    assert column_of(part, "PCI")[7] == "0000:df:00.0"
    assert column_of(part, "links")[6:] == ["18/18", "–"]
    assert column_of(part, "memory GiB")[7] == "–/79.6"


def test_products_are_counted() -> None:
    """Kinds of cards stand apart, each with its number."""
    made = machines.eight_h100()
    devices = (*made.devices[:7], replace(made.devices[7], product="NVIDIA H200"))
    assert products(accelerators(machine_of(made), devices)) == (
        "7 × NVIDIA H100 80GB HBM3, 1 × NVIDIA H200"
    )


def test_one_product_needs_no_column() -> None:
    """The heading says it; cards of several kinds each say theirs."""
    made = machines.eight_h100()
    titles = [one.title for one in shown(made, machine_of(made)).tables[0].columns]
    assert "product" not in titles
    devices = (*made.devices[:7], replace(made.devices[7], product="NVIDIA H200"))
    mixed = cards_part(machine_of(made), accelerators(machine_of(made), devices))
    assert column_of(mixed, "product")[7] == "NVIDIA H200"


@pytest.mark.parametrize(
    ("pcie", "entry"),
    [
        (
            Pcie(generation=1, width=16, max_generation=5, max_width=16),
            Entry("Gen1 x16 of Gen5 x16"),
        ),
        (Pcie(generation=5, width=16, max_generation=5, max_width=16), Entry("Gen5 x16")),
        (
            Pcie(generation=5, width=8, max_generation=5, max_width=16),
            Entry("Gen5 x8 of Gen5 x16", "caution"),
        ),
        (
            Pcie(generation=4, width=16, max_generation=4, max_width=16, card_max_generation=5),
            Entry("Gen4 x16 (card: Gen5)", "caution"),
        ),
        (Pcie(generation=4, width=16), Entry("Gen4 x16")),
        (Pcie(max_generation=4), Entry("of Gen4")),
    ],
)
def test_the_link_to_the_host_is_told_against_its_most(pcie: Pcie, entry: Entry) -> None:
    """Fewer lanes or a slower slot stand out; generation 1 at rest does not."""
    made = machines.eight_h100()
    machine = machine_of(made, cards=(machines.h100(0, pcie=pcie),))
    part = shown(replace(made, devices=made.devices[:1]), machine)
    column = next(one for one in part.tables[0].columns if one.title == "PCIe")
    assert column.entries == (entry,)


def test_a_card_in_use_names_its_processes() -> None:
    """The number stands in the table, each process below."""
    part = shown(odd_machines.ill_b200(), machine_of(odd_machines.ill_b200()))
    assert column_of(part, "processes") == ["0", "2"]
    assert column_of(part, "name") == ["python3 train.py", "–"]
    assert column_of(part, "process") == ["4211", "4212"]


def test_hundreds_of_processes_do_not_swamp_the_page() -> None:
    """At most 32 of them are named; the table above counts them all."""
    made = machines.eight_h100()
    many = tuple(Process(pid=i, name="x") for i in range(500))
    machine = machine_of(made, cards=(machines.h100(0, processes=many),))
    part = shown(replace(made, devices=made.devices[:1]), machine)
    assert column_of(part, "processes") == ["500"]
    assert len(column_of(part, "process")) == 32


def unseen(**fields: Any) -> list[Entry]:
    """The remarks where the driver shows seven of eight cards of the bus."""
    hidden = fields.pop("hidden", ())
    made = machines.eight_h100()
    machine = machine_of(made, **fields)
    found = accelerators(machine, made.devices[:7])
    return list(cards_part(machine, found, hidden=hidden).remarks)


def on_bare_metal(**fields: Any) -> dict[str, Any]:
    """No container and no variable: nothing that explains a missing card."""
    host = replace(machines.FACTS, container="none")
    return {"host": host, "environment": {}, **fields}


def test_a_card_that_the_driver_does_not_show_is_named() -> None:
    """With its address, and as something to look at."""
    (remark,) = unseen(**on_bare_metal())
    assert remark.text.endswith("NVIDIA 10de:2330 at 0000:df:00.0; taken by nvidia")
    assert remark.tone == "caution"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (on_bare_metal(hidden=("gpu7 by X", "gpu6 by X")), None),
        (
            on_bare_metal(environment={"CUDA_VISIBLE_DEVICES": "0,1"}),
            "perhaps hidden by CUDA_VISIBLE_DEVICES",
        ),
        (
            on_bare_metal(host=replace(machines.FACTS, container="docker")),
            "perhaps not given to this container",
        ),
    ],
    ids=["told already", "variable", "container"],
)
def test_a_card_that_may_be_kept_from_us_is_no_alarm(
    fields: dict[str, Any], words: str | None
) -> None:
    """A variable or a container that shows some cards alone explains it."""
    remarks = [one for one in unseen(**fields) if not one.text.startswith("hidden")]
    assert [one.tone for one in remarks] == ([""] if words else [])
    assert all(words in one.text for one in remarks if words)


def test_a_card_that_no_driver_has_taken_is_an_alarm_everywhere() -> None:
    """No variable and no container keeps the kernel from its card."""
    made = odd_machines.ill_b200()
    (remark,) = shown(made, machine_of(made)).remarks
    assert remark.tone == "caution"
    assert remark.text.endswith("at 0000:52:00.0; no kernel driver has taken it")


def test_a_display_adapter_is_no_missing_card() -> None:
    """What computes nothing for us is not looked for."""
    adapter = BusCard(pci="0000:03:00.0", vendor="AMD", pci_id="1002:164e", is_accelerator=False)
    assert unseen(**on_bare_metal(bus=(adapter,))) == []
    assert unseen(**on_bare_metal(bus=Absence(what="PCI bus", reason="not readable"))) == []


def test_hidden_devices_are_named_with_what_hides_them() -> None:
    """As the inventory tells them."""
    text = "gpu7 (NVIDIA H100) by CUDA_VISIBLE_DEVICES=0"
    assert Entry(f"hidden: {text}", "caution") in unseen(**on_bare_metal(hidden=(text,)))


@pytest.mark.parametrize(("was_asked", "words"), [(True, "found"), (False, "looked for")])
def test_a_machine_without_a_card_says_so(was_asked: bool, words: str) -> None:
    """A rehearsal looked for none, which is not the same as having found none."""
    part = cards_part(machine_of(odd_machines.no_card()), (), was_asked=was_asked)
    assert part.note == f"none was {words}"


def test_what_identity_the_cards_share_stands_once() -> None:
    """Board and VBIOS of eight equal cards are a pair; another VBIOS makes it a column."""
    made = machines.eight_h100()
    equal = identity_part(accelerators(machine_of(made), made.devices))
    assert ("VBIOS", Entry("96.00.A5.00.01 on each card")) in equal.pairs
    cards = (*machine_of(made).cards[:7], machines.h100(7, vbios="96.00.30.00.01"))
    mixed = identity_part(accelerators(machine_of(made, cards=cards), made.devices))
    assert [term for term, _ in mixed.pairs] == ["board", "PCI id"]
    assert column_of(mixed, "VBIOS")[6:] == ["96.00.A5.00.01", "96.00.30.00.01"]


def test_a_value_that_one_card_lacks_is_not_shared() -> None:
    """A VBIOS that is not known of one card stands beside the others."""
    made = machines.eight_h100()
    gone = Absence(what="nvmlDeviceGetVbiosVersion", reason="device lost")
    cards = (*machine_of(made).cards[:7], machines.h100(7, vbios=gone))
    mixed = identity_part(accelerators(machine_of(made, cards=cards), made.devices))
    assert column_of(mixed, "VBIOS")[7] == "–"
