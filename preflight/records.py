"""The record of one run: frozen structs in the order in which they stand in ``record.json``.

``preflight.record/1`` history:

1. First version.

Newer minor versions (``preflight.record/1.3``) are read, unknown fields ignored; another major
version is refused.
"""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from preflight.errors import RecordError
from preflight.facts import Machine

SCHEMA = "preflight.record/1"

Status = Literal["pass", "warn", "fail", "skip", "error"]
STATUSES: tuple[Status, ...] = ("pass", "warn", "fail", "skip", "error")
Level = Literal["quick", "standard", "soak"]
Mode = Literal["certify", "rehearse", "simulate"]
Word = Literal["READY", "READY_WITH_WARNINGS", "NOT_READY", "INCONCLUSIVE", "REHEARSED"]


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """When and how the run was made."""

    id: str
    """Name of the run folder: ``20261201T090412Z-node-a``."""
    started: str
    """RFC 3339 in UTC: ``2026-12-01T09:04:12Z``."""
    finished: str | None = None
    """RFC 3339 in UTC; None when the run was killed."""
    duration_s: float | None = None
    """Wall seconds, by the monotonic clock; None when the run was killed."""
    level: Level
    mode: Mode
    injected: tuple[str, ...] = ()
    """Faults injected by the user, as written on the command line."""
    simulated: str | None = None
    """The machine that was simulated, ``2xB200``; None otherwise."""
    seed: int
    """Seed of every random input of the run."""
    tool_version: str
    argv: tuple[str, ...] = ()
    """The command line, to repeat the run."""
    selected: tuple[str, ...] = ()
    """Stages asked for by ``--only`` or ``--skip``; empty when all of them were."""
    strict: bool = False
    """Warnings make the exit code 1."""
    interrupted: str | None = None
    """What ended the run early: ``SIGINT``, ``deadline``, ``killed``; None otherwise."""


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """What was bought."""

    reference: str | None = None
    """The seller's own reference, free text: ``ORD-1042``."""
    provider: str | None = None
    product: str | None = None
    """Product as the plan writes it: ``B200``."""
    gpus: int | None = None
    """Cards over all nodes."""
    nodes: int | None = None
    memory_GB: float | None = None
    """Memory of one card, decimal gigabytes, as advertised."""
    link: str | None = None
    """``nvlink``, ``xgmi`` or ``pcie``."""
    start: str | None = None
    """Date as the plan writes it."""
    days: float | None = None


class Host(msgspec.Struct, frozen=True, kw_only=True):
    """The machine below the accelerators."""

    name: str
    kernel: str | None = None
    """``uname -r``."""
    distribution: str | None = None
    """PRETTY_NAME of /etc/os-release."""
    machine: str | None = None
    """``x86_64`` or ``aarch64``."""
    cpu: str | None = None
    cores: int | None = None
    """Cores this process may run on."""
    memory_GiB: float | None = None
    shm_GiB: float | None = None
    """Size of /dev/shm."""
    memlock_KiB: int | None = None
    """Soft limit of locked memory; -1 is unlimited."""
    open_files: int | None = None
    """Soft limit of open files; -1 is unlimited."""
    container: str | None = None
    """``docker``, ``podman``, ``kubernetes`` or None where no sign of one was seen."""


class Node(msgspec.Struct, frozen=True, kw_only=True):
    """One machine of the run."""

    name: str
    rank: int = 0


class Device(msgspec.Struct, frozen=True, kw_only=True):
    """One accelerator, or the CPU in a rehearsal."""

    name: str
    """``gpu0`` in the driver's order, or ``cpu``."""
    node: str
    kind: Literal["cuda", "hip", "cpu"]
    product: str
    """As the driver names it: ``NVIDIA H100 80GB HBM3``."""
    torch_device: str | None = None
    """``cuda:0`` in torch's order; None while torch has not been seen to have it."""
    uuid: str | None = None
    pci: str | None = None
    """PCI address in lower case: ``0000:9a:00.0``."""
    memory_GiB: float | None = None
    architecture: str | None = None
    """``sm_100`` or ``gfx942``."""
    driver: str | None = None
    """Version of the kernel driver that serves it."""
    driver_cuda: str | None = None
    """Newest CUDA version the driver speaks: ``13.0``."""


class Package(msgspec.Struct, frozen=True, kw_only=True):
    """One distribution of the tested environment."""

    version: str
    origin: Literal["index", "editable", "url"] = "index"
    """``url`` where it was installed from a file or address of its own (PEP 610)."""


