"""The stand-in for NVML behind the real nvidia-ml-py."""

from __future__ import annotations

import ctypes
import subprocess
import sys
import threading
from typing import Any

import pynvml
import pytest

from preflight.hardware import simulated_nvml
from preflight.hardware.simulated_answers import ANSWERS, TEXTS
from preflight.hardware.simulated_nvml import SimulatedNvml, healthy_cards

from .nvml_in_place import look

LIBRARY = pynvml.nvmlLib


def test_it_stands_behind_the_real_binding() -> None:
    """The calls go through nvidia-ml-py's own code: its structs and handles come back."""
    with SimulatedNvml().put_in_place():
        pynvml.nvmlInit()
        handle: Any = pynvml.nvmlDeviceGetHandleByIndex(0)
        assert isinstance(handle, ctypes.POINTER(pynvml.struct_c_nvmlDevice_t))
        memory = pynvml.nvmlDeviceGetMemoryInfo(handle)
        assert isinstance(memory, pynvml.c_nvmlMemory_t)
        assert memory.used + memory.free == memory.total
        newer = pynvml.nvmlDeviceGetMemoryInfo(handle, version=pynvml.nvmlMemory_v2)
        assert newer.used + newer.free + newer.reserved == newer.total
        assert pynvml.nvmlDeviceGetName(handle) == "NVIDIA H100 80GB HBM3"


def test_it_leaves_no_trace() -> None:
    """After the block, also one that ends in an error, everything is as before."""
    cache = pynvml._nvmlGetFunctionPointer_cache
    words = pynvml.NVMLError._errcode_to_string
    opened = pynvml._nvmlLib_refcount
    with pytest.raises(KeyError), SimulatedNvml().put_in_place():
        pynvml.nvmlInit()
        str(pynvml.NVMLError(31337))
        raise KeyError
    assert pynvml.nvmlLib is LIBRARY
    assert pynvml._nvmlGetFunctionPointer_cache is cache
    assert pynvml.NVMLError._errcode_to_string is words
    assert 31337 not in words
    assert pynvml._nvmlLib_refcount == opened


def test_one_library_in_the_place_of_another() -> None:
    """The inner one answers inside, the outer one again after it."""
    outer, inner = SimulatedNvml(3), SimulatedNvml(1)
    with outer.put_in_place():
        pynvml.nvmlInit()
        assert pynvml.nvmlDeviceGetCount() == 3
        with inner.put_in_place():
            pynvml.nvmlInit()
            assert pynvml.nvmlDeviceGetCount() == 1
        assert pynvml.nvmlDeviceGetCount() == 3


def test_before_it_is_initialized_it_tells_its_version_only() -> None:
    """As the real library: any other call is refused."""
    with SimulatedNvml().put_in_place():
        assert pynvml.nvmlSystemGetNVMLVersion() == "13.580.65.06"
        with pytest.raises(pynvml.NVMLError) as caught:
            pynvml.nvmlDeviceGetCount()
    assert caught.value.value == pynvml.NVML_ERROR_UNINITIALIZED


def test_a_card_that_is_missing() -> None:
    """A card taken from the list is not counted, and its place is no index."""
    library = SimulatedNvml(8)
    del library.cards[3]
    with library.put_in_place():
        pynvml.nvmlInit()
        assert pynvml.nvmlDeviceGetCount() == 7
        with pytest.raises(pynvml.NVMLError) as caught:
            pynvml.nvmlDeviceGetHandleByIndex(7)
    assert caught.value.value == pynvml.NVML_ERROR_INVALID_ARGUMENT


def test_healthy_cards_differ_where_cards_do() -> None:
    """Eight cards have eight of each name, and are equal in everything else."""
    cards = healthy_cards(8)
    for attribute in ("uuid", "serial", "bus", "minor"):
        assert len({getattr(card, attribute) for card in cards}) == 8
    assert len({len(card.links) for card in cards}) == 1


def test_cards_do_not_share_what_can_be_broken() -> None:
    """What is done to one card is not done to another, nor to another library."""
    first = SimulatedNvml()
    first.cards[0].links[0].active = False
    first.cards[0].broken["nvmlDeviceGetSerial"] = 999
    assert first.cards[1].links[0].active
    assert first.cards[1].broken == {}
    assert SimulatedNvml().cards[0].links[0].active


def functions() -> set[str]:
    """Functions of C that the stand-in has."""
    methods = {name for name in vars(SimulatedNvml) if name.startswith("nvml")}
    return methods | set(ANSWERS) | set(TEXTS)


@pytest.mark.parametrize("function", sorted(functions()))
def test_a_function_can_be_broken_or_be_missing(function: str) -> None:
    """Every function returns the error that is set for it, or is not there at all."""
    library = SimulatedNvml()
    library.broken[function] = 999
    assert getattr(library, function)() in (999, 1)
    library.opened = 1
    assert getattr(library, function)() == 999
    library.lacking.add(function)
    assert not hasattr(library, function)


def test_every_function_that_a_look_uses_is_simulated() -> None:
    """The backend finds no function missing on a simulated machine."""
    missing: list[str] = []

    class Asked(SimulatedNvml):
        def __getattribute__(self, name: str) -> Any:
            try:
                return super().__getattribute__(name)
            except AttributeError:
                missing.append(name)
                raise

    look(Asked())
    assert missing == []


def test_a_function_that_is_not_simulated_is_missing() -> None:
    """Who asks for more than this library holds is told that the driver lacks it."""
    with SimulatedNvml().put_in_place():
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByIndex(0)
        with pytest.raises(pynvml.NVMLError) as caught:
            pynvml.nvmlDeviceGetFanSpeed(handle)
    assert caught.value.value == pynvml.NVML_ERROR_FUNCTION_NOT_FOUND


def test_a_hanging_function_does_not_return() -> None:
    """The call waits for ever, whatever its card."""
    library = SimulatedNvml()
    library.hanging.add("nvmlInitWithFlags")
    waiting = threading.Thread(target=library.nvmlInitWithFlags, args=(0,), daemon=True)
    waiting.start()
    waiting.join(0.1)
    assert waiting.is_alive()


def test_it_needs_no_test_framework() -> None:
    """What is shipped is imported where pytest is not."""
    code = f"import sys; import {simulated_nvml.__name__}; print('pytest' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "False"
