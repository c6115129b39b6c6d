"""One simulated card of AMD: what amdgpu writes into the folder of its PCI device."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

PARTS = {"SPX": 1, "DPX": 2, "TPX": 3, "QPX": 4, "CPX": 8}
"""KFD nodes of one card by its compute partition (ROCm, "compute partitioning modes")."""
SPEEDS = {1: "2.5", 2: "5.0", 3: "8.0", 4: "16.0", 5: "32.0", 6: "64.0"}
"""GT/s by generation of PCI Express, as Linux writes them."""
RAS_FEATURES = 0x107F
"""RAS mask with the memory controller (bit 0), SDMA, GFX, MMHUB, PCIe, HDP and XGMI among it."""


@dataclass
class SimulatedRas:
    """Errors of one block of the card since the driver was loaded."""

    corrected: int = 0
    uncorrected: int = 0
    deferred: int = 0


@dataclass
class SimulatedLink:
    """The PCIe link of the card, and of the port above it."""

    generation: int = 5
    width: int = 16
    card_generation: int = 5
    card_width: int = 16
    port_generation: int = 5
    port_width: int = 16
    replays: int = 0


@dataclass
class SimulatedPower:
    """Watts."""

    draw_W: int = 140
    cap_W: int = 750
    cap_default_W: int = 750
    cap_max_W: int = 750


@dataclass
class SimulatedHeat:
    """Degrees Celsius; ``crit`` is where the card slows down, ``emergency`` where it stops."""

    junction_C: int = 42
    memory_C: int = 35
    crit_C: int = 100
    emergency_C: int = 110


@dataclass
class SimulatedProcess:
    """A process of somebody that holds memory of the card."""

    pid: int
    name: str = "python3"
    memory_bytes: int = 0


def _healthy_ras() -> dict[str, SimulatedRas]:
    blocks = ("gfx", "hdp", "mmhub", "pcie_bif", "sdma", "umc", "xgmi_wafl")
    return {block: SimulatedRas() for block in blocks}


@dataclass
class SimulatedAmdCard:
    """One card, by default a healthy MI300X; a field that is None leaves its files out."""

    bus: int = 0x05
    domain: int = 0
    device_id: int = 0x74A1
    subsystem_id: int = 0x74A1
    product_name: str | None = "AMD Instinct MI300X OAM"
    product_number: str | None = "102-G30211-00"
    serial: str | None = "692251000000"
    vbios: str | None = "113-M3000100-102"
    gfx_target_version: int | None = 90402
    unique_id: int | None = 0x9A1B_0000_0000_0000
    gpu_id: int = 28851
    simds: int = 1216
    memory_bytes: int = 206_141_652_992
    memory_used_bytes: int = 297_000_000
    numa_node: int = 0
    cpus: str = "0-95"
    compute_partition: str | None = "SPX"
    memory_partition: str | None = "NPS1"
    link: SimulatedLink | None = field(default_factory=SimulatedLink)
    power: SimulatedPower | None = field(default_factory=SimulatedPower)
    heat: SimulatedHeat | None = field(default_factory=SimulatedHeat)
    ras: dict[str, SimulatedRas] | None = field(default_factory=_healthy_ras)
    sm_MHz: int = 132
    sm_max_MHz: int = 2100
    memory_MHz: int = 900
    memory_max_MHz: int = 1300
    processes: list[SimulatedProcess] = field(default_factory=list)
    driver: str | None = "amdgpu"
    """What has taken the card on the PCI bus; None where nothing has."""
    is_in_kfd: bool = True
    """False for a card that is on the bus and that the driver could not start."""
    render_errno: int | None = None
    """What opening its device file ends in."""
    has_render_node: bool = True

    @property
    def address(self) -> str:
        """``0000:05:00.0``."""
        return f"{self.domain:04x}:{self.bus:02x}:00.0"

    @property
    def parts(self) -> int:
        """KFD nodes that the card shows as."""
        return PARTS.get(self.compute_partition or "SPX", 1)

    def make_virtual(self) -> None:
        """Turn it into the function that a virtual machine is given, which tells little."""
        self.device_id = 0x74B5
        self.product_name = self.product_number = self.serial = None
        self.link = self.power = self.ras = None


def write_card(root: Path, card: SimulatedAmdCard, index: int) -> Path:
    """The card on the PCI bus below ``root``, with the port above it; returns its folder."""
    folder = _folder(root, card)
    _put(folder, "vendor", "0x1002")
    _put(folder, "device", f"{card.device_id:#06x}")
    _put(folder, "subsystem_vendor", "0x1002")
    _put(folder, "subsystem_device", f"{card.subsystem_id:#06x}")
    _put(folder, "class", "0x120000")
    _put(folder, "revision", "0x00")
    _put(folder, "numa_node", card.numa_node)
    _put(folder, "local_cpulist", card.cpus)
    _write_link(folder, card.link)
    if card.driver:
        (root / "sys/bus/pci/drivers" / card.driver).mkdir(parents=True, exist_ok=True)
        link_to(folder / "driver", root / "sys/bus/pci/drivers" / card.driver)
    if card.driver == "amdgpu":
        _write_driver_files(folder, card, index)
    return folder


def link_to(link: Path, target: Path) -> None:
    """A relative link, as those of sysfs are, so that the tree may be moved."""
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(os.path.relpath(target, link.parent))


def _folder(root: Path, card: SimulatedAmdCard) -> Path:
    """Below the root port that it hangs from, which a virtual machine does not show."""
    parent = root / f"sys/devices/pci{card.domain:04x}:{card.bus:02x}"
    listed = root / "sys/bus/pci/devices"
    if card.link:
        upper = f"{card.domain:04x}:{card.bus - 1:02x}:01.1"
        parent = root / f"sys/devices/pci{card.domain:04x}:{card.bus - 1:02x}" / upper
        _write_port(parent, card)
        link_to(listed / upper, parent)
    folder = parent / card.address
    folder.mkdir(parents=True)
    link_to(listed / card.address, folder)
    return folder


def _write_port(folder: Path, card: SimulatedAmdCard) -> None:
    folder.mkdir(parents=True)
    _put(folder, "vendor", "0x1022")
    _put(folder, "device", "0x14ab")
    _put(folder, "class", "0x060400")
    _put(folder, "numa_node", card.numa_node)
    if card.link:
        for end in ("current", "max"):
            _put(folder, f"{end}_link_speed", f"{SPEEDS[card.link.port_generation]} GT/s PCIe")
            _put(folder, f"{end}_link_width", card.link.port_width)


def _write_link(folder: Path, link: SimulatedLink | None) -> None:
    """A virtual function has the files too, and they say nothing."""
    _put(folder, "current_link_speed", _speed(link.generation) if link else "Unknown")
    _put(folder, "current_link_width", link.width if link else 0)
    _put(folder, "max_link_speed", _speed(link.card_generation) if link else "Unknown")
    _put(folder, "max_link_width", link.card_width if link else 255)
    _put(folder, "pcie_replay_count", link.replays if link else None)


def _speed(generation: int) -> str:
    return f"{SPEEDS[generation]} GT/s PCIe"


def _write_driver_files(folder: Path, card: SimulatedAmdCard, index: int) -> None:
    _put(folder, "product_name", card.product_name)
    _put(folder, "product_number", card.product_number)
    _put(folder, "serial_number", card.serial)
    _put(folder, "vbios_version", card.vbios)
    _put(folder, "unique_id", None if card.unique_id is None else f"{card.unique_id:016x}")
    _put(folder, "mem_info_vram_total", card.memory_bytes)
    _put(folder, "mem_info_vram_used", card.memory_used_bytes)
    _put(folder, "current_compute_partition", card.compute_partition)
    _put(folder, "current_memory_partition", card.memory_partition)
    sleep = f"S: {card.sm_MHz}Mhz *\n" if card.sm_MHz < 500 else ""
    _put(folder, "pp_dpm_sclk", f"{sleep}0: 500Mhz\n1: {card.sm_max_MHz}Mhz")
    _put(folder, "pp_dpm_mclk", f"0: {card.memory_MHz}Mhz *\n1: {card.memory_max_MHz}Mhz")
    if card.ras is not None:
        _write_ras(folder / "ras", card.ras)
    _write_sensors(folder / "hwmon" / f"hwmon{index + 3}", card)


def _write_ras(folder: Path, ras: dict[str, SimulatedRas]) -> None:
    folder.mkdir()
    _put(folder, "features", f"feature mask: {RAS_FEATURES:#x}")
    for block, errors in ras.items():
        counts = f"ue: {errors.uncorrected}\nce: {errors.corrected}\nde: {errors.deferred}"
        _put(folder, f"{block}_err_count", counts)


def _write_sensors(folder: Path, card: SimulatedAmdCard) -> None:
    folder.mkdir(parents=True)
    _put(folder, "name", "amdgpu")
    for channel, label, now in ((1, "sclk", card.sm_MHz), (2, "mclk", card.memory_MHz)):
        _put(folder, f"freq{channel}_label", label)
        _put(folder, f"freq{channel}_input", now * 1_000_000)
    if card.heat:
        pairs = ((2, "junction", card.heat.junction_C), (3, "mem", card.heat.memory_C))
        for channel, label, now in pairs:
            _put(folder, f"temp{channel}_label", label)
            _put(folder, f"temp{channel}_input", now * 1000)
            _put(folder, f"temp{channel}_crit", card.heat.crit_C * 1000)
            _put(folder, f"temp{channel}_emergency", card.heat.emergency_C * 1000)
    if card.power:
        _put(folder, "power1_input", card.power.draw_W * 1_000_000)
        _put(folder, "power1_cap", card.power.cap_W * 1_000_000)
        _put(folder, "power1_cap_default", card.power.cap_default_W * 1_000_000)
        _put(folder, "power1_cap_max", card.power.cap_max_W * 1_000_000)


def _put(folder: Path, name: str, content: str | int | None) -> None:
    """None is a file that the driver does not make."""
    if content is not None:
        (folder / name).write_text(f"{content}\n", encoding="utf-8")
