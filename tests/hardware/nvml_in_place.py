"""A simulated NVML in place for tests, and a look through it at a machine of files."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pynvml
import pytest

from preflight.hardware.files import Files
from preflight.hardware.nvidia import NvidiaBackend
from preflight.hardware.protocol import Say, Sighting, silent
from preflight.hardware.simulated_nvml import SimulatedNvml

NODE = "/sys/bus/pci/devices/0000:1b:00.0"
"""The first simulated card in sysfs."""
newer = pytest.mark.skipif(
    not hasattr(pynvml, "nvmlDeviceGetRepairStatus"),
    reason="the oldest nvidia-ml-py that preflight runs with lacks some of these calls",
)
NO_FILES = Path(__file__).parent / "a machine without files"


def install(monkeypatch: pytest.MonkeyPatch, library: object) -> None:
    """Put a library, or None, behind nvidia-ml-py until the end of the test."""
    monkeypatch.setattr(pynvml, "nvmlLib", library)
    monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})
    words = dict(pynvml.NVMLError._errcode_to_string)
    monkeypatch.setattr(pynvml.NVMLError, "_errcode_to_string", words)


def look(
    library: SimulatedNvml,
    *,
    root: Path = NO_FILES,
    environ: Mapping[str, str] | None = None,
    say: Say = silent,
) -> Sighting:
    """What the backend sees through the real nvidia-ml-py."""
    with library.put_in_place():
        return NvidiaBackend(Files(root), environ or {}).look("node-a", say)


def write(root: Path, path: str, text: str) -> None:
    """A file of the kernel below ``root``."""
    place = root / path.lstrip("/")
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def flat(facts: Any, at: str = "") -> dict[str, Any]:
    """Facts by their path: ``ecc.pending``, ``links.3.state``."""
    if isinstance(facts, tuple) and all(isinstance(one, msgspec.Struct) for one in facts):
        inside = {str(index): one for index, one in enumerate(facts)}
    elif isinstance(facts, msgspec.Struct) and hasattr(facts, "reason"):
        return {at: facts}
    elif isinstance(facts, msgspec.Struct):
        inside = {name: getattr(facts, name) for name in facts.__struct_fields__}
    else:
        return {at: facts}
    found = {at: ()} if facts == () else {}
    for name, fact in inside.items():
        found.update(flat(fact, f"{at}.{name}".lstrip(".")))
    return found


def old_and_new() -> SimulatedNvml:
    """One card that supports everything, retired pages and remapped rows alike."""
    library = SimulatedNvml(1)
    library.cards[0].retired = (0, 0)
    return library


def write_place(root: Path) -> None:
    """What the kernel says of the first card's place among the CPUs."""
    write(root, f"{NODE}/numa_node", "1\n")
    write(root, f"{NODE}/local_cpulist", "48-95,144-191\n")
