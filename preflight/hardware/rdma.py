"""RDMA ports, from /sys/class/infiniband, and the accelerator that each is nearest to."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from preflight.facts import Absence, Flag, Number, RdmaPort, Text, known
from preflight.hardware.files import Files
from preflight.hardware.network import place_of
from preflight.hardware.numa import node_of
from preflight.hardware.pci import BUS, bus_path

_RDMA = "/sys/class/infiniband"
_VERBS = "/sys/class/infiniband_verbs"


def read_ports(files: Files, accelerators: Mapping[str, str]) -> tuple[RdmaPort, ...] | Absence:
    """Ports by device and number; none where the kernel has no RDMA devices.

    ``accelerators`` are PCI addresses by the name of the device.
    """
    devices = files.names(_RDMA)
    if isinstance(devices, Absence):
        # Without a driver for RDMA there is no such class; without /sys nothing is known.
        return () if devices.reason == "not found" and files.exists("/sys/class") else devices
    nearest = _nearest(files, devices, accelerators)
    nodes = _device_files(files)
    ports = []
    for device in devices:
        numbers = files.names(f"{_RDMA}/{device}/ports")
        for number in () if isinstance(numbers, Absence) else numbers:
            if re.fullmatch(r"[0-9]{1,3}", number):
                ports.append(_port(files, device, int(number), nearest[device], nodes))
    return tuple(ports)


def _port(
    files: Files, device: str, number: int, nearest: str, nodes: Mapping[str, str]
) -> RdmaPort:
    folder = f"{_RDMA}/{device}/ports/{number}"
    pci, node = place_of(files, f"{_RDMA}/{device}/device")
    return RdmaPort(
        device=device,
        port=number,
        state=_word(files, f"{folder}/state"),
        physical_state=_word(files, f"{folder}/phys_state"),
        link_layer=_lower(files.text(f"{folder}/link_layer")),
        rate_Gbps=_rate_Gbps(files, f"{folder}/rate"),
        pci=pci,
        numa_node=node,
        nearest=nearest,
        is_open=_opens(files, device, nodes),
    )


def _opens(files: Files, device: str, nodes: Mapping[str, str]) -> Flag:
    if device not in nodes:
        return Absence(what=f"{_VERBS} of {device}", reason="not found")
    return files.opens(f"/dev/infiniband/{nodes[device]}")


def _word(files: Files, path: str) -> Text:
    """``link up`` of ``5: LinkUp``."""
    text = files.text(path)
    if isinstance(text, Absence):
        return text
    word = text.partition(":")[2].strip() or text
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", word).lower()


def _lower(text: Text) -> Text:
    return text if isinstance(text, Absence) else text.lower()


def _rate_Gbps(files: Files, path: str) -> Number:
    """400.0 of ``400 Gb/sec (4X NDR)``."""
    text = files.text(path)
    if isinstance(text, Absence):
        return text
    match = re.match(r"([0-9]{1,6}(?:\.[0-9]{1,3})?) Gb/sec", text)
    if match is None:
        return Absence(what=path, reason="not readable", detail=f"{text[:80]!r}")
    return float(match[1])


def _device_files(files: Files) -> dict[str, str]:
    """``uverbs0`` by the device that it opens."""
    names = files.names(_VERBS)
    pairs = [
        (files.text(f"{_VERBS}/{name}/ibdev"), name)
        for name in (() if isinstance(names, Absence) else names)
        if re.fullmatch(r"uverbs[0-9]+", name)
    ]
    return {device: name for device, name in pairs if not isinstance(device, Absence)}


def _nearest(
    files: Files, devices: tuple[str, ...], accelerators: Mapping[str, str]
) -> dict[str, str]:
    """The nearest accelerator of each device; equally near ones are given out in turn.

    Two cards and two adapters behind one switch are all as near to each other: each adapter gets
    the card that has the fewest of them so far.
    """
    paths = {name: bus_path(files, f"{BUS}/{pci}") for name, pci in accelerators.items()}
    taken: Counter[str] = Counter()
    nearest = {}
    for device in devices:
        path = bus_path(files, f"{_RDMA}/{device}/device")
        shared = {name: _shared(path, other) for name, other in paths.items()}
        most = max(shared.values(), default=0)
        candidates = [name for name, steps in shared.items() if steps == most and steps > 0]
        candidates = candidates or _on_same_node(files, device, accelerators)
        nearest[device] = min(candidates, key=lambda name: taken[name], default="")
        taken[nearest[device]] += 1
    return nearest


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """Steps that two ways from a host bridge have in common."""
    steps = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        steps += 1
    return steps


def _on_same_node(files: Files, device: str, accelerators: Mapping[str, str]) -> list[str]:
    """The one accelerator on the NUMA node of a device; none where there are several."""
    node = known(place_of(files, f"{_RDMA}/{device}/device")[1])
    if node is None or node < 0:
        return []
    found = [n for n, pci in accelerators.items() if node_of(files, f"{BUS}/{pci}") == node]
    return found if len(found) == 1 else []
