"""NVIDIA devices, through NVML (nvidia-ml-py)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from functools import partial
from typing import Any

import pynvml

from preflight.facts import Absence
from preflight.hardware.protocol import Say, Sighting, silent
from preflight.hardware.visibility import NVIDIA_VARIABLES, visible
from preflight.records import Device

GIB = 1024**3

_REASONS = {
    pynvml.NVML_ERROR_LIBRARY_NOT_FOUND: "not found",
    pynvml.NVML_ERROR_DRIVER_NOT_LOADED: "driver not loaded",
    pynvml.NVML_ERROR_NOT_SUPPORTED: "not supported",
    pynvml.NVML_ERROR_NO_PERMISSION: "no permission",
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND: "driver lacks the call",
    pynvml.NVML_ERROR_GPU_IS_LOST: "device lost",
    pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH: "library and kernel module differ",
}


class NvidiaBackend:
    """What NVML says; ``look`` may block inside the driver."""

    def look(self, node: str, say: Say = silent) -> Sighting:
        """Devices in NVML's order, which is that of their PCI addresses."""
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            absence = _absence("NVML", error)
            return Sighting(looked_for=f"NVML: {absence.reason}", absences=(absence,))
        try:
            return self._sighting(node)
        finally:
            with contextlib.suppress(pynvml.NVMLError):  # what was seen stays true
                pynvml.nvmlShutdown()

    def _sighting(self, node: str) -> Sighting:
        absences: list[Absence] = []

        def ask(what: str, call: Callable[[], Any]) -> Any:
            try:
                return call()
            except pynvml.NVMLError as error:
                absences.append(_absence(what, error))
                return None

        driver = ask("driver version", lambda: _text(pynvml.nvmlSystemGetDriverVersion()))
        cuda = ask("CUDA version of the driver", pynvml.nvmlSystemGetCudaDriverVersion_v2)
        count = ask("number of devices", pynvml.nvmlDeviceGetCount) or 0
        devices = []
        for index in range(count):
            handle = ask(f"gpu{index}", partial(pynvml.nvmlDeviceGetHandleByIndex, index))
            if handle is not None:
                devices.append(_device(handle, index, node, driver, _cuda_version(cuda), ask))
        shown, hiding = visible([d.uuid for d in devices], os.environ, NVIDIA_VARIABLES)
        hidden = [d for i, d in enumerate(devices) if i not in shown]
        return Sighting(
            looked_for=f"NVML: driver {driver or 'unknown'}, {count} device(s)",
            devices=tuple(d for i, d in enumerate(devices) if i in shown),
            hidden=tuple(f"{d.name} ({d.product}) by {', '.join(hiding)}" for d in hidden),
            absences=tuple(absences),
        )


def _device(
    handle: Any,
    index: int,
    node: str,
    driver: str | None,
    driver_cuda: str | None,
    ask: Callable[[str, Callable[[], Any]], Any],
) -> Device:
    name = f"gpu{index}"
    product = ask(f"product of {name}", lambda: _text(pynvml.nvmlDeviceGetName(handle)))
    memory = ask(f"memory of {name}", lambda: pynvml.nvmlDeviceGetMemoryInfo(handle))
    capability = ask(
        f"compute capability of {name}",
        lambda: pynvml.nvmlDeviceGetCudaComputeCapability(handle),
    )
    pci = ask(f"PCI address of {name}", lambda: pynvml.nvmlDeviceGetPciInfo(handle))
    return Device(
        name=name,
        node=node,
        kind="cuda",
        product=product or "unknown NVIDIA device",
        uuid=ask(f"UUID of {name}", lambda: _text(pynvml.nvmlDeviceGetUUID(handle))),
        pci=None if pci is None else pci_address(_text(pci.busId)),
        memory_GiB=None if memory is None else round(int(memory.total) / GIB, 2),
        architecture=None if capability is None else f"sm_{capability[0]}{capability[1]}",
        driver=driver,
        driver_cuda=driver_cuda,
    )


def pci_address(bus_id: str) -> str:
    """``0000:9a:00.0`` from NVML's ``00000000:9A:00.0``; large domains keep their digits."""
    domain, _, rest = bus_id.lower().partition(":")
    return f"{int(domain, 16):04x}:{rest}"


def _cuda_version(number: int | None) -> str | None:
    """``13.0`` from 13000."""
    return None if number is None else f"{number // 1000}.{number % 1000 // 10}"


def _text(value: str | bytes) -> str:
    """NVML's strings were bytes before nvidia-ml-py 12."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _absence(what: str, error: Any) -> Absence:
    return Absence(what=what, reason=_REASONS.get(error.value, "failed"), detail=str(error))
