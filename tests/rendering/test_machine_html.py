"""The machine in the HTML report."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from preflight.events import Inventory
from preflight.records import Node, Record
from preflight.rendering import report_html

from . import extremes, machines, odd_machines, sample
from .test_report_html import Page, embedded


def section(record: Record) -> str:
    """The section of the machine, as HTML; empty where there is none."""
    html = report_html.render(record)
    found = re.search(r'(?s)<section aria-labelledby="machine">.*?</section>', html)
    return found.group(0) if found else ""


def text_of(record: Record) -> str:
    """What a reader sees of that section."""
    return Page(section(record)).text()


def test_a_record_without_machines_has_no_such_section() -> None:
    """An older record shows its devices and host as it always did."""
    html = report_html.render(sample.passing())
    assert section(sample.passing()) == ""
    assert "<summary>2 devices</summary>" in html and "<summary>Host</summary>" in html


def test_the_same_facts_as_in_the_terminal() -> None:
    """Cards, links, topology, host, network, disks and variables stand in the report."""
    text = text_of(machines.record_of(machines.eight_h100()))
    for words in (
        "Cards 8 × NVIDIA H100 80GB HBM3",
        "Gen1 x16 of Gen5 x16",
        "NV18 between all cards",
        "18 × NVLink 4.0 at 26.56 GB/s a direction, all active, no errors, on each card",
        "2 × Intel(R) Xeon(R) Platinum 8480C",
        "mlx5_7 port 1",
        "/data/checkpoints",
        "NVIDIA_VISIBLE_DEVICES",
        "GPU-5d0c0007-77a1-4c0e-9d1f-0242ac110002",
    ):
        assert words in text


def test_devices_are_not_listed_twice() -> None:
    """Where the machine is told, the short tables of devices and host are left out."""
    html = report_html.render(machines.record_of(machines.eight_h100()))
    assert "<summary>8 devices</summary>" not in html


def test_a_device_of_a_node_that_tells_nothing_keeps_its_table() -> None:
    """With the facts of one node alone, the devices of the other are still listed."""
    record = machines.record_of(machines.eight_h100())
    more = (*record.devices, sample.card(0, node="node-b"))
    html = report_html.render(replace(record, devices=more))
    assert "<summary>9 devices</summary>" in html


def test_cards_and_topology_are_open_and_the_rest_is_folded() -> None:
    """What is long and healthy is one line until it is asked for."""
    html = section(machines.record_of(machines.eight_h100()))
    opened = re.findall(r"<details open>\s*<summary>\s*<b>(.*?)</b>", html)
    folded = re.findall(r"<details>\s*<summary>\s*<b>(.*?)</b>", html)
    assert opened == ["Cards", "Topology"]
    assert folded == ["Host", "Driver", "Identity", "Network", "Disks", "Environment"]


def test_what_is_worth_a_look_is_open_and_stands_out() -> None:
    """A part with something odd in it is never folded away."""
    html = section(machines.record_of(odd_machines.ill_b200()))
    opened = re.findall(r"<details open>\s*<summary>\s*<b>(.*?)</b>", html)
    assert {"Host", "Driver", "Cards", "Links", "Peer to peer", "Kernel log"} <= set(opened)
    odd = re.findall(r'<span class="caution-words">(.*?)</span>', html)
    assert "17/18" in odd and "2, 14 ever" in odd and "18/18" not in odd
    healthy = section(machines.record_of(machines.eight_h100()))
    assert "caution-words" not in healthy


def _on(inventory: Inventory, node: str) -> Inventory:
    assert inventory.machine is not None
    return replace(
        inventory,
        nodes=(Node(name=node),),
        devices=tuple(replace(device, node=node) for device in inventory.devices),
        machine=replace(inventory.machine, node=node),
    )


def test_several_nodes_have_a_heading_each() -> None:
    """Each machine under its name, and all folded, so that a rack stays readable."""
    made = machines.eight_h100()
    html = section(machines.record_of(*(_on(made, f"node-{i}") for i in range(8))))
    assert re.findall(r"<h3><bdi>(.*?)</bdi></h3>", html) == [f"node-{i}" for i in range(8)]
    assert "<details open>" not in html
    assert len(html) < 1_000_000


@pytest.mark.parametrize("text", [extremes.ALL, extremes.TAG, extremes.BIDI + extremes.ANSI])
def test_hostile_strings_of_a_machine_stay_text(text: str) -> None:
    """No string of the machine adds an element, and what commands or reorders is shown."""
    record = machines.record_of(odd_machines.hostile(text))
    html = report_html.render(record)
    page = Page(html)
    assert [attrs for tag, attrs in page.elements if tag == "script"] == [
        {"type": "application/json", "id": "record"},
        {},
    ]
    assert not {"img", "b:"} & {tag for tag, _ in page.elements}
    shown = html.replace(embedded(html), "")
    assert not [c for c in shown if c != "\n" and (ord(c) < 32 or 0x7F <= ord(c) < 0xA0)]
    assert "\u202e" not in shown


def test_long_strings_of_a_machine_do_not_swamp_the_page() -> None:
    """Each is cut, and stands whole in the record on the page."""
    html = report_html.render(machines.record_of(odd_machines.hostile(extremes.LONG)))
    assert len(html.replace(embedded(html), "")) < 700_000
