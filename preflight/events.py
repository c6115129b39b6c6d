"""What a run writes to its journal, one event a line, and from which the record is assembled."""

from __future__ import annotations

from typing import Any

import msgspec

from preflight.facts import Absence, Machine
from preflight.injection import Injection
from preflight.records import Check, Device, Host, Level, Mode, Node, Order, Run, Versions
from preflight.stages import Phase


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line and the plan decided; every phase reads it."""

    python: str
    """Interpreter under test."""
    level: Level
    mode: Mode
    accelerator: str
    """What was asked for: ``auto``, ``cuda``, ``hip`` or ``cpu``."""
    simulated: str | None = None
    """Profile of the machine that is simulated: ``2xB200:missing-1``."""
    ranks: int
    """Ranks of a rehearsal; with accelerators there is one per device."""
    seed: int
    deadline_s: float
    check_deadline_s: float | None = None
    """No check runs longer than this; None leaves each its own deadline."""
    injections: tuple[Injection, ...] = ()
    selected: tuple[str, ...]
    """Stages to run, in path order."""
    checks_folders: tuple[str, ...]
    plan: dict[str, Any] = msgspec.field(default_factory=dict)
    """For the record, secrets replaced; the checks get the plan by their environment."""
    plan_file: str | None = None


class Opened(msgspec.Struct, frozen=True, kw_only=True, tag="opened"):
    """First line: the run and all that was decided before it."""

    run: Run
    order: Order
    options: Options


class StatedBuild(msgspec.Struct, frozen=True, kw_only=True):
    """A build of torch that nobody has asked: what a profile states of it."""

    torch: str
    """``2.13.0+cu130``."""
    cuda: str | None = None
    hip: str | None = None
    arch_list: tuple[str, ...]
    """What it holds code for: ``sm_100``."""


class Inventory(msgspec.Struct, frozen=True, kw_only=True, tag="inventory"):
    """What the machine is, before any library of the user was touched."""

    host: Host
    nodes: tuple[Node, ...]
    devices: tuple[Device, ...] = ()
    hidden: tuple[str, ...] = ()
    """Devices that exist and that the environment hides, with the variable that hides them."""
    looked_for: tuple[str, ...] = ()
    """Sentences: where accelerators were looked for and what was there."""
    absences: tuple[Absence, ...] = ()
    machine: Machine | None = None
    """All facts of this node; its cards are missing where the look at them did not end."""
    simulated: str | None = None
    """Profile of the machine that is described, which does not exist; None for a real one."""
    stand_ins: tuple[Device, ...] = ()
    """In a simulation what the probes run on in the place of ``devices``: the CPU."""
    stated: StatedBuild | None = None
    """In a simulation the torch build that the profile states, for the static stages."""


class Environment(msgspec.Struct, frozen=True, kw_only=True, tag="environment"):
    """What the interpreter under test has installed, and which device torch calls what."""

    versions: Versions
    torch: dict[str, Any] | None = None
    """What the import of torch answered (probes/environment.py); None when it failed."""
    failed: bool = False
    """The import failed: a fact of the environment. Otherwise, without ``torch``, nobody looked."""
    cause: str = ""
    """Why there is no ``torch``, in a sentence."""
    evidence: str = ""
    torch_devices: dict[str, str] = msgspec.field(default_factory=dict)
    """Device name to torch's name: ``gpu0`` to ``cuda:0``."""


class PlannedCheck(msgspec.Struct, frozen=True, kw_only=True):
    """A check that will run, or be skipped with a reason."""

    id: str
    stage: str
    title: str
    phase: Phase
    nodeid: str
    """pytest's own name of the item."""
    device: str | None = None
    deadline_s: float
    required: bool = True
    gates: bool = True
    """Whether its failure closes the gates of its stage."""


class Planned(msgspec.Struct, frozen=True, kw_only=True, tag="planned"):
    """Everything that was collected, over all phases."""

    checks: tuple[PlannedCheck, ...]


class Refused(msgspec.Struct, frozen=True, kw_only=True, tag="refused"):
    """A check file broke the contract; nothing runs."""

    what: str
    where: str
    mend: str


class Started(msgspec.Struct, frozen=True, kw_only=True, tag="started"):
    """A check began in process ``pid``."""

    id: str
    device: str | None
    pid: int
    at: str
    """RFC 3339 in UTC."""


class Ended(msgspec.Struct, frozen=True, kw_only=True, tag="ended"):
    """A check has its status."""

    check: Check


class Closed(msgspec.Struct, frozen=True, kw_only=True, tag="closed"):
    """Last line of a run that was not killed."""

    finished: str
    duration_s: float
    interrupted: str | None = None


Event = Opened | Inventory | Environment | Planned | Refused | Started | Ended | Closed
