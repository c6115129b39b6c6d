"""Ranks without torch: they say where they stand as real ones do, and one may misbehave."""

from __future__ import annotations

import os
from typing import Any

from . import behaviour, reply

JOIN_FAULT = "FAULT_IN_JOIN"
"""``1:crash`` makes rank 1 crash while joining."""


def join(backend: str, device: str, timeout_s: float) -> dict[str, Any]:
    """Answer as a joined rank does."""
    rank = int(os.environ["RANK"])
    reply.progress("joining", seq=0, fingerprint="", entered=False)
    at_fault, _, fault = os.environ.get(JOIN_FAULT, "").partition(":")
    if at_fault == str(rank):
        behaviour.FAULTS[fault]()
    return {"rank": rank, "device": device, "backend": backend, "seconds": 0.0, "pid": os.getpid()}


def meet(
    seq: int = 1,
    at_fault: int | None = None,
    fault: str = "",
    wait: bool = True,
    call: str = "all_reduce(float32[4], sum)",
    odd_call: str | None = None,
    error: str | None = None,
    echo: str | None = None,
) -> dict[str, Any]:
    """Enter collective ``seq``; ``at_fault`` does ``fault`` before, and the others ``wait``.

    ``odd_call`` is what the rank at fault calls instead, ``error`` what it raises; ``echo`` is
    what the others raise then.
    """
    rank = int(os.environ["RANK"])
    guilty = rank == at_fault
    if guilty and fault:
        reply.progress("between calls", seq=seq - 1, fingerprint=call, entered=False)
        behaviour.FAULTS[fault]()
    mine = odd_call if guilty and odd_call else call
    reply.progress("all_reduce", seq=seq, fingerprint=mine, entered=True)
    if guilty and error:
        raise RuntimeError(error)
    if echo:
        raise RuntimeError(echo)
    if wait and at_fault is not None:
        behaviour.FAULTS["hang"]()
    return {"rank": rank, "pid": os.getpid(), "world": int(os.environ["WORLD_SIZE"])}
