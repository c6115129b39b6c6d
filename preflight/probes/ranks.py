"""One rank of a process group: joining, leaving, and saying where it stands.

Every collective that a probe calls itself goes through ``collective``, so that the supervisor
sees which rank has not entered or has entered something else.
"""

from __future__ import annotations

import contextlib
import datetime
import inspect
import os
import time
from dataclasses import dataclass
from typing import Any, Dict, Iterator, Optional

from . import reply

reply.progress("import", seq=0, fingerprint="", entered=False)

import torch  # noqa: E402 - it takes seconds, and the supervisor is to know that
import torch.distributed as dist  # noqa: E402

from . import clock, faults  # noqa: E402


@dataclass
class Group:
    """What this process knows of the group that it has joined."""

    device: str
    backend: str
    rank: int
    world: int
    seq: int = 0
    """Number of the last collective that was entered."""
    fingerprint: str = ""


_group: Optional[Group] = None


def joined() -> Group:
    """The group of this process."""
    if _group is None:
        raise RuntimeError("this process has joined no group: call ranks.join first")
    return _group


def join(backend: str, device: str, timeout_s: float) -> Dict[str, Any]:
    """Form the process group named by RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT."""
    global _group
    if _group is not None:
        raise RuntimeError("this process has joined a group already: call ranks.leave first")
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    reply.progress("joining", seq=0, fingerprint="", entered=False)
    place = torch.device(device)
    options: Dict[str, Any] = {"timeout": datetime.timedelta(seconds=timeout_s)}
    if place.type != "cpu":
        clock.device_module(device).set_device(place)
        if "device_id" in inspect.signature(dist.init_process_group).parameters:  # torch >= 2.3
            options["device_id"] = place
    start = time.perf_counter()
    dist.init_process_group(backend, rank=rank, world_size=world, **options)
    seconds = time.perf_counter() - start
    _group = Group(device=device, backend=dist.get_backend(), rank=rank, world=world)
    say("joined")
    return {
        "rank": rank,
        "local_rank": int(os.environ.get("LOCAL_RANK", rank)),
        "world": world,
        "device": device,
        "backend": _group.backend,
        "nccl": _nccl_version() if _group.backend == "nccl" else None,
        "seconds": seconds,
    }


def leave() -> Dict[str, Any]:
    """Take the group down; NCCL complains at the end of a process that has not."""
    global _group
    rank = joined().rank
    say("leaving")
    start = time.perf_counter()
    dist.destroy_process_group()
    _group = None
    return {"rank": rank, "seconds": time.perf_counter() - start}


def say(step: str) -> None:
    """Progress between collectives; it repeats the last one's number."""
    group = joined()
    reply.progress(step, seq=group.seq, fingerprint=group.fingerprint, entered=False)


@contextlib.contextmanager
def collective(name: str, *tensors: torch.Tensor, detail: str = "") -> Iterator[None]:
    """Report entering and leaving one collective, with what must be the same on every rank.

    It is left when the device has finished it, not when it has been queued. These do not nest: the
    numbers would no longer say which rank is behind.
    """
    group = joined()
    group.seq += 1
    group.fingerprint = fingerprint(name, *tensors, detail=detail)
    facts = {"seq": group.seq, "fingerprint": group.fingerprint}
    faults.before_collective()
    reply.progress(name, entered=True, **facts)
    faults.inside_collective()
    yield
    clock.synchronize(group.device)
    reply.progress(name, entered=False, **facts)


def fingerprint(name: str, *tensors: torch.Tensor, detail: str = "") -> str:
    """``all_reduce(float32[1024], sum)``."""
    parts = [
        f"{str(tensor.dtype).rpartition('.')[2]}{list(tensor.shape)}".replace(" ", "")
        for tensor in tensors
    ]
    return f"{name}({', '.join([*parts, detail] if detail else parts)})"


def _nccl_version() -> Optional[str]:
    version = getattr(torch.cuda, "nccl", None)
    if version is None or not hasattr(
        torch._C, "_nccl_version"
    ):  # a backend that only calls itself so
        return None
    found = version.version()
    return ".".join(str(part) for part in found) if isinstance(found, tuple) else str(found)
