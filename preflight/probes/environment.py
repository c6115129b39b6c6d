"""What the interpreter under test holds: its distributions, then its torch.

torch is imported inside ``facts`` alone, after the distributions have been sent, so that an
interpreter whose torch is broken or missing is still described.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import platform
import re
import sys
import time
from typing import Any, Callable, Dict, List, Optional

from . import assemblers, reply

TRITON_NAMES = ("triton", "pytorch-triton", "pytorch-triton-rocm", "triton-rocm")


def facts() -> Dict[str, Any]:
    """Send ``packages`` at once, then import torch and return what it says of itself."""
    reply.send("packages", **packages())
    reply.progress("import torch")
    start = time.perf_counter()
    torch = importlib.import_module("torch")
    seconds = time.perf_counter() - start
    reply.progress("ask torch")
    return {"seconds": seconds, **_torch_facts(torch)}


def packages() -> Dict[str, Any]:
    """The interpreter and its distributions, without importing any of them."""
    spec = importlib.util.find_spec("torch")
    found = distributions()
    return {
        "python": platform.python_version(),
        "implementation": platform.python_implementation(),
        "executable": sys.executable,
        "prefix": sys.prefix,
        "platform": platform.platform(),
        "torch": next((d["version"] for d in found if d["key"] == "torch"), None),
        "torch_file": spec.origin if spec is not None else None,
        "distributions": found,
    }


def distributions() -> List[Dict[str, Any]]:
    """Distributions by name; ``shadowed`` lists copies of one name that stand later on sys.path."""
    found: Dict[str, Dict[str, Any]] = {}
    for distribution in importlib.metadata.distributions():
        entry = _describe(distribution)
        if entry is None:
            continue
        first = found.setdefault(entry["key"], entry)
        if first is not entry and first["location"] != entry["location"]:
            copy = {"version": entry["version"], "location": entry["location"]}
            if copy not in first["shadowed"]:
                first["shadowed"].append(copy)
    return [found[key] for key in sorted(found)]


def _describe(distribution: importlib.metadata.Distribution) -> Optional[Dict[str, Any]]:
    """Facts of one distribution; None for a leftover folder without name or version."""
    metadata = distribution.metadata
    name, version = metadata["Name"], metadata["Version"]
    if not name or not version:
        return None
    return {
        "key": re.sub(r"[-_.]+", "-", name).lower(),
        "name": name,
        "version": version,
        "origin": _origin(distribution),
        "location": str(distribution.locate_file("")),
        "shadowed": [],
    }


def _origin(distribution: importlib.metadata.Distribution) -> str:
    """``index``, or by PEP 610 ``editable`` or ``url``."""
    text = distribution.read_text("direct_url.json")
    if not text:
        return "index"
    try:
        direct = json.loads(text)
    except ValueError:
        return "url"
    return "editable" if direct.get("dir_info", {}).get("editable") else "url"


def _version_of(*names: str) -> Optional[str]:
    for name in names:
        try:
            return importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def _torch_facts(torch: Any) -> Dict[str, Any]:
    """Build, architectures and devices; a question that torch cannot answer lands in ``errors``."""
    errors: Dict[str, str] = {}

    def ask(what: str, question: Callable[[], Any]) -> Any:
        try:
            return question()
        except (RuntimeError, OSError, AttributeError, ImportError, AssertionError) as error:
            errors[what] = f"{type(error).__name__}: {error}"
            return None

    built_for_gpu = (
        torch.version.cuda is not None or getattr(torch.version, "hip", None) is not None
    )
    available = bool(ask("available", torch.cuda.is_available)) if built_for_gpu else False
    distributed = ask("distributed", lambda: torch.distributed.is_available()) is True
    nccl_built = distributed and ask("nccl_built", torch.distributed.is_nccl_available) is True
    return {
        "torch": str(torch.__version__),
        "file": torch.__file__,
        "cuda": torch.version.cuda,
        "hip": getattr(torch.version, "hip", None),
        "git": torch.version.git_version,
        "cudnn": ask("cudnn", lambda: _cudnn(torch)) if built_for_gpu else None,
        "nccl": ask("nccl", lambda: _nccl(torch)) if built_for_gpu and nccl_built else None,
        "triton": _version_of(*TRITON_NAMES),
        "assemblers": assemblers.found(torch.__file__) if torch.version.cuda is not None else {},
        "numpy": _version_of("numpy"),
        "machine": platform.machine(),
        "glibc": _glibc(),
        "arch_list": (ask("arch_list", lambda: _arch_list(torch)) or []) if built_for_gpu else [],
        "cuda_available": available,
        "cuda_error": _cuda_error(torch) if built_for_gpu and not available else None,
        "devices": (ask("devices", lambda: devices(torch)) or []) if available else [],
        "distributed": distributed,
        "gloo": distributed and ask("gloo", lambda: _gloo(torch)) is True,
        "nccl_built": nccl_built,
        "num_threads": torch.get_num_threads(),
        "errors": errors,
    }


def _gloo(torch: Any) -> bool:
    asked = getattr(torch.distributed, "is_gloo_available", None)  # torch >= 2.3
    return bool(asked()) if asked else True


def _glibc() -> Optional[str]:
    """``2.35``; None where the C library is another one."""
    library, version = platform.libc_ver()
    return version if library == "glibc" and version else None


def _cudnn(torch: Any) -> Optional[str]:
    number = torch.backends.cudnn.version()
    return None if number is None else str(number)


def _nccl(torch: Any) -> str:
    version = importlib.import_module("torch.cuda.nccl").version()
    return ".".join(str(part) for part in version) if isinstance(version, tuple) else str(version)


def _arch_list(torch: Any) -> List[str]:
    """What the build holds code for; before torch 2.6 only the flags answer without a driver."""
    listed = list(torch.cuda.get_arch_list())
    if not listed and hasattr(torch._C, "_cuda_getArchFlags"):
        listed = (torch._C._cuda_getArchFlags() or "").split()
    return listed


def _cuda_error(torch: Any) -> Optional[str]:
    """Why a GPU build has no device, in torch's words; None where it starts and finds none."""
    try:
        torch.cuda.init()
    except (RuntimeError, OSError, AssertionError, AttributeError) as error:
        return str(error)
    return None


