"""A stand-in for libnvidia-ml behind the real nvidia-ml-py: a healthy machine of 2 x H100.

nvidia-ml-py looks functions up with ``getattr(pynvml.nvmlLib, name)``, so an ordinary object in
that place is a driver. Change what it holds, or override one method, to break one thing.
"""

# ruff: noqa: D102 - each method is the C function of its name

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pynvml
import pytest

GIB = 1024**3
SUCCESS = pynvml.NVML_SUCCESS


@dataclass
class Card:
    """What the driver knows of one card; ``broken`` maps a function to the error it returns."""

    name: str = "NVIDIA H100 80GB HBM3"
    uuid: str = "GPU-5d1c8e0a-9f3b-4c2d-8e7f-0a1b2c3d4e5f"
    bus: str = "00000000:1B:00.0"
    memory: int = 81559 * 1024**2
    capability: tuple[int, int] = (9, 0)
    broken: dict[str, int] = field(default_factory=dict)


class FakeNvml:
    """The library: each method is one C function, filling what it is given by reference."""

    def __init__(self) -> None:
        self.driver = "580.65.06"
        self.cuda = 13000
        self.cards = [
            Card(),
            Card(uuid="GPU-77a1b2c3-0242-4c0e-9d1f-0242ac110002", bus="00000000:9A:00.0"),
        ]
        self.broken: dict[str, int] = {}
        """Function of the system to the error it returns."""
        self.lacking: set[str] = set()
        """Functions that this version of the library does not have."""
        self.open = 0
        """How often it was initialized and not yet shut down."""

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("nvml"):
            return super().__getattribute__(name)
        if name in self.lacking:
            raise AttributeError(name)
        return self._c_function(name, super().__getattribute__(name))

    def _c_function(self, name: str, function: Callable[..., int]) -> Callable[..., Any]:
        """A function that returns an error where one is set; ctypes gives it attributes."""

        def call(*arguments: Any) -> Any:
            error = self.broken.get(name)
            if error is None and arguments and hasattr(arguments[0], "card"):
                error = arguments[0].card.broken.get(name)
            return function(*arguments) if error is None else error

        return call

    def nvmlInitWithFlags(self, flags: int) -> int:
        self.open += 1
        return SUCCESS

    def nvmlShutdown(self) -> int:
        self.open -= 1
        return SUCCESS

    def nvmlErrorString(self, code: int) -> bytes:
        return f"error {code} in the driver's own words".encode()

    def nvmlSystemGetDriverVersion(self, text: Any, length: Any) -> int:
        text.value = self.driver.encode()
        return SUCCESS

    def nvmlSystemGetCudaDriverVersion_v2(self, version: Any) -> int:
        version._obj.value = self.cuda
        return SUCCESS

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:
        count._obj.value = len(self.cards)
        return SUCCESS

    def nvmlDeviceGetHandleByIndex_v2(self, index: Any, handle: Any) -> int:
        card = self.cards[index.value]
        handle._obj.card = card
        return card.broken.get("nvmlDeviceGetHandleByIndex_v2", SUCCESS)

    def nvmlDeviceGetName(self, handle: Any, text: Any, length: Any) -> int:
        text.value = handle.card.name.encode()
        return SUCCESS

    def nvmlDeviceGetUUID(self, handle: Any, text: Any, length: Any) -> int:
        text.value = handle.card.uuid.encode()
        return SUCCESS

    def nvmlDeviceGetMemoryInfo(self, handle: Any, memory: Any) -> int:
        memory._obj.total = handle.card.memory
        return SUCCESS

    def nvmlDeviceGetCudaComputeCapability(self, handle: Any, major: Any, minor: Any) -> int:
        major._obj.value, minor._obj.value = handle.card.capability
        return SUCCESS

    def nvmlDeviceGetPciInfo_v3(self, handle: Any, info: Any) -> int:
        info._obj.busId = handle.card.bus.encode()
        return SUCCESS


def install(monkeypatch: pytest.MonkeyPatch, library: object) -> None:
    """Put a library behind nvidia-ml-py, whose found functions and error texts are forgotten."""
    monkeypatch.setattr(pynvml, "nvmlLib", library)
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {}, raising=False)
    monkeypatch.setattr(pynvml.NVMLError, "_errcode_to_string", {}, raising=False)
