"""Looks at the machine as a whole; to be called in a child process, for a driver may block."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from preflight.events import Inventory
from preflight.hardware.amd import AmdBackend
from preflight.hardware.cpu import CpuBackend
from preflight.hardware.files import Files
from preflight.hardware.host import read_host
from preflight.hardware.nvidia import NvidiaBackend
from preflight.hardware.pci import accelerators
from preflight.hardware.protocol import Backend
from preflight.records import Node


def backends_for(accelerator: str, root: Path = Path("/")) -> tuple[Backend, ...]:
    """Backends to ask for ``auto``, ``cuda``, ``hip`` or ``cpu``."""
    if accelerator == "cpu":
        return (CpuBackend(root),)
    if accelerator == "cuda":
        return (NvidiaBackend(),)
    if accelerator == "hip":
        return (AmdBackend(Files(root)),)
    return (NvidiaBackend(), AmdBackend(Files(root)))


def take_inventory(
    accelerator: str, *, root: Path = Path("/"), backends: Sequence[Backend] | None = None
) -> Inventory:
    """What the machine is; with ``auto`` the first backend that has devices is the machine's."""
    host = read_host(Files(root))
    node = Node(name=host.name)
    asked = backends_for(accelerator, root) if backends is None else tuple(backends)
    sightings = [backend.look(node.name) for backend in asked]
    looked_for = [sighting.looked_for for sighting in sightings]
    if accelerator != "cpu":
        cards = accelerators(root)
        looked_for.append("PCI bus: " + ("; ".join(cards) if cards else "no accelerator"))
    chosen = next((s for s in sightings if s.devices), None)
    return Inventory(
        host=host,
        nodes=(node,),
        devices=chosen.devices if chosen else (),
        hidden=tuple(text for sighting in sightings for text in sighting.hidden),
        looked_for=tuple(looked_for),
        absences=(chosen.absences if chosen else tuple(a for s in sightings for a in s.absences)),
    )
