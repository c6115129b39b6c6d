"""Facts of the host around the accelerators."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Mapping

from preflight.facts import Absence, HostFacts, Number, known
from preflight.hardware import limits, memory, network, numa, processors, rdma, verbs
from preflight.hardware.acs import redirecting_bridges
from preflight.hardware.boot import boot_options
from preflight.hardware.cgroups import read_cgroup
from preflight.hardware.container import NONE, container_of
from preflight.hardware.disks import Purpose, read_disks
from preflight.hardware.files import THIS_MACHINE, Files
from preflight.hardware.iommu import iommu_mode
from preflight.hardware.kernel_log import read_log
from preflight.hardware.services import read_services
from preflight.hardware.virtualization import hypervisor, is_wsl
from preflight.records import Host

GIB = 1024**3
_NO_VARIABLES: Mapping[str, str] = {}


def read_host(files: Files = THIS_MACHINE, environ: Mapping[str, str] | None = None) -> Host:
    """The host; a fact that cannot be read is None, never 0.

    ``environ`` is this process's environment by default, and empty for another machine's files.
    """
    if environ is None:
        environ = os.environ if files.is_real else _NO_VARIABLES
    container = known(container_of(files, environ))
    return Host(
        name=_named(files, "hostname", platform.node()) or "unknown",
        kernel=_named(files, "osrelease", platform.release()),
        distribution=_distribution(files),
        machine=processors.architecture(files),
        cpu=processors.cpu_name(files),
        cores=known(processors.cpus_allowed(files)),
        memory_GiB=known(memory.memory_GiB(files)),
        shm_GiB=known(_shm_GiB(files)),
        memlock_KiB=known(limits.locked_memory_KiB(files).soft),
        open_files=known(limits.open_files(files).soft),
        container=None if container == NONE else container,
    )


def read_host_facts(
    files: Files,
    accelerators: Mapping[str, str],
    paths: Mapping[Purpose, str],
    environ: Mapping[str, str],
) -> HostFacts:
    """All other facts of the host.

    ``accelerators`` are PCI addresses by the name of the device, ``paths`` folders by what they
    are for, and ``environ`` the environment of the run. Vendors' drivers are not asked, and what a
    dead file server holds back is bounded, so that this ends.
    """
    addresses = tuple(accelerators.values())
    return HostFacts(
        wsl=is_wsl(files),
        virtual=hypervisor(files),
        container=container_of(files, environ),
        sockets=processors.sockets(files),
        cpus_online=processors.cpus_online(files),
        cpus_allowed=processors.cpus_allowed(files),
        allowed_cpus=processors.allowed_list(files),
        memory_available_GiB=memory.available_GiB(files),
        swap_GiB=memory.swap_GiB(files),
        numa=numa.read_nodes(files),
        numa_balancing=numa.is_balancing(files),
        cgroup=read_cgroup(files),
        memlock_hard_KiB=limits.locked_memory_KiB(files).hard,
        open_files_hard=limits.open_files(files).hard,
        shm_free_GiB=_shm_free_GiB(files),
        iommu=iommu_mode(files, addresses),
        acs=redirecting_bridges(files, addresses),
        interfaces=network.read_interfaces(files),
        rdma=rdma.read_ports(files, accelerators),
        verbs_library=verbs.verbs_library(files, environ),
        peer_memory=verbs.peer_memory(files),
        disks=read_disks(files, paths),
        services=read_services(files),
        kernel_log=read_log(files, accelerators),
        boot_options=boot_options(files),
    )


def _named(files: Files, name: str, own: str) -> str | None:
    """A line of /proc/sys/kernel; what the interpreter knows where this machine has no /proc."""
    found = files.text(f"/proc/sys/kernel/{name}")
    if isinstance(found, Absence) or not found:
        return (own or None) if files.is_real else None
    return found


def _distribution(files: Files) -> str | None:
    text = files.text("/etc/os-release")
    match = None if isinstance(text, Absence) else re.search(r'(?m)^PRETTY_NAME="?([^"\n]+)', text)
    return match[1] if match else None


def _shm_GiB(files: Files) -> Number:
    room = memory.shared_memory(files)
    return room if isinstance(room, Absence) else round(room.size_bytes / GIB, 3)


def _shm_free_GiB(files: Files) -> Number:
    room = memory.shared_memory(files)
    return room if isinstance(room, Absence) else round(room.free_bytes / GIB, 3)