class Versions(msgspec.Struct, frozen=True, kw_only=True):
    """What was installed."""

    driver: str | None = None
    torch: str | None = None
    cuda: str | None = None
    """Toolkit that torch was built with."""
    hip: str | None = None
    nccl: str | None = None
    cudnn: str | None = None
    triton: str | None = None
    python: str | None = None
    kernel: str | None = None
    packages: dict[str, Package] = msgspec.field(default_factory=dict)
    """Distribution name to version, of the interpreter under test."""


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """A bound and who says so."""

    value: float
    op: Literal["<=", ">=", "<", ">", "=="]
    source: str
    """Where the bound comes from, readable: ``80% of the neighbours' median``."""


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """One number that never travels without its unit."""

    name: str
    value: float | int | None
    """None where the number is not finite (it is then described in the reason)."""
    unit: str
    """``s``, ``GB/s``, ``TFLOP/s``, ``GiB``; ``1`` for a count or a ratio."""
    n: int | None = None
    """Number of samples behind ``value`` (their median)."""
    p10: float | None = None
    p90: float | None = None
    limit: Limit | None = None


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """Points of a curve."""

    name: str
    x: str
    """What the horizontal axis shows: ``message size``."""
    y: str
    x_unit: str
    y_unit: str
    points: tuple[tuple[float, float], ...]


class Matrix(msgspec.Struct, frozen=True, kw_only=True):
    """Values by row and column, such as bandwidth of every ordered pair."""

    name: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    unit: str
    values: tuple[tuple[float | None, ...], ...]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    """One judgement."""

    id: str
    """``<stage>.<fact>``, stable for ever: ``kernel.first``."""
    stage: str
    title: str
    """First sentence of the check's docstring."""
    node: str | None = None
    device: str | None = None
    """Name of the device it speaks of; None for the host or node as a whole."""
    rank: int | None = None
    """The rank that is at fault, where one is."""
    status: Status
    reason: str = ""
    """Why it is not ``pass``, in a sentence; for ``pass`` a short fact worth showing, or empty."""
    action: str = ""
    """What to do next; never empty for ``fail``."""
    blocked_by: str | None = None
    """The check whose failure closed the gate, and its device: ``kernel.first on gpu5``."""
    required: bool = True
    started: str | None = None
    """RFC 3339 in UTC."""
    duration_s: float | None = None
    measurements: tuple[Measurement, ...] = ()
    series: tuple[Series, ...] = ()
    matrices: tuple[Matrix, ...] = ()
    evidence: str = ""
    """Raw text: last lines of output, a traceback of the probed code."""


class StageSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Worst status and summed wall time of a stage."""

    name: str
    status: Status
    duration_s: float | None = None


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """One word for a record."""

    word: Word
    exit_code: int
    reasons: tuple[str, ...] = ()
    """Sentences, the first cause first."""


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """One run, as it stands in ``record.json``."""

    schema: str = SCHEMA
    run: Run
    order: Order
    plan: dict[str, Any] | None = None
    """The plan as decoded, defaults left out; None without one."""
    host: Host
    nodes: tuple[Node, ...] = ()
    devices: tuple[Device, ...] = ()
    machines: tuple[Machine, ...] = ()
    """What each node was found to be, before any library of the user was touched."""
    versions: Versions
    stages: tuple[StageSummary, ...] = ()
    checks: tuple[Check, ...] = ()
    verdict: Verdict


def encode_record(record: Record) -> bytes:
    """JSON of the record, indented, with a final newline."""
    return msgspec.json.format(msgspec.json.encode(record), indent=1) + b"\n"


def decode_record(data: bytes, *, where: str) -> Record:
    """Record from JSON.

    Raises RecordError, naming ``where`` and the JSON path, for what is not JSON, not a record, or
    of another major version.
    """
    mend = "give the record.json of a preflight run, or its folder"
    try:
        head = msgspec.json.decode(data, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise RecordError(f"not a JSON object ({error})", where=where, mend=mend) from error
    schema = head.get("schema")
    name, _, version = str(schema).partition("/")
    if name != "preflight.record":
        raise RecordError(f"schema is {schema!r}, not {SCHEMA!r}", where=where, mend=mend)
    if version.partition(".")[0] != SCHEMA.partition("/")[2]:
        raise RecordError(
            f"schema {schema!r} is of a major version that this preflight does not read",
            where=where,
            mend=f"this version reads {SCHEMA!r}; install the preflight that wrote it",
        )
    try:
        return msgspec.json.decode(data, type=Record)
    except msgspec.ValidationError as error:
        raise RecordError(str(error), where=where, mend=mend) from error
