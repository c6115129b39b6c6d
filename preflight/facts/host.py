"""Facts of the host below the accelerators, beyond the few that stand in ``records.Host``."""

from __future__ import annotations

from typing import Literal

import msgspec

from preflight.facts.absence import NOT_ASKED, Absence, Flag, Number, Text, Whole


class Cgroup(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the control group of this process allows; the tightest along its path."""

    version: Whole = NOT_ASKED
    """1 or 2."""
    path: Text = NOT_ASKED
    memory_limit_GiB: Number | None = NOT_ASKED
    """None where there is no limit."""
    memory_used_GiB: Number = NOT_ASKED
    cpus: Number | None = NOT_ASKED
    """CPUs' worth of time; None where there is no limit."""
    processes: Whole | None = NOT_ASKED
    """Limit of processes and threads; None where there is none."""


class NumaNode(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One NUMA node; one without CPUs is normal (memory of a GPU on Grace)."""

    index: int
    cpus: str = ""
    """``0-47,96-143``; empty for a node of memory alone."""
    memory_GiB: Number = NOT_ASKED


class NetworkInterface(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A network interface; loopback and virtual ones are left out."""

    name: str
    state: Text = NOT_ASKED
    """``up``, ``down``, ``unknown``."""
    rate_Gbps: Number = NOT_ASKED
    mtu: Whole = NOT_ASKED
    driver: Text = NOT_ASKED
    pci: Text = NOT_ASKED
    numa_node: Whole = NOT_ASKED


class RdmaPort(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A port of an RDMA device (InfiniBand, RoCE, EFA)."""

    device: str
    """``mlx5_0``."""
    port: int
    state: Text = NOT_ASKED
    """``active``, ``down``, ``init``, ``armed``."""
    physical_state: Text = NOT_ASKED
    """``link up``, ``disabled``, ``polling``."""
    link_layer: Text = NOT_ASKED
    """``infiniband`` or ``ethernet``."""
    rate_Gbps: Number = NOT_ASKED
    is_open: Flag = NOT_ASKED
    """Whether this process can open its file of /dev/infiniband, without which nothing uses it."""
    pci: Text = NOT_ASKED
    numa_node: Whole = NOT_ASKED
    nearest: str = ""
    """The accelerator that shares most of its PCI path; empty where none does."""


class Disk(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The file system below a path that matters."""

    purpose: Literal["checkpoint", "data", "temporary", "output"]
    path: str
    mount: Text = NOT_ASKED
    source: Text = NOT_ASKED
    """Device or server: ``/dev/nvme0n1p1``, ``10.0.0.5:/export``."""
    filesystem: Text = NOT_ASKED
    """``ext4``, ``nfs4``, ``overlay``, ``fuse.s3fs``."""
    size_GiB: Number = NOT_ASKED
    free_GiB: Number = NOT_ASKED
    rotational: Flag = NOT_ASKED
    remote: Flag = NOT_ASKED
    """Whether it is reached over a network."""
    read_only: Flag = NOT_ASKED


class Service(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A daemon of the vendor: seen running, or not seen."""

    name: str
    """``nvidia-fabricmanager``, ``nvidia-persistenced``, ``nvidia-imex``."""
    state: Text = NOT_ASKED
    """``running`` or ``not seen``: in a container the host's daemons are out of sight."""


class KernelEvent(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of the kernel's log that speaks of an accelerator."""

    kind: Literal["xid", "sxid", "nvidia", "ras", "amdgpu", "pcie", "memory"]
    """``nvidia`` is a card that its driver could not start, ``amdgpu`` a hang or reset, ``memory``
    the killer of processes that take too much of it."""
    code: int | None = None
    """Number of the XID or SXID."""
    pci: str | None = None
    text: str
    """The line, shortened."""
    count: int = 1
    """How often it stands there."""
    age_s: float | None = None
    """Seconds since the last time, by the log's own stamps."""


class HostFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The machine around the accelerators."""

    wsl: Flag = NOT_ASKED
    virtual: Text = NOT_ASKED
    """``none``, or the hypervisor as firmware and kernel name it: ``kvm``, ``Amazon EC2``."""
    container: Text = NOT_ASKED
    """``none``, ``docker``, ``podman``, ``kubernetes``, ``lxc``, ``apptainer``."""
    sockets: Whole = NOT_ASKED
    cpus_online: Whole = NOT_ASKED
    cpus_allowed: Whole = NOT_ASKED
    allowed_cpus: Text = NOT_ASKED
    """The CPUs behind that number, as the kernel lists them: ``0-47,96-143``."""
    memory_available_GiB: Number = NOT_ASKED
    swap_GiB: Number = NOT_ASKED
    numa: tuple[NumaNode, ...] | Absence = NOT_ASKED
    numa_balancing: Flag = NOT_ASKED
    cgroup: Cgroup = Cgroup()
    memlock_hard_KiB: Whole = NOT_ASKED
    """-1 is unlimited."""
    open_files_hard: Whole = NOT_ASKED
    shm_free_GiB: Number = NOT_ASKED
    iommu: Text = NOT_ASKED
    """``off``, ``passthrough`` or ``translating``."""
    acs: tuple[str, ...] | Absence = NOT_ASKED
    """PCI addresses of bridges above an accelerator that redirect peer traffic to the root."""
    interfaces: tuple[NetworkInterface, ...] | Absence = NOT_ASKED
    rdma: tuple[RdmaPort, ...] | Absence = NOT_ASKED
    verbs_library: Text = NOT_ASKED
    """Path of libibverbs.so.1, without which NCCL falls back to sockets."""
    peer_memory: Text = NOT_ASKED
    """Kernel module of GPUDirect RDMA: ``nvidia_peermem``, ``dmabuf``, ``none``."""
    disks: tuple[Disk, ...] = ()
    services: tuple[Service, ...] | Absence = NOT_ASKED
    kernel_log: tuple[KernelEvent, ...] | Absence = NOT_ASKED
    boot_options: Text = NOT_ASKED
    """Options of the kernel's command line that concern us: iommu, pci, numa, nvidia, amdgpu."""
