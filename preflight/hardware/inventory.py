"""Looks at the machine as a whole; to be called in a child process, for a driver may block."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

import msgspec

from preflight.events import Inventory
from preflight.facts import Absence, Machine, RdmaPort
from preflight.hardware.amd import AmdBackend
from preflight.hardware.cpu import CpuBackend
from preflight.hardware.disks import Purpose
from preflight.hardware.files import Files
from preflight.hardware.host import read_host, read_host_facts
from preflight.hardware.nvidia import NvidiaBackend
from preflight.hardware.pci import accelerators, read_bus
from preflight.hardware.protocol import Backend, Say, Sighting, silent
from preflight.records import Node
from preflight.redaction import environment_facts

Early = Callable[[Inventory], None]
"""Takes what is known before any vendor's library is asked."""


def backends_for(accelerator: str, files: Files, environ: Mapping[str, str]) -> tuple[Backend, ...]:
    """Backends to ask for ``auto``, ``cuda``, ``hip`` or ``cpu``; none for ``none``."""
    backends: dict[str, tuple[Backend, ...]] = {
        "none": (),
        "cpu": (CpuBackend(files),),
        "cuda": (NvidiaBackend(files, environ),),
        "hip": (AmdBackend(files, environ),),
        "auto": (NvidiaBackend(files, environ), AmdBackend(files, environ)),
    }
    return backends[accelerator]


def take_inventory(
    accelerator: str,
    *,
    files: Files,
    say: Say = silent,
    early: Early | None = None,
    backends: Sequence[Backend] | None = None,
    paths: Mapping[Purpose, str] | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Inventory:
    """What the machine is; with ``auto`` the first backend that has devices is the machine's.

    ``paths`` are folders by purpose, whose disks are looked at. The host is read first and handed
    to ``early``, since the drivers may never answer.
    """
    say("files of the host")
    first = _host(files, paths or {}, environ)
    if early is not None:
        early(first)
    node = first.nodes[0].name
    asked = backends_for(accelerator, files, environ) if backends is None else tuple(backends)
    sightings = [backend.look(node, say) for backend in asked]
    looked_for = [sighting.looked_for for sighting in sightings]
    if accelerator != "cpu":
        cards = accelerators(files)
        looked_for.append("PCI bus: " + ("; ".join(cards) if cards else "no accelerator"))
    chosen = next((s for s in sightings if s.devices), None)
    assert first.machine is not None, "the host was read"
    return msgspec.structs.replace(
        first,
        devices=chosen.devices if chosen else (),
        hidden=tuple(text for sighting in sightings for text in sighting.hidden),
        looked_for=tuple(looked_for),
        absences=(chosen.absences if chosen else tuple(a for s in sightings for a in s.absences)),
        machine=_with_cards(first.machine, chosen or next(iter(sightings), None)),
    )


def _host(files: Files, paths: Mapping[Purpose, str], environ: Mapping[str, str]) -> Inventory:
    """The node below the accelerators, which the PCI bus alone has shown so far."""
    host = read_host(files, environ)
    bus = read_bus(files)
    addresses = {card.pci: card.pci for card in bus} if not isinstance(bus, Absence) else {}
    machine = Machine(
        node=host.name,
        bus=bus,
        host=read_host_facts(files, addresses, paths, environ),
        environment=environment_facts(environ),
    )
    return Inventory(host=host, nodes=(Node(name=host.name),), machine=machine)


def _with_cards(machine: Machine, sighting: Sighting | None) -> Machine:
    """The machine with what its driver said; a card is called by its name from now on."""
    if sighting is None:
        return machine
    names = {device.pci: device.name for device in sighting.devices if device.pci}
    ports = machine.host.rdma
    if not isinstance(ports, Absence):
        ports = tuple(_near(port, names) for port in ports)
    return msgspec.structs.replace(
        machine,
        driver=sighting.driver,
        cards=sighting.cards,
        topology=sighting.topology,
        peers=sighting.peers,
        host=msgspec.structs.replace(machine.host, rdma=ports),
    )


def _near(port: RdmaPort, names: Mapping[str, str]) -> RdmaPort:
    return msgspec.structs.replace(port, nearest=names.get(port.nearest, port.nearest))