def devices(torch: Any) -> List[Dict[str, Any]]:
    """The CUDA or HIP devices in torch's order."""
    hip = getattr(torch.version, "hip", None) is not None
    return [
        _device(torch.cuda.get_device_properties(index), index, hip)
        for index in range(torch.cuda.device_count())
    ]


def _device(properties: Any, index: int, hip: bool) -> Dict[str, Any]:
    if hip:
        architecture = str(properties.gcnArchName).split(":")[0]
    else:
        architecture = f"sm_{properties.major}{properties.minor}"
    return {
        "torch_device": f"cuda:{index}",
        "name": properties.name,
        "uuid": _uuid(getattr(properties, "uuid", None), hip),
        "pci": _pci(properties),
        "capability": [properties.major, properties.minor],
        "memory_bytes": properties.total_memory,
        "architecture": architecture,
    }


def _uuid(value: Any, hip: bool) -> Optional[str]:
    """``GPU-...`` as NVML and ROCm write it; None before torch 2.4, which does not tell it.

    HIP fills the sixteen bytes with the ASCII digits of the card's own 64-bit number, and torch
    prints them as if they were a binary UUID.
    """
    if value is None:
        return None
    text = str(value)
    if text.startswith(("GPU-", "MIG-")):
        return text
    if hip:
        try:
            digits = bytes.fromhex(text.replace("-", "")).decode("ascii")
            int(digits, 16)
        except ValueError:
            return "GPU-" + text
        return "GPU-" + digits
    return "GPU-" + text


def _pci(properties: Any) -> Optional[str]:
    """``0000:9a:00.0``; None where this torch does not tell it."""
    numbers = [
        getattr(properties, name, None) for name in ("pci_domain_id", "pci_bus_id", "pci_device_id")
    ]
    if any(number is None for number in numbers):
        return None
    domain, bus, slot = (int(number or 0) for number in numbers)
    return f"{domain:04x}:{bus:02x}:{slot:02x}.0"
