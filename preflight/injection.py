"""Faults that a user injects to try the gate: ``--inject STAGE[:DEVICE|:RANK]=FAULT``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from preflight.errors import UsageError
from preflight.stages import BY_NAME

FAULTS: dict[str, str] = {
    "raise": "the probe raises an exception",
    "segfault": "the probe reads address 0",
    "exit": "the probe ends without a word, with code 0",
    "flood": "the probe prints a megabyte, and goes on; shows only in run time",
    "hang": "the probe sleeps for ever, in Python",
    "hang-gil": "the probe sleeps for ever in C, holding the interpreter's lock",
    "ignore-term": "the probe ignores SIGTERM and sleeps for ever",
    "grandchild": "the probe leaves a process in a session of its own, and goes on",
    "wrong": "one element of a result is wrong",
    "nan": "one element of a result is NaN",
    "oom": "the probe asks for more memory than there is",
    "slow": "the probe takes five seconds longer; shows only against equal cards",
    "rank-kill": "a rank is killed (SIGKILL) inside a collective",
    "rank-stop": "a rank is stopped (SIGSTOP) inside a collective",
    "rank-wrong": "one element of a rank's result is wrong",
    "rank-late": "a rank does not come to the collective where the others wait",
    "bitflip": "one bit of a written shard is flipped",
    "disk-full": "the disk under a shard is full (/dev/full)",
}
"""Name and what it does, in the order in which ``preflight list --faults`` shows them."""

HARMLESS = frozenset({"flood", "grandchild", "slow"})
"""Faults that a check survives: they try the harness, and no status needs to show them."""

_RANK_FAULTS = frozenset(name for name in FAULTS if name.startswith("rank-"))
_DISK_FAULTS = frozenset({"bitflip", "disk-full"})
_RANK_STAGES = frozenset({"collective", "strategy", "checkpoint"})
_DEVICE_STAGES = frozenset({"kernel", "forward", "backward", "compile"})
_IMPORT_FAULTS = frozenset(FAULTS) - _RANK_FAULTS - _DISK_FAULTS - {"wrong", "nan"}
_FORM = re.compile(r"(?P<stage>[a-z]+)(?::(?P<place>[a-z]*\d*))?=(?P<fault>[a-z-]+)")
_WRITE = "write STAGE=FAULT, STAGE:DEVICE=FAULT or STAGE:RANK=FAULT; preflight list --faults"


class Injection(msgspec.Struct, frozen=True, kw_only=True):
    """One fault and where it strikes, once, in the first check of the stage."""

    stage: str
    fault: str
    device: str | None = None
    """``gpu1``; None strikes every device of a device stage."""
    rank: int | None = None
    """None strikes the highest rank."""
    text: str
    """As it was written."""

    def strikes_device(self, stage: str, device: str | None) -> bool:
        """Whether it strikes a check of ``stage`` on ``device``."""
        return self.stage == stage and self.device in (None, device)

    def rank_of(self, count: int) -> int:
        """The rank it strikes, of ``count``."""
        return min(self.rank if self.rank is not None else count - 1, count - 1)


def read_injections(texts: Iterable[str], selected: Sequence[str]) -> tuple[Injection, ...]:
    """The faults of the command line; raises UsageError for one that could never strike."""
    return tuple(_read(text, selected) for text in texts)


def refuse_misplaced(injections: Sequence[Injection], devices: Sequence[str], ranks: int) -> None:
    """Raise UsageError for a fault at a device or rank that this machine has not."""
    for injection in injections:
        if injection.device is not None and devices and injection.device not in devices:
            raise _refusal(
                f"{injection.text!r}: there is no {injection.device}",
                "devices are " + ", ".join(devices),
            )
        if injection.rank is not None and ranks and injection.rank >= ranks:
            raise _refusal(
                f"{injection.text!r}: there is no rank {injection.rank}",
                f"ranks are 0 to {ranks - 1}",
            )


def fault_table() -> str:
    """Every fault with the stages it can strike and what it does."""
    stages = [name for name in BY_NAME if possible_faults(name)]
    width = max(map(len, FAULTS))
    lines = []
    for fault, meaning in FAULTS.items():
        where = [name for name in stages if fault in possible_faults(name)]
        places = "every stage from import on" if where == stages else ", ".join(where)
        lines.append(f"{fault:<{width}}  {meaning}\n{'':<{width}}  at {places}\n")
    return "".join(lines)


def _read(text: str, selected: Sequence[str]) -> Injection:
    match = _FORM.fullmatch(text)
    if match is None:
        raise _refusal(f"{text!r} is not of the form", _WRITE)
    stage, place, fault = match["stage"], match["place"], match["fault"]
    if fault not in FAULTS:
        raise _refusal(f"no fault is called {fault!r}", "faults are " + ", ".join(FAULTS))
    possible = possible_faults(stage)
    if not possible:
        what = "is not on the path" if stage not in BY_NAME else "runs no probe to put a fault into"
        stages = ["import", *sorted(_DEVICE_STAGES), *sorted(_RANK_STAGES)]
        raise _refusal(f"stage {stage!r} {what}", "stages are " + ", ".join(stages))
    if fault not in possible:
        raise _refusal(
            f"{fault} cannot strike stage {stage}", "there are " + ", ".join(sorted(possible))
        )
    if stage not in selected:
        raise _refusal(f"stage {stage} is not among those that run", "choose it with --only")
    is_rank = place is not None and place.isdigit()
    if place and is_rank != (stage in _RANK_STAGES):
        wanted = "a rank (0, 1, ...)" if stage in _RANK_STAGES else "a device (cpu, gpu0, ...)"
        raise _refusal(f"{text!r}: stage {stage} is struck at {wanted}", _WRITE)
    return Injection(
        stage=stage,
        fault=fault,
        device=place if place and not is_rank else None,
        rank=int(place) if place and is_rank else None,
        text=text,
    )


def possible_faults(stage: str) -> frozenset[str]:
    """Faults that can strike a stage; empty for one that runs no probe."""
    if stage == "import":
        return _IMPORT_FAULTS
    if stage in _DEVICE_STAGES:
        return frozenset(FAULTS) - _RANK_FAULTS - _DISK_FAULTS
    if stage == "checkpoint":
        return frozenset(FAULTS)
    return frozenset(FAULTS) - _DISK_FAULTS if stage in _RANK_STAGES else frozenset()


def _refusal(what: str, mend: str) -> UsageError:
    return UsageError(what, where="--inject", mend=mend)
