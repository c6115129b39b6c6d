"""Why a machine shows no accelerator, and what to do: by hiding, driver, device files and bus."""

from __future__ import annotations

import msgspec

from preflight.compat.cards import UNHELD, few, holder, is_ours
from preflight.compat.device_files import Trouble, explain, troubles
from preflight.events import Inventory
from preflight.facts import Absence, BusCard, Machine, known

REMEDIES = {
    "library and kernel module differ": (
        "reboot, or unload and load the nvidia kernel module: its version is not that of the "
        "library (an update of the driver was half done)"
    ),
    "driver not loaded": "load the kernel module (modprobe nvidia); in a container, on the host",
}
"""By the reason that NVML gives."""
WSL = (
    "under WSL the driver is that of Windows: update it there, run wsl --update, and keep "
    "/usr/lib/wsl/lib first in LD_LIBRARY_PATH, before any cuda-compat folder"
)
MODULES = {"NVIDIA": "nvidia", "AMD": "amdgpu"}


class NoAccelerator(msgspec.Struct, frozen=True, kw_only=True):
    """A machine on which no backend showed a device."""

    inventory: Inventory
    machine: Machine
    container: str | None = None

    @property
    def on_the_bus(self) -> tuple[BusCard, ...]:
        """Accelerators that the PCI bus shows all the same."""
        bus = self.machine.bus
        if isinstance(bus, Absence):
            return ()
        return tuple(one for one in bus if one.is_accelerator is not False)

    def sentences(self) -> tuple[str, ...]:
        """What stands in the way, as far as it is known."""
        away = few([f"{one.vendor} {one.pci} ({holder(one)})" for one in self.on_the_bus])
        shut = few([one.sentence for one in self._shut()], 3)
        hidden = few(self.inventory.hidden)
        found = (
            f"hidden: {hidden}" if hidden else "",
            f"on the PCI bus: {away}" if away else "",
            shut,
        )
        return tuple(words for words in found if words)

    def action(self) -> str:
        """What to do by the cause that is seen; empty where none is."""
        if self.inventory.hidden:
            variables = {text.rpartition(" by ")[2] for text in self.inventory.hidden}
            return f"take away what hides the cards ({', '.join(sorted(variables))}), run again"
        reasons = {absence.reason for absence in self.inventory.absences}
        if "library and kernel module differ" in reasons:
            return REMEDIES["library and kernel module differ"]
        refused = [one for one in self._shut() if one.reason != "not found"]
        if refused:
            return refused[0].action
        if known(self.machine.host.wsl):
            return WSL
        if self.on_the_bus:
            return self._for_the_bus()
        remedies = [REMEDIES[reason] for reason in sorted(reasons & set(REMEDIES))]
        if not remedies and self.container == "kubernetes":
            return _let_in(self.container)
        return remedies[0] if remedies else ""

    def _shut(self) -> tuple[Trouble, ...]:
        """Device files that are in the way; absent ones only where a card is on the bus."""
        files = self.machine.driver.files
        listed = () if isinstance(files, Absence) else troubles(files, cards=0)
        told = [explain(a.what, a) for a in self.inventory.absences if a.what.startswith("/dev/")]
        known_paths = {one.path for one in listed}
        every = (*listed, *(one for one in told if one.path not in known_paths))
        vendors = {one.vendor for one in self.on_the_bus}
        return tuple(one for one in every if one.reason != "not found" or _is_of(one, vendors))

    def _for_the_bus(self) -> str:
        """Cards are there: taken by something else, without a driver, or not let in."""
        taken = [one for one in self.on_the_bus if holder(one) != UNHELD and not is_ours(one)]
        if len(taken) == len(self.on_the_bus):
            return (
                f"{few([f'{one.pci} is {holder(one)}' for one in taken])}: ask the seller to give "
                "the cards to their own driver (vfio-pci keeps them for virtual machines)"
            )
        if self.container:
            return _let_in(self.container)
        if any(is_ours(one) for one in self.on_the_bus):
            return (
                "the kernel's driver has the cards and shows none: read dmesg (NVRM, amdgpu) for "
                "why it could not start them, and reboot after an update of the driver"
            )
        vendor = next(one.vendor for one in self.on_the_bus if holder(one) == UNHELD)
        module = MODULES.get(vendor, "the driver")
        return (
            f"load the driver: sudo modprobe {module}; where it does not load, dmesg says why "
            "(not built for this kernel, Secure Boot, the proprietary nvidia module on Blackwell)"
        )


def _is_of(trouble: Trouble, vendors: set[str]) -> bool:
    """Whether a file belongs to the driver of one of the vendors."""
    return ("NVIDIA" if trouble.path.startswith("/dev/nvidia") else "AMD") in vendors


def _let_in(container: str) -> str:
    if container == "kubernetes":
        return (
            "the pod was given no card: ask for nvidia.com/gpu (amd.com/gpu) "
            "in its resources, and look at NVIDIA_VISIBLE_DEVICES"
        )
    return (
        "the host has cards and the container was given none: start it with --gpus all, or for AMD "
        "with --device /dev/kfd --device /dev/dri"
    )
