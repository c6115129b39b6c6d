"""The host below the accelerators, and their driver."""

from __future__ import annotations

from collections.abc import Sequence

from preflight.facts import (
    NOT_ASKED,
    Absence,
    Cgroup,
    DeviceFile,
    Driver,
    HostFacts,
    Machine,
    known,
)
from preflight.records import Device, Host
from preflight.rendering.machine_parts import (
    Entry,
    Part,
    Table,
    among,
    column,
    gib,
    listed,
    pairs,
    tables,
)

UNLIMITED = -1


def host_part(machine: Machine, host: Host | None) -> Part:
    """What the host is and what it allows this process; ``host`` is what the record says of it."""
    facts = machine.host
    below = host or Host(name=machine.node)
    return Part(
        title="Host",
        pairs=pairs(
            ("name", below.name),
            ("system", _system(below)),
            ("processor", _processor(below, facts)),
            ("memory", _memory(below, facts)),
            ("/dev/shm", _shm(below, facts)),
            ("cgroup", _cgroup(facts.cgroup)),
            ("locked memory", _locked(below, facts)),
            ("open files", _files(below, facts)),
            ("runs in", _surroundings(below, facts)),
            ("IOMMU", known(facts.iommu)),
            ("PCIe ACS", _redirected(facts)),
            ("NUMA", _balancing(facts)),
            ("boot options", known(facts.boot_options)),
        ),
        tables=_numa(machine),
    )


def _system(host: Host) -> str:
    kernel = f"Linux {host.kernel}" if host.kernel else None
    return listed(host.distribution, " ".join(filter(None, (kernel, host.machine))))


def _processor(host: Host, facts: HostFacts) -> str:
    sockets, online = known(facts.sockets), known(facts.cpus_online)
    allowed = known(facts.cpus_allowed)
    allowed = host.cores if allowed is None else allowed
    cpu = f"{sockets} × {host.cpu}" if sockets and sockets > 1 and host.cpu else host.cpu
    if allowed is None:
        return listed(cpu, f"{online} CPUs online" if online is not None else None)
    of = f" of {online}" if online is not None and online != allowed else ""
    return listed(cpu, f"{allowed}{of} CPUs for this process")


def _memory(host: Host, facts: HostFacts) -> str:
    free, swap = known(facts.memory_available_GiB), known(facts.swap_GiB)
    total = f"{gib(host.memory_GiB)} GiB" if host.memory_GiB is not None else None
    if free is not None:
        total = f"{gib(free)} of {total} available" if total else f"{gib(free)} GiB available"
    if swap is None:
        return listed(total)
    return listed(total, f"{gib(swap)} GiB of swap" if swap else "no swap")


def _shm(host: Host, facts: HostFacts) -> str | None:
    free = known(facts.shm_free_GiB)
    if host.shm_GiB is None:
        return None if free is None else f"{gib(free)} GiB free"
    size = f"{gib(host.shm_GiB)} GiB"
    return size if free is None else f"{gib(free)} of {size} free"


def _cgroup(group: Cgroup) -> str | None:
    """Limits of the control group: ``v2: 64.0 GiB of memory (12.1 used), no limit of CPUs``."""
    if isinstance(group.version, Absence):
        return None
    limits = (
        ("GiB of memory", group.memory_limit_GiB),
        ("CPUs", group.cpus),
        ("processes", group.processes),
    )
    if all(limit is None for _, limit in limits):
        return f"v{group.version}: no limit"
    used = known(group.memory_used_GiB)
    words = [_allowed(limit, noun) for noun, limit in limits]
    if used is not None and group.memory_limit_GiB is not None and words[0]:
        words[0] += f" ({gib(used)} used)"
    told = listed(*words)
    return f"v{group.version}: {told}" if told else f"v{group.version}"


def _allowed(limit: float | Absence | None, noun: str) -> str | None:
    if isinstance(limit, Absence):
        return None
    return f"no limit of {noun.rpartition(' ')[2]}" if limit is None else f"{limit:g} {noun}"


def _locked(host: Host, facts: HostFacts) -> str | None:
    return _soft_and_hard(host.memlock_KiB, known(facts.memlock_hard_KiB), " KiB")


def _files(host: Host, facts: HostFacts) -> str | None:
    return _soft_and_hard(host.open_files, known(facts.open_files_hard), "")


def _soft_and_hard(soft: int | None, hard: int | None, unit: str) -> str | None:
    """``64 KiB, can be raised to unlimited``; the hard limit only where it is another."""
    if soft is None:
        return None if hard is None else f"at most {_limit(hard, unit)}"
    raised = None if hard is None or hard == soft else f"can be raised to {_limit(hard, unit)}"
    return listed(_limit(soft, unit), raised)


