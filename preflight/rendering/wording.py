"""The words of every report: verdicts, statuses, what was bought, found and run."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from preflight.records import Device, Host, Order, Record, Run, Status, Versions, Word
from preflight.rendering.findings import counts
from preflight.rendering.quantities import SPACE, number, quantity

Tone = Literal["good", "caution", "bad", "unknown"]

WORDS: dict[Word, str] = {
    "READY": "READY",
    "READY_WITH_WARNINGS": "READY WITH WARNINGS",
    "NOT_READY": "NOT READY",
    "INCONCLUSIVE": "INCONCLUSIVE",
    "REHEARSED": "REHEARSED",
}
TONES: dict[Word, Tone] = {
    "READY": "good",
    "READY_WITH_WARNINGS": "caution",
    "NOT_READY": "bad",
    "INCONCLUSIVE": "unknown",
    "REHEARSED": "unknown",
}
_SENTENCES: dict[Word, str] = {
    "READY": "Every required check passed.",
    "READY_WITH_WARNINGS": "Every required check passed, with warnings.",
    "NOT_READY": "A required check failed.",
    "INCONCLUSIVE": "Something required could not be judged, so this is no proof of health.",
    "REHEARSED": "The chosen stages ran without a failure, and no card was judged.",
}

LABELS: dict[Status, str] = {
    "pass": "passed",
    "warn": "warning",
    "fail": "failed",
    "skip": "skipped",
    "error": "not judged",
}
"""Status in a word, for people; ``error`` means that we were stopped from looking."""

_COUNTED: dict[Status, str] = {**LABELS, "warn": "with a warning"}

GLYPHS: dict[Status, str] = {"pass": "✓", "warn": "!", "fail": "✕", "skip": "–", "error": "?"}
"""A sign beside the word; never alone."""

MARKS: dict[Status, str] = {"pass": ".", "warn": "!", "fail": "x", "skip": "-", "error": "?"}
"""ASCII signs, one a device, in the terminal."""

SHORT: dict[Status, str] = {
    "pass": "ok",
    "warn": "warn",
    "fail": "fail",
    "skip": "skip",
    "error": "error",
}
"""Status in at most five letters, for a column."""


def verdict_sentences(record: Record) -> tuple[str, ...]:
    """What the verdict rests on: its reasons, or what the word means."""
    return record.verdict.reasons or (_SENTENCES[record.verdict.word],)


def tally(record: Record) -> str:
    """Checks counted: ``41 checks: 1 failed, 34 passed, 6 skipped``."""
    parts = [f"{number(count)} {_COUNTED[status]}" for status, count in counts(record).items()]
    total = len(record.checks)
    noun = "check" if total == 1 else "checks"
    return f"{number(total)} {noun}: {', '.join(parts)}" if parts else "No check left a result"


def notices(run: Run) -> tuple[str, ...]:
    """What keeps this run from being ordinary evidence about a card, a sentence each."""
    found = []
    if run.mode == "simulate":
        found.append(
            f"SIMULATED {run.simulated or ''}: order, driver and system are judged from a profile,"
            " the other stages ran on the CPU. Nothing here speaks of a real card."
        )
    if run.mode == "rehearse":
        found.append("REHEARSAL on the CPU: nothing here speaks of a card.")
    if run.injected:
        found.append(f"FAULTS INJECTED on purpose: {', '.join(run.injected)}.")
    if run.interrupted:
        found.append(f"ENDED EARLY ({run.interrupted}): the record holds what was known by then.")
    if run.selected:
        found.append(f"PART OF THE PATH: only {', '.join(run.selected)} was asked for.")
    return tuple(found)


def flags(run: Run) -> str:
    """The notices in a word each, for a header line: ``SIMULATED 2xB200``; mostly empty."""
    words = []
    if run.mode == "simulate":
        words.append(f"SIMULATED {run.simulated or ''}".rstrip())
    if run.mode == "rehearse":
        words.append("REHEARSAL")
    if run.injected:
        words.append("FAULTS INJECTED")
    if run.interrupted:
        words.append("ENDED EARLY")
    if run.selected:
        words.append("PART OF THE PATH")
    return ", ".join(words)


def bought(order: Order) -> str:
    """What the order says: ``8 × H100, 80 GB each, NVLink``; empty where it says nothing."""
    parts = []
    if order.product or order.gpus is not None:
        parts.append(_count_of(order.gpus, order.product or "device"))
    if order.memory_GB is not None:
        parts.append(f"{number(order.memory_GB, strip=True)}{SPACE}GB each")
    if order.link:
        parts.append(
            {"nvlink": "NVLink", "xgmi": "XGMI", "pcie": "PCIe"}.get(order.link, order.link)
        )
    if order.nodes is not None and order.nodes > 1:
        parts.append(f"{order.nodes} nodes")
    return ", ".join(parts)


def rented(order: Order) -> str:
    """From whom and for how long: ``provider, 7 days from 2026-12-01``; empty where not told."""
    term = f"{number(order.days, strip=True)} days" if order.days is not None else ""
    if order.start:
        term = f"{term} from {order.start}" if term else f"from {order.start}"
    return ", ".join(part for part in (order.provider or "", term) if part)


def found(record: Record) -> str:
    """Devices that were found, by product: ``8 × NVIDIA H100 80GB HBM3, 79.6 GiB each``."""
    kinds = Counter((d.product, _memory(d)) for d in _judged(record))
    parts = [
        _count_of(count, product) + (f", {memory} each" if memory else "")
        for (product, memory), count in kinds.items()
    ]
    if not parts:
        return "no device"
    return "; ".join(parts) + (f", {len(record.nodes)} nodes" if len(record.nodes) > 1 else "")


def devices_in_short(record: Record) -> str:
    """For a header line: ``8 x NVIDIA H100 80GB HBM3``, or the number of kinds."""
    devices = _judged(record)
    kinds = Counter(d.product for d in devices)
    if len(kinds) == 1:
        product, count = next(iter(kinds.items()))
        return f"{count} x {product}"
    return f"{len(devices)} devices of {len(kinds)} kinds" if kinds else "no device"


def _judged(record: Record) -> tuple[Device, ...]:
    """The devices that the record is about: in a simulation not the CPU that stands in for them."""
    if record.run.mode != "simulate":
        return record.devices
    return tuple(device for device in record.devices if device.kind != "cpu")


def _memory(device: Device) -> str:
    return quantity(device.memory_GiB, "GiB") if device.memory_GiB is not None else ""


def _count_of(count: int | None, product: str) -> str:
    return product if count is None else f"{count}{SPACE}×{SPACE}{product}"


def machine(host: Host) -> tuple[tuple[str, str], ...]:
    """Facts of the host, term and value, those that are known."""
    rows = (
        ("name", host.name),
        ("distribution", host.distribution),
        ("kernel", host.kernel),
        ("machine", host.machine),
        ("processor", host.cpu),
        ("cores for this process", number(host.cores) if host.cores is not None else None),
        ("memory", quantity(host.memory_GiB, "GiB") if host.memory_GiB is not None else None),
        ("/dev/shm", quantity(host.shm_GiB, "GiB") if host.shm_GiB is not None else None),
        ("locked memory", _soft_limit(host.memlock_KiB, f"{SPACE}KiB")),
        ("open files", _soft_limit(host.open_files, "")),
        ("container", host.container),
    )
    return tuple((term, value) for term, value in rows if value)


def _soft_limit(value: int | None, unit: str) -> str | None:
    if value is None:
        return None
    return "unlimited" if value == -1 else f"{number(value)}{unit}"


def environment(versions: Versions) -> tuple[tuple[str, str], ...]:
    """Versions that decide what runs, term and value, those that are known."""
    rows = (
        ("Python", versions.python),
        ("torch", versions.torch),
        ("CUDA", versions.cuda),
        ("HIP", versions.hip),
        ("driver", versions.driver),
        ("NCCL", versions.nccl),
        ("cuDNN", versions.cudnn),
        ("Triton", versions.triton),
        ("kernel", versions.kernel),
    )
    return tuple((term, value) for term, value in rows if value)


def moment(started: str) -> str:
    """RFC 3339 time to the minute: ``2026-12-01 09:04 UTC``; other text as it is."""
    date, separator, time = started.partition("T")
    if separator and time.endswith("Z") and len(time) >= 6:
        return f"{date} {time[:5]} UTC"
    return started


def reference(order: Order) -> str:
    """The order's reference, or that there is none."""
    return order.reference or "no order"
