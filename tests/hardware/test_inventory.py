"""The machine as a whole: which backend is asked, and whose devices count."""

from __future__ import annotations

from pathlib import Path

import pynvml
import pytest

from preflight.facts import Absence
from preflight.hardware.amd import AmdBackend
from preflight.hardware.cpu import CpuBackend
from preflight.hardware.files import Files
from preflight.hardware.inventory import backends_for, take_inventory
from preflight.hardware.nvidia import NvidiaBackend
from preflight.hardware.protocol import Backend, Say, Sighting, silent
from preflight.hardware.simulated_nvml import SimulatedNvml
from preflight.records import Device

from .nvml_in_place import install
from .sysfs import write_machine, write_pci

CARD = Device(name="gpu0", node="n", kind="cuda", product="NVIDIA H100")
NOT_FOUND = Absence(what="NVML", reason="not found")
DENIED = Absence(what="/dev/kfd", reason="no permission")


class Fixed:
    """A backend that sees what it is told."""

    def __init__(self, sighting: Sighting) -> None:
        self.sighting = sighting
        self.node = ""

    def look(self, node: str, say: Say = silent) -> Sighting:
        """The sighting, for every node."""
        self.node = node
        return self.sighting


EMPTY = Fixed(Sighting(looked_for="NVML: not found", absences=(NOT_FOUND,)))
HIDDEN = Fixed(Sighting(looked_for="NVML: 1 device(s)", hidden=("gpu0 by CUDA_VISIBLE_DEVICES=",)))
CARDS = Fixed(Sighting(looked_for="KFD: 1 device(s)", devices=(CARD,), absences=(DENIED,)))


@pytest.mark.parametrize(
    ("accelerator", "kinds"),
    [
        ("auto", [NvidiaBackend, AmdBackend]),
        ("cuda", [NvidiaBackend]),
        ("hip", [AmdBackend]),
        ("cpu", [CpuBackend]),
    ],
)
def test_the_flag_chooses_who_is_asked(accelerator: str, kinds: list[type]) -> None:
    """--device names the vendor to ask; auto asks both, and a rehearsal none of them."""
    assert [type(backend) for backend in backends_for(accelerator, Files(), {})] == kinds


@pytest.mark.parametrize(("backends"), [(EMPTY, CARDS), (CARDS, EMPTY), (HIDDEN, CARDS)])
def test_the_first_backend_with_devices_is_the_machines(
    tmp_path: Path, backends: tuple[Backend, ...]
) -> None:
    """The absences of a vendor that is not there are no findings of a machine of the other one."""
    inventory = take_inventory("auto", files=Files(tmp_path), environ={}, backends=backends)
    assert inventory.devices == (CARD,)
    assert inventory.absences == (DENIED,)
    assert len(inventory.looked_for) == 3


def test_nothing_found_tells_everything_that_was_looked_for(tmp_path: Path) -> None:
    """Without a device each sentence and absence is kept, and what the PCI bus shows."""
    inventory = take_inventory("auto", files=Files(tmp_path), environ={}, backends=(EMPTY, HIDDEN))
    assert inventory.devices == ()
    assert inventory.absences == (NOT_FOUND,)
    assert inventory.hidden == ("gpu0 by CUDA_VISIBLE_DEVICES=",)
    assert inventory.looked_for == (
        "NVML: not found",
        "NVML: 1 device(s)",
        "PCI bus: no accelerator",
    )


def test_a_card_on_the_bus_without_a_driver_is_told(tmp_path: Path) -> None:
    """A card that no driver serves is seen on the PCI bus."""
    write_pci(tmp_path, "0000:9a:00.0", vendor="0x10de", device="0x2330", **{"class": "0x030200"})
    inventory = take_inventory("auto", files=Files(tmp_path), environ={}, backends=(EMPTY,))
    assert inventory.looked_for[-1] == "PCI bus: NVIDIA 10de:2330 at 0000:9a:00.0"


def test_a_rehearsal_looks_for_no_card(tmp_path: Path) -> None:
    """--device cpu lists the CPU alone and reads no bus."""
    write_pci(tmp_path, "0000:9a:00.0", vendor="0x10de", device="0x2330", **{"class": "0x030200"})
    inventory = take_inventory("cpu", files=Files(tmp_path), environ={})
    assert [device.kind for device in inventory.devices] == ["cpu"]
    assert len(inventory.looked_for) == 1


def test_devices_belong_to_this_node(tmp_path: Path) -> None:
    """The node of the inventory is the host, and each backend is told so."""
    backend = Fixed(Sighting(looked_for="x"))
    inventory = take_inventory("auto", files=Files(tmp_path), environ={}, backends=(backend,))
    assert [node.name for node in inventory.nodes] == [inventory.host.name] == [backend.node]


@pytest.mark.parametrize("accelerator", ["auto", "hip"])
def test_an_amd_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, accelerator: str) -> None:
    """The real backends on a machine with 8 x MI300X and no driver of NVIDIA."""
    for name in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"):
        monkeypatch.delenv(name, raising=False)
    library = SimulatedNvml()
    library.broken["nvmlInitWithFlags"] = pynvml.NVML_ERROR_DRIVER_NOT_LOADED
    install(monkeypatch, library)
    inventory = take_inventory(accelerator, files=Files(write_machine(tmp_path)), environ={})
    assert [device.kind for device in inventory.devices] == ["hip"] * 8
    assert inventory.absences == ()


@pytest.mark.parametrize("accelerator", ["auto", "cuda"])
def test_an_nvidia_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, accelerator: str
) -> None:
    """The real backends on a machine with 2 x H100 and no KFD."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    install(monkeypatch, SimulatedNvml())
    inventory = take_inventory(accelerator, files=Files(tmp_path), environ={})
    assert [device.architecture for device in inventory.devices] == ["sm_90", "sm_90"]
    assert inventory.absences == ()
