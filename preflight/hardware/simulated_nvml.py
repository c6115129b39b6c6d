"""A stand-in for NVIDIA's management library behind the real nvidia-ml-py.

nvidia-ml-py looks functions up with ``getattr(pynvml.nvmlLib, name)``, so that an ordinary object
in that place is a driver: its own structs are filled and its own errors are raised. Everything
above NVML runs as on a machine with cards.
"""

# ruff: noqa: D102 - each method nvml... is the C function of its name

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pynvml

from preflight.hardware.simulated_answers import (
    ANSWERS,
    NOT_SUPPORTED,
    SUCCESS,
    TEXTS,
    RefusedError,
    as_bytes,
    error_of,
    far_bus,
    field_value,
    numbers,
    text_of,
    write,
)
from preflight.hardware.simulated_cards import (
    SimulatedCard,
    SimulatedDriver,
    SimulatedFabric,
    SimulatedLink,
    SimulatedProcess,
    SimulatedSlice,
    healthy_cards,
)

__all__ = [
    "SimulatedCard",
    "SimulatedDriver",
    "SimulatedFabric",
    "SimulatedLink",
    "SimulatedNvml",
    "SimulatedProcess",
    "SimulatedSlice",
    "healthy_cards",
]

UNINITIALIZED, INVALID_ARGUMENT, NOT_FOUND, INSUFFICIENT_SIZE = 1, 2, 6, 7
"""nvmlReturn_t of nvml.h."""
ARGUMENT_VERSION_MISMATCH = 25
NO_ACCOUNT = 2**64 - 1
"""NVML_VALUE_NOT_AVAILABLE."""
UNSIGNED_LONG_LONG = 3
"""nvmlValueType_t."""
SYSTEM_LEVEL = 50
"""nvmlGpuTopologyLevel_t: the two cards meet between the CPUs only."""
WITHOUT_START = {"nvmlInitWithFlags", "nvmlErrorString", "nvmlSystemGetNVMLVersion"}
"""Functions that answer before the library was initialized."""


