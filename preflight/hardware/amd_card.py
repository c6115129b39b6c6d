"""Health and configuration of one card of AMD, from the folder of its PCI device in sysfs."""

from __future__ import annotations

import os
import re

from preflight.facts import (
    NOT_ASKED,
    Absence,
    Card,
    Ecc,
    Flag,
    Number,
    Process,
    RasBlock,
    Text,
    Whole,
)
from preflight.hardware.amd_pcie import read_pcie
from preflight.hardware.amd_sensors import Sensors
from preflight.hardware.attributes import number, scaled, unreadable, whole, word
from preflight.hardware.files import Files
from preflight.hardware.kfd import PROCESSES, KfdNode

GIB = 1024**3
COMPUTE_PARTITIONS = "SPX|DPX|TPX|QPX|CPX"
MEMORY_PARTITIONS = r"NPS[1248]"
"""Modes that amdgpu writes (linux amdgpu_gfx.c and amdgpu_gmc.c)."""
CPU_LIST = r"\d+([-,]\d+)*"
PCI_ID = "0x[0-9a-f]{4}"
MEMORY_BLOCK = "umc"
MEMORY_BIT = 1
"""Bit of the memory controller in ras/features (linux amdgpu_ras.h, AMDGPU_RAS_BLOCK__UMC)."""
_FEATURES = re.compile(r"feature mask: (0x[0-9a-fA-F]{1,8})\b.*", re.DOTALL)
_COUNTER = re.compile(r"^(ue|ce|de):\s*(\d{1,20})\s*$", re.MULTILINE)


def read_card(files: Files, folder: str, node: KfdNode, name: str) -> Card:
    """The card ``name`` of the KFD node; ``folder`` is ``/sys/bus/pci/devices/0000:05:00.0``.

    Parts of one card share its folder and show the same facts, but for their processes.
    """
    sensors = Sensors(files, folder)
    ras = _ras_blocks(files, f"{folder}/ras")
    return Card(
        device=name,
        serial=word(files, f"{folder}/serial_number"),
        board=word(files, f"{folder}/product_number"),
        vbios=word(files, f"{folder}/vbios_version"),
        pci_id=_pair(files, f"{folder}/vendor", f"{folder}/device"),
        subsystem_id=_pair(files, f"{folder}/subsystem_vendor", f"{folder}/subsystem_device"),
        partition=word(files, f"{folder}/current_compute_partition", COMPUTE_PARTITIONS),
        memory_partition=word(files, f"{folder}/current_memory_partition", MEMORY_PARTITIONS),
        memory_used_GiB=_GiB(files, f"{folder}/mem_info_vram_used"),
        numa_node=whole(files, f"{folder}/numa_node", least=-1),
        near_cpus=word(files, f"{folder}/local_cpulist", CPU_LIST),
        pcie=read_pcie(files, folder),
        ecc=_ecc(files, f"{folder}/ras/features", ras),
        ras=ras,
        hive=_hive(files, folder, node),
        clocks=sensors.clocks(),
        temperature=sensors.temperature(),
        power=sensors.power(),
        processes=_processes(files, node),
    )


def _pair(files: Files, vendor: str, device: str) -> Text:
    """``1002:74a1`` of two files."""
    ids = word(files, vendor, PCI_ID), word(files, device, PCI_ID)
    for found in ids:
        if isinstance(found, Absence):
            return found
    return ":".join(str(found)[2:] for found in ids)


def _GiB(files: Files, path: str) -> Number:
    found = scaled(files, path, GIB)
    return found if isinstance(found, Absence) else round(found, 2)


def _hive(files: Files, folder: str, node: KfdNode) -> Text:
    """``0x93...``; a card without XGMI belongs to none."""
    hive = node.properties.positive("hive_id")
    if isinstance(hive, Absence):
        written = whole(files, f"{folder}/xgmi_hive_info/xgmi_hive_id", least=1)
        hive = hive if isinstance(written, Absence) else written
    return hive if isinstance(hive, Absence) else f"{hive:#x}"


def _ras_blocks(files: Files, folder: str) -> tuple[RasBlock, ...] | Absence:
    """Counters of each block: ``umc_err_count``, or ``aca_umc`` as newer drivers call it."""
    names = files.names(folder)
    if isinstance(names, Absence):
        return names
    paths = {n.removeprefix("aca_"): n for n in names if n.startswith("aca_")}
    paths |= {n.removesuffix("_err_count"): n for n in names if n.endswith("_err_count")}
    blocks = [_ras_block(files, f"{folder}/{paths[block]}", block) for block in sorted(paths)]
    return tuple(blocks) or Absence(what=folder, reason="not found", detail="no counter is there")


def _ras_block(files: Files, path: str, block: str) -> RasBlock:
    found = files.text(path)
    if isinstance(found, Absence):
        return RasBlock(block=block, corrected=found, uncorrected=found, deferred=found)
    counts = {match[1]: int(match[2]) for match in _COUNTER.finditer(found)}
    fault = unreadable(path, found)
    return RasBlock(
        block=block,
        corrected=counts.get("ce", fault),
        uncorrected=counts.get("ue", fault),
        # Only MI300 and later count them, whose drivers add a line.
        deferred=counts.get("de", NOT_ASKED if {"ce", "ue"} <= set(counts) else fault),
    )


def _ecc(files: Files, features: str, ras: tuple[RasBlock, ...] | Absence) -> Ecc:
    """ECC of memory is RAS of its controller; counts are those since the driver was loaded."""
    if isinstance(ras, Absence):
        return Ecc(enabled=_has_memory_ras(files, features), corrected=ras, uncorrected=ras)
    memory = next((block for block in ras if block.block == MEMORY_BLOCK), None)
    missing = Absence(what=f"RAS block {MEMORY_BLOCK}", reason="not found")
    return Ecc(
        enabled=_has_memory_ras(files, features),
        corrected=memory.corrected if memory else missing,
        uncorrected=memory.uncorrected if memory else missing,
    )


def _has_memory_ras(files: Files, path: str) -> Flag:
    found = files.text(path)
    if isinstance(found, Absence):
        return found
    match = _FEATURES.fullmatch(found)
    return bool(int(match[1], 16) & MEMORY_BIT) if match else unreadable(path, found)


def _processes(files: Files, node: KfdNode) -> tuple[Process, ...] | Absence:
    """Processes that hold memory of this node; KFD counts them in the host's numbers."""
    names = files.names(PROCESSES)
    if isinstance(names, Absence):
        return names
    if isinstance(node.gpu_id, Absence):
        return node.gpu_id
    found = []
    for pid in sorted(n for n in map(number, names) if n is not None and n != os.getpid()):
        bytes_used = whole(files, f"{PROCESSES}/{pid}/vram_{node.gpu_id}", least=0)
        if bytes_used == 0 or _is_gone(bytes_used):
            continue  # HIP opens every card, also those it never uses
        GiB = bytes_used if isinstance(bytes_used, Absence) else round(bytes_used / GIB, 3)
        found.append(Process(pid=pid, name=word(files, f"/proc/{pid}/comm"), memory_GiB=GiB))
    return tuple(found)


def _is_gone(bytes_used: Whole) -> bool:
    """A process that ended while the list was read."""
    return isinstance(bytes_used, Absence) and bytes_used.reason == "not found"
