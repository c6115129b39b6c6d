"""Whether an IOMMU stands between an accelerator and memory, and translates."""

from __future__ import annotations

from collections.abc import Iterable

from preflight.facts import Absence, Text
from preflight.hardware.boot import option
from preflight.hardware.files import Files
from preflight.hardware.pci import BUS

_CLASS = "/sys/class/iommu"
_GROUPS = "/sys/kernel/iommu_groups"
OFF, PASSTHROUGH, TRANSLATING = "off", "passthrough", "translating"
_TYPES = {"identity": PASSTHROUGH, "DMA": TRANSLATING, "DMA-FQ": TRANSLATING}
"""Domain types of linux sysfs-kernel-iommu_groups; the others belong to drivers of user space."""


def iommu_mode(files: Files, addresses: Iterable[str]) -> Text:
    """``off``, ``passthrough`` or ``translating``, for the accelerators at ``addresses``.

    The type of their groups has the last word, for boot options may be overruled by firmware and
    by the driver; one that is translated makes the machine ``translating``.
    """
    types = [_type_of(files, address) for address in addresses]
    if TRANSLATING in types:
        return TRANSLATING
    if types and all(kind == PASSTHROUGH for kind in types):
        return PASSTHROUGH
    units = files.names(_CLASS)
    if isinstance(units, Absence):
        # A kernel without any support has no such class; without /sys nothing is known.
        return OFF if files.exists("/sys/class") else units
    return OFF if not units else _by_option(files, types)


def _type_of(files: Files, address: str) -> Text:
    """How the group of one device is mapped."""
    group = files.target(f"{BUS}/{address}/iommu_group")
    if isinstance(group, Absence):
        return group
    path = f"{_GROUPS}/{group}/type"
    kind = files.text(path)
    if isinstance(kind, Absence):
        return kind
    return _TYPES.get(kind, Absence(what=path, reason="not supported", detail=kind[:80]))


def _by_option(files: Files, types: list[Text]) -> Text:
    """What the options ask for where no group tells; the kernel's default is its builder's."""
    asked = [option(files, name) for name in ("iommu", "intel_iommu", "amd_iommu")]
    if any("off" in (value or "").split(",") for value in asked):
        return OFF
    if "pt" in (asked[0] or "").split(",") or option(files, "iommu.passthrough") in ("1", "y"):
        return PASSTHROUGH
    if "nopt" in (asked[0] or "").split(",") or option(files, "iommu.passthrough") in ("0", "n"):
        return TRANSLATING
    told = next((kind for kind in types if isinstance(kind, Absence)), None)
    detail = "there is an IOMMU; neither a device's group nor a boot option tells its mode"
    return Absence(what=told.what if told else _GROUPS, reason="not readable", detail=detail)
