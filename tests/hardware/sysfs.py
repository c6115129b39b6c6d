"""Folders that look like /sys of an AMD machine: 8 x MI300X behind two CPU sockets.

The properties are those that the amdgpu driver of Linux 6.8 writes for an MI300X in SPX mode; the
lines that nothing reads are left out.
"""

from __future__ import annotations

from pathlib import Path

TOPOLOGY = Path("sys/class/kfd/kfd/topology/nodes")
BUSES = (0x05, 0x26, 0x46, 0x65, 0x85, 0xA6, 0xC6, 0xE5)
VRAM = 206_141_652_992

CPU_NODE = {"cpu_cores_count": 96, "simd_count": 0, "gfx_target_version": 0, "unique_id": 0}


def mi300x(index: int) -> dict[str, int]:
    """Properties of the KFD node of one card."""
    return {
        "cpu_cores_count": 0,
        "simd_count": 1216,
        "mem_banks_count": 1,
        "gfx_target_version": 90402,
        "vendor_id": 4098,
        "device_id": 29857,
        "location_id": BUSES[index] << 8,
        "domain": 0,
        "num_xcc": 8,
        "unique_id": 0x9A1B_0000_0000_0000 + index,
    }


def write_node(
    root: Path, number: int, properties: dict[str, int], banks: list[tuple[int, int]]
) -> Path:
    """One node of the topology; ``banks`` are heap type and size in bytes."""
    folder = root / TOPOLOGY / str(number)
    folder.mkdir(parents=True)
    _write(folder / "properties", properties)
    for index, (heap_type, size) in enumerate(banks):
        bank = folder / "mem_banks" / str(index)
        bank.mkdir(parents=True)
        _write(bank / "properties", {"heap_type": heap_type, "size_in_bytes": size, "flags": 0})
    return folder


def write_link(folder: Path, *, node_from: int, node_to: int) -> None:
    """One XGMI link of a node: type 11, one hop, 64 GB/s."""
    link = folder / "io_links" / "0"
    link.mkdir(parents=True)
    ends = {"node_from": node_from, "node_to": node_to}
    _write(link / "properties", {"type": 11, **ends, "weight": 15, "max_bandwidth": 64000})


def write_machine(root: Path, cards: int = 8) -> Path:
    """A healthy machine: two CPU nodes, then the cards, and the device file."""
    for socket in range(2):
        write_node(root, socket, CPU_NODE, [(0, 811_000_000_000)])
    for index in range(cards):
        write_node(root, index + 2, mi300x(index), [(1, VRAM)])
    (root / "dev").mkdir()
    (root / "dev/kfd").touch()
    (root / "sys/module/amdgpu").mkdir(parents=True)
    (root / "sys/module/amdgpu/version").write_text("6.12.12\n")
    return root


def write_pci(root: Path, address: str, **files: str) -> Path:
    """One device of the PCI bus with its files, such as ``vendor="0x1002"``."""
    folder = root / "sys/bus/pci/devices" / address
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text + "\n")
    return folder


def _write(path: Path, properties: dict[str, int]) -> None:
    path.write_text("".join(f"{name} {value}\n" for name, value in properties.items()))
