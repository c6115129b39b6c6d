"""Network interfaces that are hardware, from /sys/class/net."""

from __future__ import annotations

from preflight.facts import Absence, NetworkInterface, Number, Text, Whole
from preflight.hardware.files import Files
from preflight.hardware.numa import node_of
from preflight.hardware.pci import BUS, bus_path

_NET = "/sys/class/net"


def read_interfaces(files: Files) -> tuple[NetworkInterface, ...] | Absence:
    """Interfaces with a device behind them, by name; a container often sees none."""
    names = files.names(_NET)
    if isinstance(names, Absence):
        return names
    return tuple(_interface(files, name) for name in names if files.exists(f"{_NET}/{name}/device"))


def place_of(files: Files, device: str) -> tuple[Text, Whole]:
    """PCI address and NUMA node of the device that a folder in sysfs belongs to."""
    path = bus_path(files, device)
    if not path:
        return Absence(what=device, reason="not found", detail="not on PCI"), node_of(files, device)
    return path[-1], node_of(files, f"{BUS}/{path[-1]}")


def _interface(files: Files, name: str) -> NetworkInterface:
    folder = f"{_NET}/{name}"
    pci, node = place_of(files, f"{folder}/device")
    return NetworkInterface(
        name=name,
        state=files.text(f"{folder}/operstate"),
        rate_Gbps=_rate_Gbps(files, f"{folder}/speed"),
        mtu=files.whole(f"{folder}/mtu"),
        driver=files.target(f"{folder}/device/driver"),
        pci=pci,
        numa_node=node,
    )


def _rate_Gbps(files: Files, path: str) -> Number:
    """The kernel gives Mb/s; -1, or an error, for a link that is down or does not know."""
    rate = files.whole(path)
    if isinstance(rate, Absence):
        return rate
    if rate <= 0 or rate == 2**32 - 1:
        return Absence(what=path, reason="not supported", detail="the link does not tell its rate")
    return rate / 1000