def _limit(value: int, unit: str) -> str:
    return "unlimited" if value == UNLIMITED else f"{value}{unit}"


def _surroundings(host: Host, facts: HostFacts) -> str:
    """Container and hypervisor: ``docker, virtual machine (kvm)``."""
    container, virtual = known(facts.container), known(facts.virtual)
    container = container or host.container
    machine = None
    if virtual is not None:
        machine = "bare metal" if virtual == "none" else f"virtual machine ({virtual})"
    wsl = "WSL" if known(facts.wsl) else None
    return listed("no container" if container == "none" else container, machine, wsl)


def _redirected(facts: HostFacts) -> Entry | None:
    bridges = known(facts.acs)
    if not bridges:
        return None
    noun = "bridge" if len(bridges) == 1 else "bridges"
    text = f"{len(bridges)} {noun} send traffic between peers to the root: {', '.join(bridges)}"
    return Entry(text, "caution")


def _balancing(facts: HostFacts) -> str | None:
    value = known(facts.numa_balancing)
    return None if value is None else f"balancing is {'on' if value else 'off'}"


def _numa(machine: Machine) -> tuple[Table, ...]:
    """NUMA nodes with what is near to each; none for a single node."""
    nodes = known(machine.host.numa) or ()
    if len(nodes) < 2:
        return ()
    cards = [(known(card.numa_node), card.device) for card in machine.cards]
    ports = [(known(port.numa_node), port.device) for port in known(machine.host.rdma) or ()]
    sizes = [known(node.memory_GiB) for node in nodes]
    return tables(
        column("NUMA node", (str(node.index) for node in nodes), is_number=True),
        column("memory GiB", (None if s is None else gib(s) for s in sizes), is_number=True),
        column("cards", (_near(node.index, cards) for node in nodes)),
        column("RDMA", (_near(node.index, ports) for node in nodes)),
        column("CPUs", (node.cpus or "none" for node in nodes), takes_rest=True),
    )


def _near(node: int, things: Sequence[tuple[int | None, str]]) -> str | None:
    names = list(dict.fromkeys(name for where, name in things if where == node))
    return among(names, ()) or None


def driver_part(machine: Machine, devices: Sequence[Device]) -> Part:
    """The kernel driver, what it is reached through, and the vendor's daemons."""
    driver, facts = machine.driver, machine.host
    here = [device for device in devices if device.node == machine.node]
    return Part(
        title="Driver",
        pairs=pairs(
            ("version", driver_in_short(machine, here)),
            ("library", _library(driver)),
            ("confidential computing", known(driver.confidential)),
            ("device files", _device_files(driver)),
            ("services", _services(facts)),
            ("kernel log", _kernel_log(facts)),
        ),
    )


def _library(driver: Driver) -> Entry | None:
    """Version of the library, where it is not that of the kernel module."""
    version = known(driver.library)
    if version is None or version == known(driver.version):
        return None
    return Entry(version, "" if known(driver.version) is None else "caution")


def driver_in_short(machine: Machine, devices: Sequence[Device]) -> str:
    """``580.65.06, open kernel module, CUDA 13.0``; empty where nothing is known."""
    driver = machine.driver
    version = known(driver.version) or next((d.driver for d in devices if d.driver), None)
    cuda = known(driver.cuda) or next((d.driver_cuda for d in devices if d.driver_cuda), None)
    flavour, rocm = known(driver.flavour), known(driver.rocm)
    return listed(
        version,
        f"{flavour} kernel module" if flavour else None,
        f"CUDA {cuda}" if cuda else None,
        f"ROCm {rocm}" if rocm else None,
    )


def _device_files(driver: Driver) -> Entry | None:
    """Those that this process cannot open, or how many there are."""
    files = known(driver.files) or ()
    tried = [one for one in files if one.is_open != NOT_ASKED]
    if not tried:
        return None
    closed = [one for one in tried if one.is_open is not True]
    if closed:
        return Entry("; ".join(f"{one.path} {_refusal(one)}" for one in closed), "caution")
    if len(tried) < len(files):
        return Entry(f"{len(tried)} of {len(files)} can be opened, the others were not tried")
    return Entry(f"{len(files)}, all can be opened")


def _refusal(one: DeviceFile) -> str:
    return f"({one.is_open.reason})" if isinstance(one.is_open, Absence) else "(cannot be opened)"


def _services(facts: HostFacts) -> str:
    told = ((one.name, known(one.state)) for one in known(facts.services) or ())
    return ", ".join(f"{name} {state}" for name, state in told if state)


def _kernel_log(facts: HostFacts) -> str | None:
    return "no line about an accelerator" if facts.kernel_log == () else None
