"""What surrounds the cards of a machine: network, disks, the kernel's log, the environment."""

from __future__ import annotations

from collections.abc import Mapping

from preflight.facts import Disk, KernelEvent, Machine, RdmaPort, known
from preflight.records import Device
from preflight.rendering.machine_parts import (
    Entry,
    Part,
    column,
    gib,
    listed,
    over,
    pairs,
    tables,
    warned,
)


def network_part(machine: Machine) -> Part:
    """RDMA ports, network interfaces, and what GPUDirect needs."""
    facts = machine.host
    ports, links = known(facts.rdma) or (), known(facts.interfaces) or ()
    rates = [known(link.rate_Gbps) for link in links]
    return Part(
        title="Network",
        pairs=pairs(
            ("GPUDirect RDMA", known(facts.peer_memory)),
            ("libibverbs", known(facts.verbs_library)),
        ),
        tables=(
            *tables(
                column("RDMA", (f"{port.device} port {port.port}" for port in ports)),
                column("state", map(_port_state, ports)),
                column("layer", (known(port.link_layer) for port in ports)),
                column("Gb/s", (_rate(known(port.rate_Gbps)) for port in ports), is_number=True),
                column("PCI", (known(port.pci) for port in ports)),
                column("NUMA", (_node(known(port.numa_node)) for port in ports)),
                column("nearest", (port.nearest or None for port in ports)),
            ),
            *tables(
                column("interface", (link.name for link in links)),
                column("state", (known(link.state) for link in links)),
                column("Gb/s", map(_rate, rates), is_number=True),
                column("MTU", (_text(known(link.mtu)) for link in links), is_number=True),
                column("driver", (known(link.driver) for link in links)),
                column("PCI", (known(link.pci) for link in links)),
                column("NUMA", (_node(known(link.numa_node)) for link in links)),
            ),
        ),
    )


def _port_state(port: RdmaPort) -> Entry | None:
    state, physical = known(port.state), known(port.physical_state)
    if state is None:
        return Entry(physical) if physical else None
    if state == "active":
        return Entry("active")
    return warned(listed(state, physical), is_odd=False)


def _rate(rate_Gbps: float | None) -> str | None:
    return None if rate_Gbps is None else f"{rate_Gbps:g}"


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)


def _node(node: int | None) -> str | None:
    return None if node is None else "none" if node < 0 else str(node)


def disks_part(machine: Machine) -> Part:
    """File systems below the paths that matter."""
    disks = machine.host.disks
    return Part(
        title="Disks",
        tables=tables(
            column("for", (disk.purpose for disk in disks)),
            column("free GiB", map(_room, disks), is_number=True),
            column("file system", (known(disk.filesystem) for disk in disks)),
            column("kind", map(_kind, disks)),
            column("path", (disk.path for disk in disks)),
            column("mounted from", map(_source, disks), takes_rest=True),
        ),
    )


def _room(disk: Disk) -> str | None:
    free, size = known(disk.free_GiB), known(disk.size_GiB)
    return over(None if free is None else gib(free), None if size is None else gib(size))


def _kind(disk: Disk) -> Entry | None:
    read_only = bool(known(disk.read_only))
    text = listed(
        "remote" if known(disk.remote) else None,
        "rotating" if known(disk.rotational) else None,
        "read-only" if read_only else None,
    )
    return warned(text, read_only) if text else None


def _source(disk: Disk) -> str | None:
    source, mount = known(disk.source), known(disk.mount)
    return f"{source} at {mount}" if source and mount else source or mount


def kernel_part(machine: Machine, devices: Mapping[str, Device]) -> Part:
    """Lines of the kernel's log about an accelerator; ``devices`` are those of each PCI address."""
    events = known(machine.host.kernel_log) or ()
    return Part(
        title="Kernel log",
        tables=tables(
            column("event", map(_event, events)),
            column("where", (_where(event, devices) for event in events)),
            column("times", (str(event.count) for event in events), is_number=True),
            column("last", (ago(event.age_s) for event in events)),
            column("line", (event.text for event in events), takes_rest=True),
        ),
    )


def _event(event: KernelEvent) -> Entry:
    kind = event.kind.upper() if event.kind in ("xid", "sxid", "ras") else event.kind
    return Entry(kind if event.code is None else f"{kind} {event.code}", "caution")


def _where(event: KernelEvent, devices: Mapping[str, Device]) -> str | None:
    if event.pci is None:
        return None
    device = devices.get(event.pci.lower())
    return device.name if device else event.pci


def ago(age_s: float | None) -> str | None:
    """``40 s ago``, ``3 h ago``: a time past in one unit; None where it is not known."""
    if age_s is None:
        return None
    for size, unit in ((86_400.0, "d"), (3_600.0, "h"), (60.0, "min")):
        if age_s >= 2 * size:
            return f"{age_s / size:.0f} {unit} ago"
    return f"{age_s:.0f} s ago"


def environment_part(machine: Machine) -> Part:
    """Variables that steer the libraries, by name."""
    return Part(
        title="Environment",
        pairs=pairs(
            *((name, value or "(empty)") for name, value in sorted(machine.environment.items()))
        ),
    )
