"""A machine as parts in the order in which a person reads them, and in a few words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from preflight.facts import Absence, Machine
from preflight.records import Device, Host, Record
from preflight.rendering.machine_cards import accelerators, cards_part, identity_part
from preflight.rendering.machine_host import driver_in_short, driver_part, host_part
from preflight.rendering.machine_links import (
    link_kind,
    links_in_short,
    links_part,
    peers_part,
    topology_in_short,
    topology_part,
)
from preflight.rendering.machine_network import (
    disks_part,
    environment_part,
    kernel_part,
    network_part,
)
from preflight.rendering.machine_parts import Part
from preflight.rendering.machine_unknown import unknown_part


def machine_parts(
    machine: Machine,
    *,
    devices: Sequence[Device],
    host: Host | None,
    hidden: Sequence[str] = (),
    absences: Sequence[Absence] = (),
) -> tuple[Part, ...]:
    """All that is known of one node; parts with nothing in them are left out.

    ``devices`` may hold those of other nodes too; ``hidden`` and ``absences`` are those of the
    inventory, which a record does not keep.
    """
    found = accelerators(machine, devices)
    addresses = {one.device.pci.lower(): one.device for one in found if one.device.pci}
    kind = link_kind([one.device.kind for one in found])
    parts = (
        host_part(machine, host),
        driver_part(machine, devices),
        cards_part(machine, found, hidden=hidden, was_asked=all(d.kind != "cpu" for d in devices)),
        identity_part(found),
        links_part(kind, [one.card for one in found]),
        topology_part(machine),
        peers_part(machine),
        kernel_part(machine, addresses),
        network_part(machine),
        disks_part(machine),
        environment_part(machine),
        unknown_part(machine, absences),
    )
    return tuple(part for part in parts if not part.is_empty)


@dataclass(frozen=True, kw_only=True)
class NodeParts:
    """All parts of one node of a record."""

    node: str
    parts: tuple[Part, ...]


def nodes_of(record: Record) -> tuple[NodeParts, ...]:
    """Each machine of the record in parts; empty for one that was written before there were any."""
    only = len(record.machines) == 1
    return tuple(
        NodeParts(
            node=machine.node,
            parts=machine_parts(
                machine,
                devices=record.devices,
                host=record.host if only or machine.node == record.host.name else None,
            ),
        )
        for machine in record.machines
    )


def machines_in_short(record: Record) -> tuple[tuple[str, str], ...]:
    """Driver, links and topology of all nodes, a line each; empty for a record without machines."""
    told = [(machine.node, _in_short(machine, record)) for machine in record.machines]
    lines = []
    for place, term in enumerate(("Driver", "Links", "Topology")):
        words = {node: texts[place] for node, texts in told if texts[place]}
        if len(set(words.values())) == 1:
            lines.append((term, next(iter(words.values()))))
        elif words:
            lines.append((term, "; ".join(f"{node}: {text}" for node, text in words.items())))
    return tuple(lines)


def _in_short(machine: Machine, record: Record) -> tuple[str, str, str]:
    found = accelerators(machine, record.devices)
    kind = link_kind([one.device.kind for one in found])
    return (
        driver_in_short(machine, [one.device for one in found]),
        links_in_short(kind, [one.card for one in found]),
        topology_in_short(machine),
    )
