"""NVIDIA devices through NVML, with the real nvidia-ml-py over a library that is a fake."""

from __future__ import annotations

import ctypes
from typing import Any

import pynvml
import pytest

from preflight.facts import Absence
from preflight.hardware.nvidia import NvidiaBackend, pci_address
from preflight.hardware.protocol import Sighting

from .fake_nvml import Card, FakeNvml, install


@pytest.fixture
def nvml(monkeypatch: pytest.MonkeyPatch) -> FakeNvml:
    """A healthy driver with two cards, all of them visible."""
    library = FakeNvml()
    install(monkeypatch, library)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return library


def look() -> Sighting:
    """What the backend sees."""
    return NvidiaBackend().look("node-a")


def absence(sighting: Sighting) -> Absence:
    """The only absence of a sighting."""
    (only,) = sighting.absences
    return only


def test_a_healthy_machine(nvml: FakeNvml) -> None:
    """Two H100 with every fact that the record holds, in NVML's order; nothing is absent."""
    sighting = look()
    first, second = sighting.devices
    assert (first.name, second.name) == ("gpu0", "gpu1")
    assert first.node == "node-a"
    assert first.kind == "cuda"
    assert first.product == "NVIDIA H100 80GB HBM3"
    assert first.uuid == "GPU-5d1c8e0a-9f3b-4c2d-8e7f-0a1b2c3d4e5f"
    assert (first.pci, second.pci) == ("0000:1b:00.0", "0000:9a:00.0")
    assert first.memory_GiB == 79.65
    assert first.architecture == "sm_90"
    assert (first.driver, first.driver_cuda) == ("580.65.06", "13.0")
    assert first.torch_device is None
    assert (sighting.hidden, sighting.absences) == ((), ())
    assert sighting.looked_for == "NVML: driver 580.65.06, 2 device(s)"


def test_the_library_is_closed_again(nvml: FakeNvml) -> None:
    """NVML is shut down after looking, also when the driver tells nothing."""
    look()
    nvml.broken["nvmlDeviceGetCount_v2"] = pynvml.NVML_ERROR_UNKNOWN
    look()
    assert nvml.open == 0


def test_the_library_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without libnvidia-ml.so.1 there is no device and an absence that says so."""
    install(monkeypatch, None)

    def refuse(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(pynvml, "CDLL", refuse)
    sighting = look()
    assert sighting.devices == ()
    assert absence(sighting).what == "NVML"
    assert absence(sighting).reason == "not found"
    assert sighting.looked_for == "NVML: not found"


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (pynvml.NVML_ERROR_DRIVER_NOT_LOADED, "driver not loaded"),
        (pynvml.NVML_ERROR_NO_PERMISSION, "no permission"),
        (pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH, "library and kernel module differ"),
        (pynvml.NVML_ERROR_UNKNOWN, "failed"),
        (31337, "failed"),
    ],
)
def test_the_driver_does_not_answer(nvml: FakeNvml, code: int, reason: str) -> None:
    """A driver that refuses to begin is an absence with its reason and the driver's own words."""
    nvml.broken["nvmlInitWithFlags"] = code
    sighting = look()
    assert sighting.devices == ()
    assert sighting.looked_for == f"NVML: {reason}"
    assert absence(sighting).reason == reason
    assert absence(sighting).detail


def test_no_card_at_all(nvml: FakeNvml) -> None:
    """A driver without cards is no absence: it answered, and there are none."""
    nvml.cards = []
    sighting = look()
    assert (sighting.devices, sighting.absences) == ((), ())
    assert sighting.looked_for == "NVML: driver 580.65.06, 0 device(s)"


def test_a_lost_card_is_named(nvml: FakeNvml) -> None:
    """A card that fell off the bus is an absence; the others keep their numbers."""
    nvml.cards.append(Card(uuid="GPU-third", bus="00000000:B0:00.0"))
    lost = pynvml.NVML_ERROR_GPU_IS_LOST
    nvml.cards[1].broken["nvmlDeviceGetHandleByIndex_v2"] = lost
    sighting = look()
    assert [device.name for device in sighting.devices] == ["gpu0", "gpu2"]
    assert (absence(sighting).what, absence(sighting).reason) == ("gpu1", "device lost")


