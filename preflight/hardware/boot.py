"""Options that the kernel was started with, those alone that concern an accelerator."""

from __future__ import annotations

import re

from preflight.facts import Absence, Text
from preflight.hardware.files import Files

_CMDLINE = "/proc/cmdline"
_TOKEN = re.compile(r'(?:[^\s"]|"[^"]*"?)+')
_CONCERNS_US = re.compile(
    r"iommu|intel_iommu|amd_iommu|iommu\.(?:passthrough|strict|forcedac)|arm-smmu[\w.-]*"
    r"|pci|pcie_\w+|pci-stub\.\w+|vfio[\w.-]*"
    r"|numa|numa_balancing|numa_zonelist_order"
    r"|(?:rd\.driver\.|modprobe\.|module_)blacklist|(?:rd\.driver|modprobe)\.pre"
    r"|(?:nvidia|nouveau|amdgpu|amdkfd)(?:[-_]\w+)*(?:\.[\w.-]+)?|nova_core[\w.]*"
    r"|(?:default_)?hugepagesz?|transparent_hugepage|isolcpus|nohz_full|mem"
)
"""Names of options. Any other may hold what is nobody's business: an address of a server, a key."""


def boot_options(files: Files) -> Text:
    """Those options as they stand, blanks between them; empty where there is none."""
    options = _options(files)
    return options if isinstance(options, Absence) else " ".join(options)


def option(files: Files, name: str) -> str | None:
    """The last value of one of those options; None where it was not given or is not known."""
    options = _options(files)
    if isinstance(options, Absence):
        return None
    values = [value for key, _, value in (o.partition("=") for o in options) if key == name]
    return values[-1] if values else None


def _options(files: Files) -> list[str] | Absence:
    text = files.text(_CMDLINE)
    if isinstance(text, Absence):
        return text
    kernels, _, _ = f" {text} ".partition(" -- ")  # what follows is init's
    return [
        token
        for token in _TOKEN.findall(kernels)
        if _CONCERNS_US.fullmatch(token.partition("=")[0].lower())
    ]
