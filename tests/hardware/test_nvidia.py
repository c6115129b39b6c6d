"""NVIDIA devices through NVML, with the real nvidia-ml-py over a simulated library."""

from __future__ import annotations

import threading
from typing import Any

import pynvml
import pytest

from preflight.facts import Absence
from preflight.hardware.nvidia import NvidiaBackend
from preflight.hardware.protocol import Sighting
from preflight.hardware.simulated_nvml import SimulatedCard, SimulatedNvml

from .nvml_in_place import flat, install, look

GIVES_CARDS = ("nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2")


def said_in(library: SimulatedNvml) -> list[str]:
    """Everything that a look says, in its order."""
    said: list[str] = []
    look(library, say=said.append)
    return said


def called_in(library: SimulatedNvml) -> list[tuple[str, str]]:
    """Each function of the library that a look calls, and the call said last before it."""
    found: list[tuple[str, str]] = []
    said = [""]
    library.called = lambda function: found.append((function, said[-1]))
    look(library, say=lambda text: said.append(text.split()[0]))
    return found


CALLS = sorted({text.split()[0] for text in said_in(SimulatedNvml()) if text.startswith("nvml")})
"""Functions of nvidia-ml-py that a look at a healthy machine uses."""


def only(sighting: Sighting) -> Absence:
    """The only absence of a sighting."""
    (one,) = sighting.absences
    return one


def test_a_healthy_machine() -> None:
    """Two H100 with every fact that the record holds, in NVML's order; nothing is absent."""
    sighting = look(SimulatedNvml())
    first, second = sighting.devices
    assert (first.name, second.name) == ("gpu0", "gpu1")
    assert first.node == "node-a"
    assert first.kind == "cuda"
    assert first.product == "NVIDIA H100 80GB HBM3"
    assert first.uuid == "GPU-5d1c8e0a-9f3b-4c2d-8e7f-0a1b2c3d4e5f"
    assert (first.pci, second.pci) == ("0000:1b:00.0", "0000:2b:00.0")
    assert first.memory_GiB == 79.65
    assert first.architecture == "sm_90"
    assert (first.driver, first.driver_cuda) == ("580.65.06", "13.0")
    assert first.torch_device is None
    assert [card.device for card in sighting.cards] == ["gpu0", "gpu1"]
    assert (sighting.hidden, sighting.absences) == ((), ())
    assert sighting.looked_for == "NVML: driver 580.65.06, 2 device(s)"


