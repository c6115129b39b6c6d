"""Accelerators on the PCI bus, seen without any driver."""

from __future__ import annotations

import re

from preflight.facts import Absence, BusCard, Flag
from preflight.hardware.files import Files
from preflight.hardware.numa import node_of

BUS = "/sys/bus/pci/devices"
VENDORS = {"0x10de": "NVIDIA", "0x1002": "AMD"}
CLASSES = ("0x03", "0x12")
"""Display controllers and processing accelerators (PCI code and ID assignment, base classes)."""
ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
"""As the kernel writes an address: ``0000:9a:00.0``."""
_VGA = "0x0300"
_OWN_GRAPHICS = frozenset(["0x515e", "0x164e", "0x13c0"])
"""Graphics of AMD that serve a screen and nothing else: ES1000 of server boards (515e), and the
two compute units inside desktop and small server CPUs, Raphael (164e) and Granite Ridge (13c0).
Names by the PCI ID database."""
_DISCRETE = re.compile(r"0x(?:66a|68[67]|69a|73|74|75)[0-9a-f]+")
"""Device ids of AMD's cards since Vega (PCI ID database: Vega 10, 12 and 20, Arcturus, Navi)."""


def accelerators(files: Files) -> tuple[str, ...]:
    """``NVIDIA 10de:2330 at 0000:9a:00.0`` for each; empty where there is no PCI bus to read."""
    cards = _cards(files)
    if isinstance(cards, Absence):
        return ()
    return tuple(
        f"{VENDORS[vendor]} {vendor[2:]}:{product[2:]} at {address}"
        for address, vendor, _, product in cards
    )


def read_bus(files: Files) -> tuple[BusCard, ...] | Absence:
    """NVIDIA's and AMD's display controllers and accelerators, by address.

    A virtual function whose physical one stands on the same bus is a slice of a card that is listed
    already, and is left out; in a virtual machine only the virtual function is there, and is the
    card.
    """
    cards = _cards(files)
    if isinstance(cards, Absence):
        return cards
    return tuple(
        BusCard(
            pci=address,
            vendor=VENDORS[vendor],
            pci_id=f"{vendor[2:]}:{product[2:]}",
            driver=files.target(f"{BUS}/{address}/driver"),
            numa_node=_node(files, address),
            is_accelerator=_is_accelerator(vendor, kind, product),
        )
        for address, vendor, kind, product in cards
        if isinstance(files.target(f"{BUS}/{address}/physfn"), Absence)
    )


def bus_path(files: Files, device: str) -> tuple[str, ...]:
    """Names on the way to a device's folder in sysfs, from the host bridge to its PCI address.

    ``("pci0000:15", "0000:15:01.0", "0000:1b:00.0")``; of a device that is not on the bus itself,
    such as a network interface, the way to the PCI device that it belongs to. Empty where it
    belongs to none.
    """
    resolved = files.resolved(device)
    if isinstance(resolved, Absence):
        return ()
    names = resolved.split("/")
    start = next((i for i, name in enumerate(names) if re.fullmatch(r"pci[0-9a-f:]+", name)), None)
    if start is None:
        return ()
    addresses = [i for i, name in enumerate(names) if ADDRESS.fullmatch(name)]
    return tuple(names[start : addresses[-1] + 1]) if addresses else ()


def _cards(files: Files) -> list[tuple[str, str, str, str]] | Absence:
    """Address, vendor, class and product of each; what went away meanwhile is passed over."""
    addresses = files.names(BUS)
    if isinstance(addresses, Absence):
        return addresses
    found = []
    for address in addresses:
        words = [files.text(f"{BUS}/{address}/{name}") for name in ("vendor", "class", "device")]
        vendor, kind, product = ("" if isinstance(w, Absence) else w for w in words)
        if vendor in VENDORS and kind.startswith(CLASSES) and product:
            found.append((address, vendor, kind, product))
    return found


def _node(files: Files, address: str) -> int | None:
    node = node_of(files, f"{BUS}/{address}")
    return None if isinstance(node, Absence) else node


def _is_accelerator(vendor: str, kind: str, product: str) -> Flag:
    """Whether it computes for us: all of NVIDIA's do, of AMD's all but the CPU's and the board's.

    AMD's compute cards are no VGA controllers; its graphics cards are, and so are the graphics in
    its CPUs, of which some compute as well: those are left open.
    """
    if vendor != "0x1002" or not kind.startswith(_VGA):
        return True
    if product in _OWN_GRAPHICS:
        return False
    if _DISCRETE.fullmatch(product):
        return True
    detail = "graphics inside a CPU, or an old card: the bus does not tell whether it computes"
    return Absence(what=f"AMD device {product}", reason="not supported", detail=detail)
