"""What a paste says, each with the lines on which it stands."""

from __future__ import annotations

from typing import Any

import msgspec


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """A value as it was printed."""

    value: str
    line: int
    """Its line in the paste, from 1."""


class Gpu(msgspec.Struct, frozen=True, kw_only=True):
    """A card that a tool lists."""

    name: str
    """As printed: ``NVIDIA A10``; ``card without a name`` in a matrix."""
    architecture: str | None = None
    """``sm_90`` or ``gfx942``, where the text or the name tells."""
    memory_MiB: int | None = None
    used_MiB: int | None = None
    utilization_percent: int | None = None
    line: int
    tool: str
    """``collect_env``, ``nvidia-smi``, ``rocm-smi``, ``topology`` ..."""


class Build(msgspec.Struct, frozen=True, kw_only=True):
    """One torch that the paste tells of, with the machine that it saw."""

    torch: Reading | None = None
    """``2.7.0+cu126``; ``N/A`` where the collector's Python has no torch."""
    cuda: Reading | None = None
    """Toolkit that it was built with, as printed: ``12.6``, ``N/A``, ``None``."""
    hip: Reading | None = None
    available: Reading | None = None
    """Whether torch found a device: ``True`` or ``False``."""
    driver: Reading | None = None
    """``550.54.15``, or ``Could not collect``."""
    gpu_words: Reading | None = None
    """What stands for the list of cards: ``Could not collect``, ``No CUDA``."""
    os: Reading | None = None
    platform: Reading | None = None
    gpus: tuple[Gpu, ...] = ()


class Complaint(msgspec.Struct, frozen=True, kw_only=True):
    """torch's warning that its build does not fit a card."""

    name: str
    architecture: str
    built_for: tuple[str, ...]
    """``sm_80``; () where the list was cut off."""
    lines: tuple[int, ...]


class Collectives(msgspec.Struct, frozen=True, kw_only=True):
    """What a log of NCCL or RCCL tells."""

    lines: int = 0
    version: Reading | None = None
    ranks: Reading | None = None
    nodes: Reading | None = None
    network: Reading | None = None
    no_ib_device: Reading | None = None
    no_verbs: Reading | None = None
    interface: Reading | None = None
    no_peer_access: Reading | None = None
    host_path: Reading | None = None
    completed: Reading | None = None
    warnings: tuple[Reading, ...] = ()
    """First WARN lines."""


class Condition(msgspec.Struct, frozen=True, kw_only=True):
    """A state of the machine that a tool prints, already judged by what it says itself."""

    stage: str
    status: str
    """``pass``, ``warn``, ``fail`` or ``unknown``."""
    reason: str
    action: str = ""
    line: int


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that was read."""

    builds: tuple[Build, ...] = ()
    gpus: tuple[Gpu, ...] = ()
    """Cards listed outside the dump of a torch."""
    driver: Reading | None = None
    driver_cuda: Reading | None = None
    """Newest CUDA that the driver serves, by nvidia-smi's header."""
    smi_complete: bool = False
    """Whether the table of nvidia-smi was pasted to its end."""
    pci_cards: tuple[Reading, ...] = ()
    capability: Reading | None = None
    """Highest compute capability that a framework prints, as ``sm_86``."""
    nvcc: Reading | None = None
    """Toolkit on the machine, as DeepSpeed's report prints it beside torch's."""
    complaints: tuple[Complaint, ...] = ()
    packages: dict[str, Reading] = msgspec.field(default_factory=dict)
    slices: tuple[Reading, ...] = ()
    """MIG devices."""
    conditions: tuple[Condition, ...] = ()
    collectives: Collectives = msgspec.field(default_factory=Collectives)
    frames: tuple[Reading, ...] = ()
    """Packages of the last frames of tracebacks, the innermost last."""
    is_collector_crash: bool = False

    def summary(self) -> dict[str, Any]:
        """Values alone, without lines, for the JSON answer."""
        build = next((b for b in self.builds if b.torch is not None), Build())
        gpus = [gpu for one in self.builds for gpu in one.gpus] + list(self.gpus)
        logs = self.collectives
        driver = build.driver or self.driver
        return {
            "torch": _value(build.torch),
            "cuda": _value(build.cuda),
            "hip": _value(build.hip),
            "cuda_available": _value(build.available),
            "driver": _value(driver),
            "driver_cuda": _value(self.driver_cuda),
            "os": _value(build.os),
            "platform": _value(build.platform),
            "gpus": [{"name": g.name, "architecture": g.architecture} for g in gpus],
            "packages": {name: one.value for name, one in sorted(self.packages.items())},
            "mig_devices": [one.value for one in self.slices],
            "nccl": _value(logs.version),
            "network": _value(logs.network),
            "builds": len(self.builds),
        }


def _value(reading: Reading | None) -> str | None:
    return None if reading is None else reading.value
