"""What a simulated NVIDIA driver knows: mutable, healthy as it is made, to be broken by hand.

The figures are those of an H100 SXM5 at rest, so far as they are known; none of them is a limit.
"""

from __future__ import annotations

from dataclasses import dataclass, field

GIB = 1024**3
MIB = 1024**2
H100 = "NVIDIA H100 80GB HBM3"
SWITCHES = ("00000000:05:00.0", "00000000:06:00.0", "00000000:07:00.0", "00000000:08:00.0")
"""Addresses of the NVSwitches of an HGX board."""


@dataclass
class SimulatedDriver:
    """The driver as a whole."""

    version: str | bytes = "580.65.06"
    library: str = "13.580.65.06"
    """Of the library: version of CUDA, then that of the driver it was built for."""
    cuda: int = 13000
    confidential: bool = False
    development_tools: bool = False
    """Confidential computing without its protection, for debuggers."""


@dataclass
class SimulatedLink:
    """One NVLink of a card."""

    active: bool = True
    version: int = 6
    """nvmlNvlinkVersion_t: 6 is 4.0, 7 is 5.0."""
    remote: int = 2
    """nvmlIntNvLinkDeviceType_t: 0 a GPU, 2 a switch, 255 unknown."""
    remote_bus: str = SWITCHES[0]
    rate_MBps: int | None = 26562
    replays: int | None = 0
    recoveries: int | None = 0
    crc_errors: int | None = 0
    packet_errors: int | None = None
    """What NVLink 5 counts in place of the three above; None before."""


@dataclass
class SimulatedSlice:
    """One MIG slice of a card."""

    profile: str
    """``1g.10gb``."""
    uuid: str
    name: str = ""
    """As the driver tells it; empty for the card's name, ``MIG`` and the profile."""
    compute_slices: int = 1
    memory_MiB: int = 9856
    broken: dict[str, int] = field(default_factory=dict)


@dataclass
class SimulatedProcess:
    """A process that computes on a card."""

    pid: int
    name: str | bytes = "/usr/bin/python3"
    memory_bytes: int | None = 512 * MIB
    """None where the driver keeps no account."""


@dataclass
class SimulatedFabric:
    """The card's place in an NVSwitch fabric."""

    state: int = 3
    """0 not supported, 1 not started, 2 in progress, 3 completed."""
    status: int = 0
    """nvmlReturn_t that registering has ended in."""
    cluster: bytes = bytes(16)
    clique: int = 0
    health_mask: int = 0b01_1010_1010
    """NVML_GPU_FABRIC_HEALTH_MASK_...: nothing is degraded, the configuration is right."""
    health_summary: int = 1


@dataclass
class SimulatedCard:
    """One card; None is what it does not support, ``broken`` maps a function to its error."""

    name: str | bytes = H100
    uuid: str | None = "GPU-5d1c8e0a-9f3b-4c2d-8e7f-0a1b2c3d4e5f"
    serial: str | None = "1650523012345"
    board: str | None = "692-2G520-0200-000"
    vbios: str | None = "96.00.89.00.01"
    bus: str | bytes = "00000000:1B:00.0"
    pci_id: int = 0x233010DE
    """Device in the upper half, vendor in the lower."""
    subsystem_id: int = 0x16C110DE
    minor: int | None = 0
    """Number of /dev/nvidia<minor>."""
    capability: tuple[int, int] = (9, 0)
    memory_bytes: int | None = 81559 * MIB
    """None where card and host share the memory."""
    reserved_bytes: int = 551 * MIB
    """What the driver keeps for itself."""
    used_bytes: int = 4 * MIB
    """Beyond what the processes below hold."""
    persistence: bool = True
    compute_mode: int = 0
    mig: bool | None = False
    mig_places: int = 7
    slices: list[SimulatedSlice] = field(default_factory=list)
    generation: int = 5
    width: int = 16
    max_generation: int = 5
    max_width: int = 16
    card_max_generation: int = 5
    replays: int = 0
    ecc: bool | None = True
    ecc_pending: bool = True
    corrected: int = 0
    uncorrected: int = 0
    lifetime_corrected: int = 0
    lifetime_uncorrected: int = 0
    remapped_corrected: int = 0
    remapped_uncorrected: int = 0
    remap_pending: bool = False
    remap_failed: bool = False
    banks: tuple[int, int, int, int, int] | None = (2560, 0, 0, 0, 0)
    """Banks with all, many, some, few and no spare rows left."""
    retired: tuple[int, int] | None = None
    """Pages retired for single and for double bit errors; before Ampere only."""
    retirement_pending: bool = False
    recovery_action: int = 0
    """nvmlDeviceGpuRecoveryAction_t: 1 is a reset of the card, 2 a reboot."""
    channel_repair: bool = False
    tpc_repair: bool = False
    links: list[SimulatedLink] = field(default_factory=list)
    fabric: SimulatedFabric | None = field(default_factory=SimulatedFabric)
    sm_MHz: int = 345
    sm_max_MHz: int = 1980
    memory_MHz: int = 2619
    memory_max_MHz: int = 2619
    slowed_by: int = 1
    """Bits of nvmlClocksEventReason...: 1 idle, 8 hardware slowdown, 64 hardware thermal."""
    card_C: int = 32
    memory_C: int | None = 41
    slowdown_C: int | None = 87
    shutdown_C: int | None = 92
    draw_W: float = 70.5
    limit_W: float = 700.0
    default_limit_W: float = 700.0
    max_limit_W: float = 700.0
    processes: list[SimulatedProcess] = field(default_factory=list)
    broken: dict[str, int] = field(default_factory=dict)
    broken_fields: dict[int, int] = field(default_factory=dict)
    """Field of nvmlDeviceGetFieldValues to the error that stands in its answer."""


def healthy_cards(count: int) -> list[SimulatedCard]:
    """As many H100 as ``count`` on an HGX board: 18 NVLinks each, over four switches."""
    return [
        SimulatedCard(
            uuid=f"GPU-{0x5D1C8E0A + 0x01010101 * index:08x}-9f3b-4c2d-8e7f-0a1b2c3d4e5f",
            serial=str(1650523012345 + index),
            bus=f"00000000:{0x1B + 0x10 * index:02X}:00.0",
            minor=index,
            links=[SimulatedLink(remote_bus=SWITCHES[link % 4]) for link in range(18)],
        )
        for index in range(count)
    ]