def test_a_card_that_is_lost_while_it_is_asked(nvml: FakeNvml) -> None:
    """A card lost after its handle was given is still listed, and each fact is absent, not zero."""
    nvml.cards[1].broken = dict.fromkeys(
        [
            "nvmlDeviceGetName",
            "nvmlDeviceGetMemoryInfo",
            "nvmlDeviceGetCudaComputeCapability",
            "nvmlDeviceGetPciInfo_v3",
            "nvmlDeviceGetUUID",
        ],
        pynvml.NVML_ERROR_GPU_IS_LOST,
    )
    sighting = look()
    sick = sighting.devices[1]
    assert sick.product == "unknown NVIDIA device"
    assert (sick.memory_GiB, sick.architecture, sick.pci, sick.uuid) == (None, None, None, None)
    assert {a.reason for a in sighting.absences} == {"device lost"}
    assert {a.what for a in sighting.absences} == {
        "product of gpu1",
        "memory of gpu1",
        "compute capability of gpu1",
        "PCI address of gpu1",
        "UUID of gpu1",
    }
    assert sighting.devices[0].memory_GiB == 79.65


def test_a_call_that_a_card_does_not_support(nvml: FakeNvml) -> None:
    """An unsupported call leaves one fact unknown and names it."""
    nvml.cards[0].broken["nvmlDeviceGetMemoryInfo"] = pynvml.NVML_ERROR_NOT_SUPPORTED
    sighting = look()
    assert sighting.devices[0].memory_GiB is None
    assert sighting.devices[1].memory_GiB == 79.65
    assert absence(sighting) == Absence(
        what="memory of gpu0", reason="not supported", detail=absence(sighting).detail
    )


def test_a_fact_without_permission(nvml: FakeNvml) -> None:
    """What the user may not read is said to be so, in the driver's words too."""
    nvml.cards[0].broken["nvmlDeviceGetUUID"] = pynvml.NVML_ERROR_NO_PERMISSION
    sighting = look()
    assert sighting.devices[0].uuid is None
    assert absence(sighting).reason == "no permission"


def test_an_old_driver_without_a_function(nvml: FakeNvml) -> None:
    """A function that the library does not have is an absence, not an exception."""
    nvml.lacking.add("nvmlSystemGetCudaDriverVersion_v2")
    sighting = look()
    assert [device.driver_cuda for device in sighting.devices] == [None, None]
    assert absence(sighting).reason == "driver lacks the call"


def test_an_error_that_the_binding_does_not_know_keeps_its_words(nvml: FakeNvml) -> None:
    """A code newer than nvidia-ml-py is told in the words of the library."""
    nvml.broken["nvmlSystemGetDriverVersion"] = 31337
    sighting = look()
    assert sighting.looked_for == "NVML: driver unknown, 2 device(s)"
    assert "31337" in absence(sighting).detail


def test_a_shutdown_that_fails_loses_nothing(nvml: FakeNvml) -> None:
    """What was seen is kept, whatever the library says at its end."""
    nvml.broken["nvmlShutdown"] = pynvml.NVML_ERROR_UNKNOWN
    assert len(look().devices) == 2


@pytest.mark.parametrize(
    ("value", "shown", "hidden"),
    [
        ("1", ["gpu1"], ["gpu0"]),
        ("GPU-77", ["gpu1"], ["gpu0"]),
        ("1,0", ["gpu0", "gpu1"], []),
        ("", [], ["gpu0", "gpu1"]),
        ("-1", [], ["gpu0", "gpu1"]),
        ("0,7,1", ["gpu0"], ["gpu1"]),
    ],
)
def test_hidden_cards_are_named_with_what_hides_them(
    nvml: FakeNvml,
    monkeypatch: pytest.MonkeyPatch,
    value: str,
    shown: list[str],
    hidden: list[str],
) -> None:
    """Cards that the environment hides are no devices of the run, and are told apart from lost."""
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
    sighting = look()
    assert [device.name for device in sighting.devices] == shown
    assert sighting.hidden == tuple(
        f"{name} (NVIDIA H100 80GB HBM3) by CUDA_VISIBLE_DEVICES={value}" for name in hidden
    )


@pytest.mark.parametrize(
    ("bus_id", "address"),
    [
        ("00000000:9A:00.0", "0000:9a:00.0"),
        ("0000:9A:00.0", "0000:9a:00.0"),
        ("00000009:01:00.0", "0009:01:00.0"),
        ("00010001:01:00.0", "10001:01:00.0"),
    ],
)
def test_an_address_is_written_as_the_kernel_writes_it(bus_id: str, address: str) -> None:
    """NVML pads the domain to 8 digits, the kernel to 4; a domain that needs more keeps them."""
    assert pci_address(bus_id) == address


def test_the_fake_stands_behind_the_real_binding(nvml: FakeNvml) -> None:
    """The calls go through nvidia-ml-py's own code: its structs and handles come back."""
    handle: Any = pynvml.nvmlDeviceGetHandleByIndex(0)
    assert isinstance(handle, ctypes.POINTER(pynvml.struct_c_nvmlDevice_t))
    assert isinstance(pynvml.nvmlDeviceGetMemoryInfo(handle), pynvml.c_nvmlMemory_t)
