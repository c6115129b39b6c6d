"""Health and configuration of one accelerator; its identity is ``records.Device``."""

from __future__ import annotations

import msgspec

from preflight.facts.absence import NOT_ASKED, Absence, Flag, Number, Text, Whole


class Pcie(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The link to the host. An idle card rests at generation 1, which is no fault."""

    generation: Whole = NOT_ASKED
    width: Whole = NOT_ASKED
    """Lanes."""
    max_generation: Whole = NOT_ASKED
    """What card and slot can do together."""
    max_width: Whole = NOT_ASKED
    card_max_generation: Whole = NOT_ASKED
    """What the card alone could do."""
    replays: Whole = NOT_ASKED
    """Replays since the driver was loaded; a few are normal."""


class Ecc(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Errors of memory; volatile since the driver was loaded, aggregate over the card's life."""

    enabled: Flag = NOT_ASKED
    pending: Flag = NOT_ASKED
    """What ``enabled`` will be after the next reboot."""
    corrected: Whole = NOT_ASKED
    uncorrected: Whole = NOT_ASKED
    lifetime_corrected: Whole = NOT_ASKED
    lifetime_uncorrected: Whole = NOT_ASKED


class RemappedRows(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Rows of memory replaced by spare ones (Ampere and later)."""

    corrected: Whole = NOT_ASKED
    """Rows remapped for correctable errors."""
    uncorrected: Whole = NOT_ASKED
    pending: Flag = NOT_ASKED
    """A remapping waits for the next reset of the card."""
    failed: Flag = NOT_ASKED
    """A remapping has failed: the card is to be replaced."""
    banks_without_spares: Whole = NOT_ASKED
    """Banks with no spare row left."""
    banks: Whole = NOT_ASKED


class RetiredPages(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Pages of memory taken out of use (before Ampere)."""

    single_bit: Whole = NOT_ASKED
    double_bit: Whole = NOT_ASKED
    pending: Flag = NOT_ASKED


class Link(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One NVLink or XGMI link of a card."""

    index: int
    state: Text = NOT_ASKED
    """``active`` or ``inactive``."""
    version: Text = NOT_ASKED
    """``4.0``."""
    remote: Text = NOT_ASKED
    """PCI address or name of the device at the other end, ``switch 0000:05:00.0``."""
    rate_GBps: Number = NOT_ASKED
    """Per direction, decimal gigabytes."""
    errors: Whole = NOT_ASKED
    """Replays, recoveries and CRC errors together."""
    weight: Whole = NOT_ASKED
    """XGMI: what KFD gives; 15 is one hop."""


class Fabric(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The card's place in an NVSwitch fabric."""

    state: Text = NOT_ASKED
    """``not supported``, ``not started``, ``in progress`` or ``completed``."""
    status: Text = NOT_ASKED
    """What registering with the fabric ended in, in NVML's words; ``success``."""
    cluster: Text = NOT_ASKED
    clique: Whole = NOT_ASKED
    health: Text = NOT_ASKED
    """``healthy``, or what is wrong: ``degraded bandwidth``, ``route recovery``."""


class Clocks(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Clocks at the moment of asking."""

    sm_MHz: Whole = NOT_ASKED
    sm_max_MHz: Whole = NOT_ASKED
    memory_MHz: Whole = NOT_ASKED
    memory_max_MHz: Whole = NOT_ASKED
    slowed_by: tuple[str, ...] | Absence = NOT_ASKED
    """Reasons that hold the clock back, in NVML's words: ``hw thermal slowdown``, ``gpu idle``."""


class Temperature(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Degrees Celsius."""

    card_C: Number = NOT_ASKED
    memory_C: Number = NOT_ASKED
    slowdown_C: Number = NOT_ASKED
    """Where the card begins to slow itself down."""
    shutdown_C: Number = NOT_ASKED


class Power(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Watts."""

    draw_W: Number = NOT_ASKED
    limit_W: Number = NOT_ASKED
    """What is enforced now."""
    default_limit_W: Number = NOT_ASKED
    max_limit_W: Number = NOT_ASKED


class Process(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A process that uses the card, ours not among them."""

    pid: int
    name: Text = NOT_ASKED
    memory_GiB: Number = NOT_ASKED


class RasBlock(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """AMD's error counters of one block of the card (``umc``, ``sdma``, ``gfx``)."""

    block: str
    corrected: Whole = NOT_ASKED
    uncorrected: Whole = NOT_ASKED
    deferred: Whole = NOT_ASKED
    """Uncorrectable and not read by anyone yet (MI300 and later)."""


class Card(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One accelerator as its driver describes it."""

    device: str
    """Name of the device in the record: ``gpu0``."""
    serial: Text = NOT_ASKED
    board: Text = NOT_ASKED
    """Part number of the board."""
    vbios: Text = NOT_ASKED
    pci_id: Text = NOT_ASKED
    """``10de:2330``, vendor and device."""
    subsystem_id: Text = NOT_ASKED
    persistence: Flag = NOT_ASKED
    compute_mode: Text = NOT_ASKED
    """``default``, ``exclusive process`` or ``prohibited``."""
    mig: Flag = NOT_ASKED
    """Whether the card is divided into MIG slices."""
    mig_slices: tuple[str, ...] | Absence = NOT_ASKED
    """Names of the slices that exist: ``1g.10gb``."""
    partition: Text = NOT_ASKED
    """AMD's compute partition: ``SPX``, ``CPX``."""
    memory_partition: Text = NOT_ASKED
    """``NPS1``, ``NPS4``."""
    memory_used_GiB: Number = NOT_ASKED
    numa_node: Whole = NOT_ASKED
    """-1 where the firmware names none."""
    near_cpus: Text = NOT_ASKED
    """CPUs of that node: ``0-47,96-143``."""
    pcie: Pcie = Pcie()
    ecc: Ecc = Ecc()
    remapped: RemappedRows = RemappedRows()
    retired: RetiredPages = RetiredPages()
    recovery_action: Text = NOT_ASKED
    """What the driver asks for: ``none``, ``gpu reset``, ``node reboot``, ``drain p2p``."""
    repair: Text = NOT_ASKED
    """``none``, or what waits: ``channel repair pending``."""
    ras: tuple[RasBlock, ...] | Absence = NOT_ASKED
    links: tuple[Link, ...] | Absence = NOT_ASKED
    hive: Text = NOT_ASKED
    """AMD: cards of one hive see each other over XGMI."""
    fabric: Fabric = Fabric()
    clocks: Clocks = Clocks()
    temperature: Temperature = Temperature()
    power: Power = Power()
    processes: tuple[Process, ...] | Absence = NOT_ASKED
