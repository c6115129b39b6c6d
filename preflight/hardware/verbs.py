"""What lets RDMA reach user space and the memory of an accelerator."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from preflight.facts import Absence, Text
from preflight.hardware.deadline import answer_within
from preflight.hardware.files import Files, as_text

LIBRARY = "libibverbs.so.1"
_FOLDERS = (
    "/lib/x86_64-linux-gnu",
    "/usr/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib/aarch64-linux-gnu",
    "/lib64",
    "/usr/lib64",
    "/lib",
    "/usr/lib",
    "/usr/local/lib",
)
"""Where ld.so looks on Debian's and Red Hat's families, besides what ld.so.conf names."""
_CONFIGURED = "/etc/ld.so.conf.d"
_DEADLINE_S = 2.0
"""LD_LIBRARY_PATH may name a folder of a server that is gone."""
_AMD_PEERS = (
    "/sys/kernel/mm/memory_peers/amdkfd",
    "/sys/kernel/memory_peers/amdkfd",
    "/sys/memory_peers/amdkfd",
)
"""Where the module ib_peer_mem, by its version, lists amdkfd (RCCL looks at the same three)."""
_DMABUF_OPTIONS = ("CONFIG_DMABUF_MOVE_NOTIFY=y", "CONFIG_PCI_P2PDMA=y")
"""What RCCL asks the configuration of the kernel for."""
_DMABUF_KERNEL = (5, 12)
"""NVIDIA's GPUDirect RDMA guide: DMA-BUF needs the open kernel modules and Linux 5.12."""


def verbs_library(files: Files, environ: Mapping[str, str]) -> Text:
    """Path of libibverbs.so.1; NCCL and RCCL open it by name and go without RDMA otherwise."""

    def look() -> Text:
        for folder in _folders(files, environ):
            if files.exists(f"{folder}/{LIBRARY}"):
                return as_text(f"{folder}/{LIBRARY}")
        return Absence(what=LIBRARY, reason="not found")

    return answer_within(_DEADLINE_S, LIBRARY, look)


def peer_memory(files: Files) -> Text:
    """What lets RDMA adapters reach an accelerator's memory; ``none`` where nothing does.

    A module by its name, or ``dmabuf`` where the driver can export memory that way; whether each
    adapter can take it, trying alone tells.
    """
    text = files.text("/proc/modules")
    if isinstance(text, Absence):
        return text
    modules = {line.split(" ", 1)[0] for line in text.splitlines()}
    for name in ("nvidia_peermem", "nv_peer_mem"):
        if name in modules:
            return name
    if any(files.exists(path) for path in _AMD_PEERS):
        return "amdkfd"
    if "nvidia" in modules:
        return _of_nvidia(files)
    return _of_amd(files) if "amdgpu" in modules else "none"


def _of_nvidia(files: Files) -> Text:
    version = files.text("/proc/driver/nvidia/version")
    release = files.text("/proc/sys/kernel/osrelease")
    for text in (version, release):
        if isinstance(text, Absence):
            return text
    is_open = "Open Kernel Module" in str(version)
    match = re.match(r"([0-9]{1,4})\.([0-9]{1,4})", str(release))
    is_new = match is not None and (int(match[1]), int(match[2])) >= _DMABUF_KERNEL
    return "dmabuf" if is_open and is_new else "none"


def _of_amd(files: Files) -> Text:
    release = files.text("/proc/sys/kernel/osrelease")
    if isinstance(release, Absence):
        return release
    configuration = files.text(f"/boot/config-{release}")
    if isinstance(configuration, Absence):
        return configuration
    lines = set(configuration.splitlines())
    return "dmabuf" if lines.issuperset(_DMABUF_OPTIONS) else "none"


def _folders(files: Files, environ: Mapping[str, str]) -> Iterator[str]:
    """Folders in ld.so's order; relative ones count from a folder that we do not know."""
    named = environ.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":")
    yield from (folder.rstrip("/") for folder in named if folder.startswith("/"))
    pages = files.names(_CONFIGURED)
    for page in () if isinstance(pages, Absence) else pages:
        text = files.text(f"{_CONFIGURED}/{page}") if page.endswith(".conf") else ""
        lines = "" if isinstance(text, Absence) else text
        yield from (line.rstrip("/ ") for line in lines.splitlines() if line.startswith("/"))
    yield from _FOLDERS