def test_the_environment_is_read_when_the_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an environment of its own the backend reads that of the process."""
    install(monkeypatch, SimulatedNvml())
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert [device.name for device in NvidiaBackend().look("node-a").devices] == ["gpu1"]


def test_the_library_is_closed_again() -> None:
    """NVML is shut down after looking, also when the driver tells nothing."""
    library = SimulatedNvml()
    look(library)
    library.broken["nvmlDeviceGetCount_v2"] = pynvml.NVML_ERROR_UNKNOWN
    look(library)
    assert library.opened == 0


def test_the_library_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without libnvidia-ml.so.1 there is no device and an absence that says so."""
    install(monkeypatch, None)

    def refuse(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(pynvml, "CDLL", refuse)
    sighting = NvidiaBackend().look("node-a")
    assert (sighting.devices, sighting.cards, sighting.topology) == ((), (), None)
    assert (only(sighting).what, only(sighting).reason) == ("NVML", "not found")
    assert sighting.looked_for == "NVML: not found"
    assert sighting.driver.library == only(sighting)


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
def test_the_driver_does_not_answer(code: int, reason: str) -> None:
    """A driver that refuses to begin is an absence with its reason and the driver's own words."""
    library = SimulatedNvml()
    library.broken["nvmlInitWithFlags"] = code
    sighting = look(library)
    assert sighting.devices == ()
    assert sighting.looked_for == f"NVML: {reason}"
    assert (only(sighting).what, only(sighting).reason) == ("NVML", reason)
    assert only(sighting).detail


def test_no_card_at_all() -> None:
    """A driver without cards is no absence: it answered, and there are none."""
    sighting = look(SimulatedNvml(0))
    assert (sighting.devices, sighting.absences) == ((), ())
    assert (sighting.topology, sighting.peers) == (None, None)
    assert sighting.looked_for == "NVML: driver 580.65.06, 0 device(s)"


@pytest.mark.parametrize(
    ("code", "reason"),
    [(pynvml.NVML_ERROR_GPU_IS_LOST, "device lost"), (28, "failed")],
)
def test_a_lost_card_is_named(code: int, reason: str) -> None:
    """A card that fell off the bus is an absence; the others keep their numbers and their facts."""
    library = SimulatedNvml(3)
    library.cards[1].broken["nvmlDeviceGetHandleByIndex_v2"] = code
    sighting = look(library)
    assert [device.name for device in sighting.devices] == ["gpu0", "gpu2"]
    assert [card.device for card in sighting.cards] == ["gpu0", "gpu2"]
    assert (only(sighting).what, only(sighting).reason) == ("gpu1", reason)
    assert only(sighting).detail.startswith("nvmlDeviceGetHandleByIndex: ")
    assert sighting.topology is not None
    assert sighting.topology.names == ("gpu0", "gpu2")


def test_a_card_that_is_lost_while_it_is_asked() -> None:
    """A card lost after its handle was given is still listed, and no fact of it is known."""
    library = SimulatedNvml()
    calls = {function for function, _ in called_in(SimulatedNvml())} - set(GIVES_CARDS)
    library.cards[1].broken = dict.fromkeys(calls, pynvml.NVML_ERROR_GPU_IS_LOST)
    sighting = look(library)
    sick = sighting.devices[1]
    assert sick.product == "unknown NVIDIA device"
    assert (sick.memory_GiB, sick.architecture, sick.pci, sick.uuid) == (None, None, None, None)
    of_device = [absence for absence in sighting.absences if " of gpu1" in absence.what]
    assert {absence.reason for absence in of_device} == {"device lost"}
    assert {absence.what for absence in of_device} == {
        "product of gpu1",
        "memory of gpu1",
        "compute capability of gpu1",
        "PCI address of gpu1",
        "UUID of gpu1",
    }
    assert sighting.devices[0].memory_GiB == 79.65


@pytest.mark.parametrize(
    "code", [*range(1, 31), pynvml.NVML_ERROR_UNKNOWN, 31337], ids=lambda code: f"error {code}"
)
def test_a_card_that_answers_nothing_is_never_healthy(code: int) -> None:
    """Whatever every call returns, the look ends and each fact of the card is an Absence."""

    class Sick(SimulatedNvml):
        def _function(self, name: str, answer: Any) -> Any:
            if name.startswith("nvmlDevice") and name not in GIVES_CARDS:
                return lambda *arguments: code
            return super()._function(name, answer)

    sighting = look(Sick(1))
    facts = flat(sighting.cards[0])
    told = {path: fact for path, fact in facts.items() if not isinstance(fact, Absence)}
    # What AMD alone tells is never asked, and an Absence too.
    assert told == {"device": "gpu0"}
    assert sighting.devices[0].memory_GiB is None


def test_a_call_that_a_card_does_not_support() -> None:
    """An unsupported call leaves one fact unknown and names it in the reader's words."""
    library = SimulatedNvml()
    library.cards[0].broken["nvmlDeviceGetMemoryInfo_v2"] = pynvml.NVML_ERROR_NOT_SUPPORTED
    sighting = look(library)
    assert sighting.devices[0].memory_GiB is None
    assert sighting.devices[1].memory_GiB == 79.65
    assert only(sighting) == Absence(
        what="memory of gpu0",
        reason="not supported",
        detail="nvmlDeviceGetMemoryInfo: Not Supported",
    )


def test_a_fact_without_permission() -> None:
    """What the user may not read is said to be so, in the driver's words too."""
    library = SimulatedNvml()
    library.cards[0].broken["nvmlDeviceGetUUID"] = pynvml.NVML_ERROR_NO_PERMISSION
    sighting = look(library)
    assert sighting.devices[0].uuid is None
    assert only(sighting).reason == "no permission"


def test_a_version_that_the_driver_does_not_tell() -> None:
    """An error in the driver's version costs no device; a newer code keeps the library's words."""
    library = SimulatedNvml()
    library.broken["nvmlSystemGetDriverVersion"] = 31337
    sighting = look(library)
    assert sighting.looked_for == "NVML: driver unknown, 2 device(s)"
    assert [device.driver for device in sighting.devices] == [None, None]
    assert only(sighting).what == "driver version"


def test_an_old_driver_without_a_function() -> None:
    """A function that the library does not have is an absence, not an exception."""
    library = SimulatedNvml()
    library.lacking.add("nvmlSystemGetCudaDriverVersion_v2")
    sighting = look(library)
    assert [device.driver_cuda for device in sighting.devices] == [None, None]
    assert only(sighting).reason == "driver lacks the call"


@pytest.mark.parametrize("call", CALLS)
def test_an_nvidia_ml_py_without_a_function(call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No function of nvidia-ml-py is needed for the look to end, nor is one asked that is gone."""
    monkeypatch.delattr(pynvml, call)
    said: list[str] = []
    sighting = look(SimulatedNvml(), say=said.append)
    assert not any(text.split()[0] == call for text in said)
    assert len(sighting.devices) == (0 if call in MUST else 2)


MUST = {"nvmlInit", "nvmlDeviceGetCount", "nvmlDeviceGetHandleByIndex"}


def test_an_old_nvidia_ml_py(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nvidia-ml-py 12.535 lacks costs the repair state and the fabric's health, no more."""
    for name in (
        "nvmlDeviceGetRepairStatus",
        "nvmlDeviceGetGpuFabricInfoV",
        "nvmlSystemGetConfComputeSettings",
        "nvmlDeviceGetTemperatureV",
        "nvmlDeviceGetComputeRunningProcesses_v2",
        "NVML_FI_DEV_GET_GPU_RECOVERY_ACTION",
    ):
        monkeypatch.delattr(pynvml, name, raising=False)
    sighting = look(SimulatedNvml(1))
    facts = flat(sighting.cards[0])
    lacking = {
        path
        for path, fact in facts.items()
        if isinstance(fact, Absence) and fact.reason == "driver lacks the call"
    }
    assert lacking == {"repair", "fabric.health"}
    assert facts["fabric.state"] == "completed"
    assert sighting.driver.confidential == "off"


def test_a_shutdown_that_fails_loses_nothing() -> None:
    """What was seen is kept, whatever the library says at its end."""
    library = SimulatedNvml()
    library.broken["nvmlShutdown"] = pynvml.NVML_ERROR_UNKNOWN
    assert len(look(library).devices) == 2


def test_every_call_is_said_before_it_is_made() -> None:
    """Between two calls of the library there is the name of the second one."""
    calls = called_in(SimulatedNvml())
    for function, said in calls:
        assert said and function.startswith(said), f"{function} after {said or 'nothing'} was said"
    assert len(calls) > 100


def test_every_saying_of_a_card_names_it() -> None:
    """What is said of a card's call ends in the card, so that a hanging one can be told."""
    said = said_in(SimulatedNvml())
    assert "nvmlDeviceGetSerial gpu1" in said
    assert "nvmlDeviceGetNvLinkState gpu1 link 17" in said
    assert "nvmlDeviceGetP2PStatus gpu1 gpu0" in said
    assert said[0] == "nvmlInit"
    assert said[-1] == "nvmlShutdown"
    asked = [text for text in said if text.startswith("nvmlDevice") and "Count" not in text]
    assert all("gpu" in text for text in asked)


class StoppedError(Exception):
    """Ends the look in the place of a call that never returns."""


@pytest.mark.parametrize(
    ("function", "last"),
    [
        ("nvmlInitWithFlags", "nvmlInit"),
        ("nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex gpu0"),
        ("nvmlDeviceGetEccMode", "nvmlDeviceGetEccMode gpu0"),
        ("nvmlDeviceGetNvLinkState", "nvmlDeviceGetNvLinkState gpu0 link 0"),
        ("nvmlDeviceGetP2PStatus", "nvmlDeviceGetP2PStatus gpu0 gpu1"),
        ("nvmlShutdown", "nvmlShutdown"),
    ],
)
def test_a_call_that_never_returns_is_the_last_that_was_said(function: str, last: str) -> None:
    """The supervisor that kills the look knows the call and the card."""

    class Hanging(SimulatedNvml):
        def hang(self, function: str) -> None:
            raise StoppedError

    library = Hanging()
    library.hanging.add(function)
    said: list[str] = []
    with pytest.raises(StoppedError):
        look(library, say=said.append)
    # What ends the look in a test lets the library be closed, which a hanging call does not.
    assert [text for text in said if text != "nvmlShutdown" or text == last][-1] == last


def test_a_hanging_look_hangs() -> None:
    """Nothing in the backend ends a call of the driver that does not return."""
    library = SimulatedNvml()
    library.hanging.add("nvmlDeviceGetEccMode")
    reached = threading.Event()

    def say(text: str) -> None:
        if text == "nvmlDeviceGetEccMode gpu0":
            reached.set()

    with library.put_in_place():
        looking = threading.Thread(target=lambda: NvidiaBackend().look("node-a", say), daemon=True)
        looking.start()
        assert reached.wait(60)
        looking.join(0.1)
        assert looking.is_alive()


def test_cards_that_share_the_hosts_memory() -> None:
    """GB10: the driver tells no memory of its own, and the device has none, never 0."""
    card = SimulatedCard(name="NVIDIA GB10", capability=(12, 1), memory_bytes=None, fabric=None)
    sighting = look(SimulatedNvml([card]))
    (device,) = sighting.devices
    assert (device.product, device.architecture, device.memory_GiB) == (
        "NVIDIA GB10",
        "sm_121",
        None,
    )
    assert (only(sighting).what, only(sighting).reason) == ("memory of gpu0", "not supported")
    used = sighting.cards[0].memory_used_GiB
    assert isinstance(used, Absence) and used.reason == "not supported"
