"""What each fault of ``profiles.toml`` does to a simulated machine."""

from __future__ import annotations

import errno
from collections.abc import Callable

from preflight.hardware.profiles import Struck
from preflight.hardware.simulated_amd_card import SimulatedAmdCard
from preflight.hardware.simulated_kfd import SimulatedAmd
from preflight.hardware.simulated_machine import (
    SimulatedMachine,
    become,
    become_amd,
    bus_address,
    first_ports,
    other_product,
)
from preflight.hardware.simulated_nvml import (
    SimulatedCard,
    SimulatedNvml,
    SimulatedProcess,
    SimulatedSlice,
)

NO_PERMISSION, LIBRARY_MISMATCH = 4, 18
"""nvmlReturn_t of nvml.h."""
THERMAL = 0x20 | 0x40
"""nvmlClocksEventReasons: software and hardware thermal slowdown."""
HEALTH_CALLS = (
    "nvmlDeviceGetTotalEccErrors",
    "nvmlDeviceGetMemoryErrorCounter",
    "nvmlDeviceGetRemappedRows",
    "nvmlDeviceGetComputeRunningProcesses_v3",
    "nvmlDeviceGetFieldValues",
)
GIB = 1024**3
DOCKER_SHM_GIB = 0.0625


def strike(machine: SimulatedMachine, fault: Struck) -> None:
    """Break ``machine`` as ``fault`` says."""
    if fault.card is None:
        _WHOLE[fault.name](machine)
    else:
        _CARDS[fault.name](machine, fault.card)


def _nvml(machine: SimulatedMachine) -> SimulatedNvml:
    assert machine.nvml is not None, "the profile was held against the kinds of the fault"
    return machine.nvml


def _amd(machine: SimulatedMachine) -> SimulatedAmd:
    assert machine.amd is not None, "the profile was held against the kinds of the fault"
    return machine.amd


def _mig(machine: SimulatedMachine) -> None:
    for index, card in enumerate(machine.cards):
        card.mig = True
        size_GiB = (card.memory_bytes or 0) // GIB // 8
        card.slices = [
            SimulatedSlice(profile=f"1g.{size_GiB}gb", uuid=f"MIG-{index}{place}5c1d-0000")
            for place in range(card.mig_places)
        ]


def _old_driver(machine: SimulatedMachine) -> None:
    version = machine.row.old_driver
    driver = _nvml(machine).driver
    driver.version = machine.module_version = version
    driver.cuda = machine.row.old_cuda
    driver.library = f"{driver.cuda // 1000}.{version}"


def _driver_mismatch(machine: SimulatedMachine) -> None:
    _nvml(machine).broken["nvmlInitWithFlags"] = LIBRARY_MISMATCH
    machine.module_version = "570.133.20"


def _nvml_hang(machine: SimulatedMachine) -> None:
    _nvml(machine).hanging.add("nvmlDeviceGetCount_v2")


def _no_permission(machine: SimulatedMachine) -> None:
    _nvml(machine).broken.update(dict.fromkeys(HEALTH_CALLS, NO_PERMISSION))


def _kfd_eacces(machine: SimulatedMachine) -> None:
    _amd(machine).kfd_errno = errno.EACCES


def _kfd_einval(machine: SimulatedMachine) -> None:
    _amd(machine).kfd_errno = errno.EINVAL


def _fabric_down(machine: SimulatedMachine) -> None:
    for card in machine.cards:
        if card.fabric is not None:
            card.fabric.state = 1  # not started
    machine.host.services = ("nvidia-persistenced",)


def _xgmi_down(machine: SimulatedMachine) -> None:
    _amd(machine).cut_xgmi(1, 0)


def _small_shm(machine: SimulatedMachine) -> None:
    machine.host.shm_GiB = DOCKER_SHM_GIB


def _iommu_translating(machine: SimulatedMachine) -> None:
    machine.host.iommu = "translating"


def _rdma_down(machine: SimulatedMachine) -> None:
    for port in first_ports(machine.host):
        port.is_up = False
        return


