"""Which devices the launching environment shows: a pure reading of the vendors' variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

NVIDIA_VARIABLES = ("CUDA_VISIBLE_DEVICES",)
AMD_VARIABLES = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
"""ROCr's applies first, to what is left of the devices the HIP one; HIP reads CUDA's too."""


def visible(
    uuids: Sequence[str | None], environment: Mapping[str, str], variables: Sequence[str]
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Indices of the devices that are shown, in the shown order, and the variables that hide some.

    ``uuids`` are the devices in the driver's order. As the CUDA programming guide says, an entry is
    an index or a prefix of a UUID, and the first invalid entry ends the list.
    """
    shown = tuple(range(len(uuids)))
    hiding = []
    for name in variables:
        value = environment.get(name)
        if value is None:
            continue
        if name == "CUDA_VISIBLE_DEVICES" and "HIP_VISIBLE_DEVICES" in environment:
            continue  # HIP's own variable wins over the one it reads for compatibility
        kept = _select(value, shown, uuids)
        if kept != shown:
            hiding.append(f"{name}={value}")
        shown = kept
    return shown, tuple(hiding)


def _select(value: str, shown: tuple[int, ...], uuids: Sequence[str | None]) -> tuple[int, ...]:
    kept: list[int] = []
    for entry in value.split(","):
        index = _index(entry.strip(), shown, uuids)
        if index is None:
            break
        if index not in kept:
            kept.append(index)
    return tuple(kept)


def _index(entry: str, shown: tuple[int, ...], uuids: Sequence[str | None]) -> int | None:
    if entry.isascii() and entry.isdigit():
        return shown[int(entry)] if int(entry) < len(shown) else None
    matches = [i for i in shown if entry and (uuids[i] or "").lower().startswith(entry.lower())]
    return matches[0] if len(matches) == 1 else None
