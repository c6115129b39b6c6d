"""How the cards of a machine are set up, and what they ask for: equal facts of all stand once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from preflight.facts import Absence, Card, Flag, known
from preflight.records import Device
from preflight.rendering.machine_parts import Entry, Pair, among, listed, warned

_HARMLESS = frozenset({"none", "gpu idle", "applications clocks setting", "sw power cap"})
"""Reasons that hold the clocks back on a healthy card; the power cap does so under any load."""


def traits(devices: Sequence[Device], cards: Sequence[Card]) -> tuple[Pair, ...]:
    """What all cards have in common on one line; what differs or stands out on lines of its own."""
    names = [card.device for card in cards]
    shared: list[str] = []
    apart: list[Pair] = []
    told = [("code for", [_architecture(device) for device in devices])]
    told += [(term, [tell(card) for card in cards]) for term, tell in _TRAITS]
    for term, entries in told:
        first = next((entry for entry in entries if entry), None)
        if first is None:
            continue
        if set(entries) == {first} and first.tone != "caution":
            shared.append(f"{term} {first.text}")
        else:
            apart.append((term, _by_value(names, entries)))
    where = "each card" if len(cards) > 1 else "card"
    return (*([(where, Entry(", ".join(shared)))] if shared else []), *apart)


def _by_value(names: Sequence[str], entries: Sequence[Entry | None]) -> Entry:
    """``gpu0 to gpu6: none; gpu7: gpu reset``; cards whose value is unknown are left out."""
    where: dict[Entry, list[str]] = {}
    for name, entry in zip(names, entries, strict=True):
        if entry:
            where.setdefault(entry, []).append(name)
    words = [f"{among(some, names)}: {entry.text}" for entry, some in where.items()]
    return warned("; ".join(words), any(entry.tone == "caution" for entry in where))


def _architecture(device: Device) -> Entry | None:
    return Entry(device.architecture) if device.architecture else None


def _switched(flag: Flag) -> str | None:
    value = known(flag)
    return None if value is None else "on" if value else "off"


def _persistence(card: Card) -> Entry | None:
    text = _switched(card.persistence)
    return Entry(text) if text else None


def _compute_mode(card: Card) -> Entry | None:
    mode = known(card.compute_mode)
    return warned(mode, mode != "default") if mode else None


def _mig(card: Card) -> Entry | None:
    text = _switched(card.mig)
    if not text:
        return None
    slices = Counter(known(card.mig_slices) or ())
    parts = ", ".join(f"{count} × {name}" for name, count in slices.items())
    return warned(f"{text} ({parts})" if parts else text, text == "on")


def _partition(card: Card) -> Entry | None:
    text = "/".join(part for part in (known(card.partition), known(card.memory_partition)) if part)
    return Entry(text) if text else None


def _ecc(card: Card) -> Entry | None:
    now, later = _switched(card.ecc.enabled), _switched(card.ecc.pending)
    if now is None:
        return None
    waits = later is not None and later != now
    return warned(f"{now}, {later} after a reboot" if waits else now, now == "off" or waits)


def _fabric(card: Card) -> Entry | None:
    fabric = card.fabric
    state, status, health = known(fabric.state), known(fabric.status), known(fabric.health)
    if state is None or state == "not supported":
        return None
    text = listed(state, status if status != "success" else None, health)
    odd = state != "completed" or status not in (None, "success") or health not in (None, "healthy")
    return warned(text, odd)


def _clique(card: Card) -> Entry | None:
    clique, cluster = known(card.fabric.clique), known(card.fabric.cluster)
    if clique is None:
        return None
    return Entry(f"{clique} of cluster {cluster}" if cluster else str(clique))


def _hive(card: Card) -> Entry | None:
    hive = known(card.hive)
    return Entry(hive) if hive else None


def _recovery(card: Card) -> Entry | None:
    action = known(card.recovery_action)
    return warned(action, action != "none") if action else None


def _repair(card: Card) -> Entry | None:
    repair = known(card.repair)
    return warned(repair, repair != "none") if repair else None


def _slowed(card: Card) -> Entry | None:
    reasons = known(card.clocks.slowed_by)
    if reasons is None:
        return None
    odd = [reason for reason in reasons if reason not in _HARMLESS]
    return warned(", ".join(reasons) or "nothing", bool(odd))


def _corrected(card: Card) -> Entry | None:
    """Corrected errors, where there are any."""
    now, ever = known(card.ecc.corrected), known(card.ecc.lifetime_corrected)
    if not now and not ever:
        return None
    return Entry(listed(None if now is None else str(now), f"{ever} ever" if ever else None))


def _ras(card: Card) -> Entry | None:
    """Blocks with an error in AMD's counters, where there are any."""
    blocks = () if isinstance(card.ras, Absence) else card.ras
    bad = [b for b in blocks if known(b.uncorrected) or known(b.corrected)]
    if not bad:
        return None
    words = (f"{b.block} {_count(b.corrected, b.uncorrected)}" for b in bad)
    return warned("; ".join(words), any(known(b.uncorrected) for b in bad))


def _count(corrected: int | Absence, uncorrected: int | Absence) -> str:
    good, bad = known(corrected), known(uncorrected)
    return listed(f"{good} corrected" if good else None, f"{bad} uncorrected" if bad else None)


def _replays(card: Card) -> Entry | None:
    replays = known(card.pcie.replays)
    return Entry(str(replays)) if replays else None


_TRAITS: tuple[tuple[str, Callable[[Card], Entry | None]], ...] = (
    ("ECC", _ecc),
    ("persistence mode", _persistence),
    ("compute mode", _compute_mode),
    ("MIG", _mig),
    ("partition", _partition),
    ("fabric", _fabric),
    ("clique", _clique),
    ("hive", _hive),
    ("recovery action", _recovery),
    ("repair", _repair),
    ("held back by", _slowed),
    ("corrected ECC", _corrected),
    ("RAS", _ras),
    ("PCIe replays", _replays),
)