_WHOLE: dict[str, Callable[[SimulatedMachine], None]] = {
    "mig": _mig,
    "old-driver": _old_driver,
    "driver-mismatch": _driver_mismatch,
    "nvml-hang": _nvml_hang,
    "no-permission": _no_permission,
    "kfd-eacces": _kfd_eacces,
    "kfd-einval": _kfd_einval,
    "fabric-down": _fabric_down,
    "xgmi-down": _xgmi_down,
    "small-shm": _small_shm,
    "iommu-translating": _iommu_translating,
    "rdma-down": _rdma_down,
}


def _missing(machine: SimulatedMachine, index: int) -> None:
    if machine.amd is not None:
        machine.amd.cards[index].is_in_kfd = False
        return
    _nvml(machine).cards.remove(machine.cards[index])


def _wrong_product(machine: SimulatedMachine, index: int) -> None:
    product = other_product(machine.row)
    if machine.amd is not None:
        become_amd(machine.amd.cards[index], product)
    else:
        become(machine.cards[index], product)


def _nvlink_down(machine: SimulatedMachine, index: int) -> None:
    machine.cards[index].links[7].active = False


def _ecc(machine: SimulatedMachine, index: int) -> None:
    card = machine.cards[index]
    card.uncorrected = card.lifetime_uncorrected = 2


def _row_remap_failed(machine: SimulatedMachine, index: int) -> None:
    machine.cards[index].remap_failed = True


def _row_remap_pending(machine: SimulatedMachine, index: int) -> None:
    card = machine.cards[index]
    card.remap_pending, card.remapped_uncorrected = True, 1


def _ras_ue(machine: SimulatedMachine, index: int) -> None:
    ras = _amd(machine).cards[index].ras
    assert ras is not None, "cards of a profile have RAS"
    ras["umc"].uncorrected = 1


def _pcie_x8(machine: SimulatedMachine, index: int) -> None:
    if machine.amd is not None:
        link = _amd_card(machine, index).link
        assert link is not None, "cards of a profile have a link"
        link.width = 8
        return
    machine.cards[index].width = 8


def _throttled(machine: SimulatedMachine, index: int) -> None:
    if machine.amd is not None:
        heat = _amd_card(machine, index).heat
        assert heat is not None, "cards of a profile have sensors"
        heat.junction_C = heat.crit_C + 1
        return
    card = machine.cards[index]
    card.slowed_by, card.card_C = THERMAL, (card.slowdown_C or 87) + 1


def _power_capped(machine: SimulatedMachine, index: int) -> None:
    if machine.amd is not None:
        power = _amd_card(machine, index).power
        assert power is not None, "cards of a profile have sensors"
        power.cap_W = power.cap_default_W // 2
        return
    card = machine.cards[index]
    card.limit_W = card.default_limit_W / 2


def _xid79(machine: SimulatedMachine, index: int) -> None:
    address = bus_address(machine.cards[index]).rpartition(".")[0]
    log = machine.host.kernel_log
    assert log is not None, "hosts of a profile have a log"
    text = f"NVRM: Xid (PCI:{address}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off"
    log.append((3600.0, f"{text} the bus."))


def _held_memory(machine: SimulatedMachine, index: int) -> None:
    card: SimulatedCard = machine.cards[index]
    card.processes.append(
        SimulatedProcess(pid=4711, name="/opt/other/bin/python3", memory_bytes=20 * GIB)
    )


def _amd_card(machine: SimulatedMachine, index: int) -> SimulatedAmdCard:
    return _amd(machine).cards[index]


_CARDS: dict[str, Callable[[SimulatedMachine, int], None]] = {
    "missing": _missing,
    "wrong-product": _wrong_product,
    "nvlink-down": _nvlink_down,
    "ecc": _ecc,
    "row-remap-failed": _row_remap_failed,
    "row-remap-pending": _row_remap_pending,
    "ras-ue": _ras_ue,
    "pcie-x8": _pcie_x8,
    "throttled": _throttled,
    "power-capped": _power_capped,
    "xid79": _xid79,
    "held-memory": _held_memory,
}
