"""Which devices the launching environment shows: a pure reading of the vendors' variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

NVIDIA_VARIABLES = ("CUDA_VISIBLE_DEVICES",)
AMD_VARIABLES = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
"""ROCr's applies first, to what is left of the devices the HIP one; HIP reads CUDA's too."""


def visible(
    uuids: Sequence[str | None],
    environment: Mapping[str, str],
    variables: Sequence[str],
    slices: Mapping[str, int] = MappingProxyType({}),
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Indices of the devices that are shown, in the shown order, and the variables that hide some.

    ``uuids`` are the devices in the driver's order, ``slices`` the index of the device behind each
    UUID of a MIG slice. As the CUDA programming guide says, an entry is an index or a prefix of a
    UUID, and the first invalid entry ends the list.
    """
    shown = tuple(range(len(uuids)))
    hiding = []
    for name in variables:
        value = environment.get(name)
        if value is None:
            continue
        if name == "CUDA_VISIBLE_DEVICES" and "HIP_VISIBLE_DEVICES" in environment:
            continue  # HIP's own variable wins over the one it reads for compatibility
        kept = _select(value, shown, uuids, slices)
        if kept != shown:
            hiding.append(f"{name}={value}")
        shown = kept
    return shown, tuple(hiding)


def shown_slices(environment: Mapping[str, str], slices: Mapping[str, int]) -> tuple[str, ...]:
    """UUIDs of the MIG slices that CUDA_VISIBLE_DEVICES names; each stands for a part of a card."""
    entries = [entry.strip() for entry in environment.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    found = [uuid for entry in entries for uuid in _with_prefix(entry, slices)]
    return tuple(dict.fromkeys(found))


def order_is_uncertain(
    environment: Mapping[str, str], products: Sequence[str | None], shown: Sequence[int]
) -> bool:
    """Whether plain indices in CUDA_VISIBLE_DEVICES may mean other cards than ``shown``.

    CUDA counts the fastest card first unless CUDA_DEVICE_ORDER is PCI_BUS_ID, NVML by PCI address;
    among cards of one product the two agree, and all or none of the cards is the same set.
    """
    entries = environment.get("CUDA_VISIBLE_DEVICES", "").split(",")
    return (
        any(entry.strip().isdigit() for entry in entries)
        and environment.get("CUDA_DEVICE_ORDER") != "PCI_BUS_ID"
        and len(set(products)) > 1
        and 0 < len(shown) < len(products)
    )


def _select(
    value: str, shown: tuple[int, ...], uuids: Sequence[str | None], slices: Mapping[str, int]
) -> tuple[int, ...]:
    kept: list[int] = []
    for entry in value.split(","):
        index = _index(entry.strip(), shown, uuids, slices)
        if index is None:
            break
        if index not in kept:
            kept.append(index)
    return tuple(kept)


def _index(
    entry: str, shown: tuple[int, ...], uuids: Sequence[str | None], slices: Mapping[str, int]
) -> int | None:
    if entry.isascii() and entry.isdigit():
        return shown[int(entry)] if int(entry) < len(shown) else None
    matches = [i for i in shown if entry and (uuids[i] or "").lower().startswith(entry.lower())]
    matches += [slices[uuid] for uuid in _with_prefix(entry, slices)]
    return matches[0] if len(matches) == 1 else None


def _with_prefix(entry: str, slices: Mapping[str, int]) -> tuple[str, ...]:
    """The slice that an entry means: empty where none does, or where several could."""
    found = [uuid for uuid in slices if entry and uuid.lower().startswith(entry.lower())]
    return tuple(found) if len(found) == 1 else ()