class SimulatedNvml:
    """The library: each function fills what it is given by reference and returns a code.

    As it is made the machine is sound. Change what it holds, or override one function.
    """

    def __init__(self, cards: list[SimulatedCard] | int = 2) -> None:
        """``cards`` are those of the machine, or how many H100."""
        self.driver = SimulatedDriver()
        self.cards = healthy_cards(cards) if isinstance(cards, int) else cards
        self.levels: dict[tuple[int, int], int] = {}
        """nvmlGpuTopologyLevel_t of pairs of indices, smaller first; else they meet at the CPUs."""
        self.peer_status: dict[tuple[int, int, int], int] = {}
        """nvmlGpuP2PStatus_t by index of one, of the other, and 0 for reading, 1 for writing."""
        self.broken: dict[str, int] = {}
        """Function to the error it returns, for every card."""
        self.lacking: set[str] = set()
        """Functions that this version of the library has not."""
        self.hanging: set[str] = set()
        """Functions that never return."""
        self.fabric_version = 3
        """Newest struct that nvmlDeviceGetGpuFabricInfoV takes."""
        self.opened = 0
        """How often it was initialized and not yet shut down."""

    @contextmanager
    def put_in_place(self) -> Iterator[SimulatedNvml]:
        """Stands behind pynvml until the end of the ``with`` block; then all is as before."""
        names = ("nvmlLib", "_nvmlGetFunctionPointer_cache", "_nvmlLib_refcount")
        before = {name: getattr(pynvml, name) for name in names}
        words = pynvml.NVMLError._errcode_to_string
        _set(dict(zip(names, (self, {}, 0), strict=True)), dict(words))
        try:
            yield self
        finally:
            _set(before, words)

    def called(self, function: str) -> None:
        """Told of each function before it answers; to be overridden by those who want to know."""

    def hang(self, function: str) -> None:
        """What a function does that never returns."""
        threading.Event().wait()

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("nvml"):
            return super().__getattribute__(name)
        if name in self.lacking:
            raise AttributeError(name)
        if name in ANSWERS:
            return self._function(name, numbers(ANSWERS[name]))
        if name in TEXTS:
            return self._function(name, text_of(TEXTS[name]))
        return self._function(name, super().__getattribute__(name))

    def _function(self, name: str, answer: Callable[..., Any]) -> Callable[..., Any]:
        """What pynvml takes for a function of C: it has attributes and returns a code."""

        def call(*arguments: Any) -> Any:
            self.called(name)
            if name in self.hanging:
                self.hang(name)
            if not self.opened and name not in WITHOUT_START:
                return UNINITIALIZED
            error = self.broken.get(name) or error_of(name, arguments)
            if error:
                return error
            try:
                return answer(*arguments)
            except RefusedError as refusal:
                return refusal.code

        return call

    def nvmlInitWithFlags(self, flags: int) -> int:
        self.opened += 1
        return SUCCESS

    def nvmlShutdown(self) -> int:
        self.opened -= 1
        return SUCCESS

    def nvmlErrorString(self, code: int) -> bytes:
        return f"error {code} in the driver's own words".encode()

    def nvmlSystemGetDriverVersion(self, text: Any, length: Any) -> int:
        return write(text, self.driver.version)

    def nvmlSystemGetNVMLVersion(self, text: Any, length: Any) -> int:
        return write(text, self.driver.library)

    def nvmlSystemGetCudaDriverVersion_v2(self, version: Any) -> int:
        version._obj.value = self.driver.cuda
        return SUCCESS

    def nvmlSystemGetConfComputeSettings(self, settings: Any) -> int:
        return self._fill_confidential(settings._obj)

    def nvmlSystemGetConfComputeState(self, state: Any) -> int:
        return self._fill_confidential(state._obj)

    def _fill_confidential(self, state: Any) -> int:
        state.ccFeature = self.driver.confidential
        state.devToolsMode = self.driver.development_tools
        return SUCCESS

    def nvmlSystemGetProcessName(self, pid: Any, text: Any, length: Any) -> int:
        for card in self.cards:
            for process in card.processes:
                if process.pid == pid.value:
                    return write(text, process.name)
        return NOT_FOUND

    def nvmlDeviceGetCount_v2(self, count: Any) -> int:
        count._obj.value = len(self.cards)
        return SUCCESS

    def nvmlDeviceGetHandleByIndex_v2(self, index: Any, handle: Any) -> int:
        if index.value >= len(self.cards):
            return INVALID_ARGUMENT
        card: SimulatedCard = self.cards[index.value]
        handle._obj.card = card
        return card.broken.get("nvmlDeviceGetHandleByIndex_v2", SUCCESS)

    def nvmlDeviceGetPciInfo_v3(self, handle: Any, info: Any) -> int:
        info._obj.busId = as_bytes(handle.card.bus)
        info._obj.pciDeviceId = handle.card.pci_id
        info._obj.pciSubSystemId = handle.card.subsystem_id
        return SUCCESS

    def nvmlDeviceGetMemoryInfo(self, handle: Any, info: Any) -> int:
        """The older struct, in which what the driver reserves counts as used."""
        card = handle.card
        self._fill_memory(card, info._obj, _held(card) + card.reserved_bytes)
        return SUCCESS

    def nvmlDeviceGetMemoryInfo_v2(self, handle: Any, info: Any) -> int:
        self._fill_memory(handle.card, info._obj, _held(handle.card))
        info._obj.reserved = handle.card.reserved_bytes
        return SUCCESS

    def _fill_memory(self, card: SimulatedCard, info: Any, used: int) -> None:
        if card.memory_bytes is None:
            raise RefusedError(NOT_SUPPORTED)
        info.total, info.used = card.memory_bytes, used
        info.free = card.memory_bytes - _held(card) - card.reserved_bytes

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Any, index: Any, found: Any) -> int:
        card = handle.card
        if index.value >= len(card.slices):
            return NOT_FOUND
        one = card.slices[index.value]
        one.name = one.name or f"{as_bytes(card.name).decode('utf-8', 'replace')} MIG {one.profile}"
        found._obj.card = one
        return SUCCESS

    def nvmlDeviceGetAttributes_v2(self, handle: Any, attributes: Any) -> int:
        attributes._obj.gpuInstanceSliceCount = handle.card.compute_slices
        attributes._obj.memorySizeMB = handle.card.memory_MiB
        return SUCCESS

    def nvmlDeviceGetRowRemapperHistogram(self, handle: Any, histogram: Any) -> int:
        if handle.card.banks is None:
            return NOT_SUPPORTED
        levels = ("max", "high", "partial", "low", "none")
        for level, banks in zip(levels, handle.card.banks, strict=True):
            setattr(histogram._obj, level, banks)
        return SUCCESS

    def nvmlDeviceGetRetiredPages(self, handle: Any, cause: Any, count: Any, pages: Any) -> int:
        if handle.card.retired is None:
            return NOT_SUPPORTED
        count._obj.value = handle.card.retired[cause.value]
        return SUCCESS if pages or not count._obj.value else INSUFFICIENT_SIZE

    def nvmlDeviceGetRepairStatus(self, handle: Any, status: Any) -> int:
        status._obj.bChannelRepairPending = handle.card.channel_repair
        status._obj.bTpcRepairPending = handle.card.tpc_repair
        return SUCCESS

    def nvmlDeviceGetFieldValues(self, handle: Any, count: Any, values: Any) -> int:
        for value in values._obj:
            try:
                number = field_value(handle.card, value.fieldId, value.scopeId)
            except RefusedError:
                number = None
            value.valueType = UNSIGNED_LONG_LONG
            value.value.ullVal = number or 0
            value.nvmlReturn = NOT_SUPPORTED if number is None else SUCCESS
            value.nvmlReturn = handle.card.broken_fields.get(value.fieldId, value.nvmlReturn)
        return SUCCESS

    def nvmlDeviceGetNvLinkRemotePciInfo_v2(self, handle: Any, link: int, info: Any) -> int:
        info._obj.busId = as_bytes(far_bus(handle.card, link))
        return SUCCESS

    def nvmlDeviceGetGpuFabricInfoV(self, handle: Any, info: Any) -> int:
        if info._obj.version >> 24 > self.fabric_version:
            return ARGUMENT_VERSION_MISMATCH
        fabric = _fill_fabric(handle.card, info._obj)
        info._obj.healthMask = fabric.health_mask
        if hasattr(info._obj, "healthSummary"):
            info._obj.healthSummary = fabric.health_summary
        return SUCCESS

    def nvmlDeviceGetGpuFabricInfo(self, handle: Any, info: Any) -> int:
        _fill_fabric(handle.card, info._obj)
        return SUCCESS

    def nvmlDeviceGetTemperatureV(self, handle: Any, info: Any) -> int:
        info._obj.temperature = handle.card.card_C
        return SUCCESS

    def nvmlDeviceGetComputeRunningProcesses_v3(self, handle: Any, count: Any, found: Any) -> int:
        return _list_processes(handle.card, count._obj, found)

    def nvmlDeviceGetComputeRunningProcesses_v2(self, handle: Any, count: Any, found: Any) -> int:
        return _list_processes(handle.card, count._obj, found)

    def nvmlDeviceGetTopologyCommonAncestor(self, one: Any, other: Any, level: Any) -> int:
        pair = sorted((self._index(one), self._index(other)))
        level._obj.value = self.levels.get((pair[0], pair[1]), SYSTEM_LEVEL)
        return SUCCESS

    def nvmlDeviceGetP2PStatus(self, one: Any, other: Any, what: int, status: Any) -> int:
        key = (self._index(one), self._index(other), what)
        status._obj.value = self.peer_status.get(key, 0)
        return SUCCESS

    def _index(self, handle: Any) -> int:
        return next(index for index, card in enumerate(self.cards) if card is handle.card)


def _set(names: Mapping[str, Any], words: dict[int, str]) -> None:
    for name, value in names.items():
        setattr(pynvml, name, value)
    pynvml.NVMLError._errcode_to_string = words


def _held(card: SimulatedCard) -> int:
    return card.used_bytes + sum(one.memory_bytes or 0 for one in card.processes)


def _fill_fabric(card: SimulatedCard, info: Any) -> SimulatedFabric:
    if card.fabric is None:
        raise RefusedError(NOT_SUPPORTED)
    info.clusterUuid[:] = card.fabric.cluster
    info.status, info.state = card.fabric.status, card.fabric.state
    info.cliqueId = card.fabric.clique
    return card.fabric


def _list_processes(card: SimulatedCard, count: Any, found: Any) -> int:
    """Nothing is written without a list, but for its length."""
    count.value = len(card.processes)
    if found is None:
        return INSUFFICIENT_SIZE if card.processes else SUCCESS
    for place, process in zip(found, card.processes, strict=False):  # the list is oversized
        place.pid = process.pid
        held = process.memory_bytes
        place.usedGpuMemory = NO_ACCOUNT if held is None else held
    return SUCCESS
