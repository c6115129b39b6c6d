"""Names the rank at fault from what every rank last said: a pure function."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

ECHOES = (
    "Connection closed by peer",
    "Connection reset by peer",
    "Timed out waiting",
    "wait timeout",
    "Timed out after",
    "failed to pass monitoredBarrier",
    "reached monitoredBarrier",
    "client socket has timed out",
    "Broken pipe",
    "Connection refused",
    "NCCL communicator was aborted",
    "Watchdog caught collective operation timeout",
    "remote process exited",
    "a peer failed",
)
"""Texts of Gloo, NCCL and the TCP store that report another rank's fault, not the rank's own."""


@dataclass(frozen=True, kw_only=True)
class RankState:
    """What is known of a rank at the moment of trouble."""

    rank: int
    answered: bool = False
    """It returned from the call."""
    error: str | None = None
    """``Type: message`` of what it raised."""
    ending: str | None = None
    """How its process ended by itself (``killed by SIGKILL``); None while it lives."""
    stopped: bool = False
    """Its process is in state T."""
    step: str = ""
    """What it last said it was doing."""
    spoke: bool = True
    """It has said something since it was given the call."""
    seq: int = 0
    """Number of the collective it last entered or left; 0 before the first."""
    entered: bool = False
    """It is inside collective ``seq``."""
    fingerprint: str = ""
    """Name, dtype and shape of collective ``seq``."""


def name_culprit(ranks: Sequence[RankState]) -> tuple[int | None, str]:
    """The rank at fault and a sentence; no rank where all are in the same call.

    In this order: a death or error that is no echo of another's (nobody's where all have the same);
    a minority call at the newest collective; a stopped process; a rank behind the others; else the
    link or the library itself.
    """
    own = [r for r in ranks if r.ending or (r.error and not is_echo(r.error))]
    if own:
        first = own[0]
        told = {r.ending or r.error for r in own}
        alike = len(own) == len(ranks) > 1 and len(told) == 1
        return None if alike else first.rank, first.ending or first.error or ""
    odd = _minority(ranks)
    if odd:
        return odd
    stopped = [r for r in ranks if r.stopped]
    if stopped:
        return stopped[0].rank, f"its process is stopped, in {stopped[0].step}"
    behind = _behind(ranks)
    if behind:
        return behind
    echoes = [r for r in ranks if r.error]
    if echoes:
        return None, f"a peer was lost, no rank says why: {echoes[0].error}"
    steps = ", ".join(sorted({r.step for r in ranks}))
    return None, f"every rank is in {steps}: the link or the collective library hangs"


def is_echo(error: str) -> bool:
    """Whether an error text reports the fault of a peer."""
    return any(text in error for text in ECHOES)


def _minority(ranks: Sequence[RankState]) -> tuple[int, str] | None:
    """A rank that called something else than most did at the newest collective."""
    newest = max((r.seq for r in ranks), default=0)
    calls = {r.rank: r.fingerprint for r in ranks if r.seq == newest and r.fingerprint}
    counts = Counter(calls.values()).most_common()
    if len(counts) < 2 or counts[0][1] == counts[1][1]:
        return None
    usual = counts[0][0]
    rank, call = next((rank, call) for rank, call in calls.items() if call != usual)
    return rank, f"called {call} where the others called {usual} (collective {newest})"


def _behind(ranks: Sequence[RankState]) -> tuple[int, str] | None:
    """A rank that has not come to the call in which the others wait."""

    def place(rank: RankState) -> tuple[float, bool]:
        if rank.answered:
            return float("inf"), True
        return rank.seq + (0.0 if rank.entered or rank.seq == 0 else 0.5), rank.spoke

    waiting = [r for r in ranks if not r.answered]
    least = min(waiting, key=place, default=None)
    if least is None or all(place(r) == place(least) for r in ranks):
        return None
    return least.rank, f"did not come on from {least.step}, where the others wait for it"
