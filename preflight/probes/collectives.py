"""The collectives of a joined group, judged by answers that every rank knows beforehand.

The data are whole numbers made from the seed and the rank, so that every rank can make every
other's, and small enough that any order of summation is exact in every dtype. Outputs are
poisoned before.
"""

from __future__ import annotations

import socket
import time
import zlib
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
import torch.distributed as dist

from . import clock, comparison, ranks

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "int32": torch.int32}
POISON = -77
"""No sum, maximum or copy of the data gives it."""

Case = Callable[[torch.dtype, int, int], List[Dict[str, Any]]]
"""Runs one collective for a dtype, a count and a seed; a comparison for each call it makes."""


def all_reduce(level: str, seed: int) -> Dict[str, Any]:
    """Sum and maximum: a rank that used the other operation shows."""
    return _over_dtypes(_all_reduce, level, seed)


def all_gather(level: str, seed: int) -> Dict[str, Any]:
    """Every rank ends with every rank's part, in order."""
    return _over_dtypes(_all_gather, level, seed)


def reduce_scatter(level: str, seed: int) -> Dict[str, Any]:
    """Every rank ends with its own part of the sum."""
    return _over_dtypes(_reduce_scatter, level, seed)


def broadcast(level: str, seed: int) -> Dict[str, Any]:
    """From every root (from the first and the last of more than eight ranks)."""
    return _over_dtypes(_broadcast, level, seed)


def all_to_all(level: str, seed: int) -> Dict[str, Any]:
    """Part i of rank j ends as part j of rank i."""
    return _over_dtypes(_all_to_all, level, seed)


def send_recv(level: str, seed: int) -> Dict[str, Any]:
    """Around the ring: each rank sends to the next and receives from the one before."""
    if ranks.joined().world == 1:
        return {"absent": "one rank has nobody to send to", "dtypes": [], "absences": []}
    return _over_dtypes(_send_recv, level, seed)


def barrier(level: str, seed: int) -> Dict[str, Any]:
    """Nobody leaves before the last has entered, by the clock that ranks of one host share."""
    group = ranks.joined()
    time.sleep(0.02 * ((group.rank + seed) % group.world) / group.world)
    enter_ns = time.monotonic_ns()
    with ranks.collective("barrier"):
        if group.backend == "nccl":
            dist.barrier(device_ids=[torch.device(group.device).index])
        else:
            dist.barrier()
    leave_ns = time.monotonic_ns()
    host = zlib.crc32(socket.gethostname().encode())
    mine = torch.tensor([host, enter_ns, leave_ns], device=group.device)
    parts = [torch.zeros_like(mine) for _ in range(group.world)]
    with ranks.collective("all_gather", mine):
        dist.all_gather(parts, mine)
    neighbours = [part.tolist() for part in parts if int(part[0]) == host]
    early = [i for i, part in enumerate(neighbours) if part[2] < max(p[1] for p in neighbours)]
    return {
        "wrong": len(early),
        "elements": len(neighbours),
        "first_wrong": {"rank": early[0]} if early else None,
        "dtypes": [],
        "absences": [],
        "seconds": (leave_ns - enter_ns) / 1e9,
    }


def _over_dtypes(case: Case, level: str, seed: int) -> Dict[str, Any]:
    """One case for each dtype and size, added up; ``absences`` are the dtypes without it.

    ``absent`` stands where no dtype has it.
    """
    start = time.perf_counter()
    counts = (1, 1_031, 65_537) if level == "quick" else (1, 1_031, 65_537, 4_194_305)
    found: List[Dict[str, Any]] = []
    done: List[str] = []
    absences: List[Dict[str, str]] = []
    for name, dtype in DTYPES.items():
        reason = _refusal(dtype)
        for count in counts if reason is None else ():
            try:
                calls = case(dtype, count, seed)
            except (RuntimeError, ValueError) as error:
                if not _is_refusal(error):
                    raise
                reason = comparison.reason_of(error)
                break
            found += [{"dtype": name, "count": count, **call} for call in calls]
        if reason is None:
            done.append(name)
        else:
            absences.append({"dtype": name, "absent": reason})
    wrong = [call for call in found if call["wrong"]]
    answer: Dict[str, Any] = {
        "wrong": sum(call["wrong"] for call in wrong),
        "elements": sum(call["elements"] for call in found),
        "first_wrong": _first(wrong[0]) if wrong else None,
        "dtypes": done,
        "absences": absences,
        "seconds": time.perf_counter() - start,
    }
    return answer if done else {**answer, "absent": absences[0]["absent"]}


def _first(call: Dict[str, Any]) -> Dict[str, Any]:
    place = {key: call[key] for key in ("call", "dtype", "count")}
    return {**place, "rank": ranks.joined().rank, **call["first_wrong"]}


def _refusal(dtype: torch.dtype) -> Optional[str]:
    world = ranks.joined().world
    if dtype == torch.bfloat16 and world > 256:
        return f"a sum of {world} whole numbers is not exact in bfloat16"
    return None


def _is_refusal(error: BaseException) -> bool:
    """Whether a backend says that it lacks the operation, as opposed to a link that broke.

    The texts are those of c10d and Gloo; what they name is known before anything is sent, so
    every rank is refused alike.
    """
    if isinstance(error, NotImplementedError):
        return True
    text = str(error).lower()
    signs = ("not support", "unsupported", "not implemented", "invalid scalar type")
    return any(sign in text for sign in signs)


def _data(rank: int, dtype: torch.dtype, count: int, seed: int) -> torch.Tensor:
    """Whole numbers of one rank, on the CPU; their sum over all ranks stays within 256.

    256 is where bfloat16 stops holding every whole number (8 bits).
    """
    largest = max(1, min(7, 256 // ranks.joined().world))
    generator = torch.Generator().manual_seed(seed * 100_003 + rank * 101 + count)
    return torch.randint(-largest, largest + 1, (count,), generator=generator).to(dtype)


def _everyone(dtype: torch.dtype, count: int, seed: int) -> torch.Tensor:
    """Data of every rank, of shape (world, count)."""
    return torch.stack([_data(r, dtype, count, seed) for r in range(ranks.joined().world)])


def _mine(dtype: torch.dtype, count: int, seed: int) -> torch.Tensor:
    group = ranks.joined()
    return _data(group.rank, dtype, count, seed).to(group.device)


def _poisoned(dtype: torch.dtype, count: int) -> torch.Tensor:
    return torch.full((count,), POISON, dtype=dtype, device=ranks.joined().device)


def _into_tensor(name: str) -> Callable[..., Any]:
    """The form of a collective that fills one tensor, by its newer name where torch has it."""
    older = {"all_gather": "all_gather_into_tensor", "reduce_scatter": "reduce_scatter_tensor"}
    found: Callable[..., Any] = getattr(dist, f"{name}_single", None) or getattr(dist, older[name])
    return found


def _judged(call: str, found: torch.Tensor, expected: torch.Tensor) -> Dict[str, Any]:
    return {"call": call, **comparison.exact(found.cpu(), expected)}


def _all_reduce(dtype: torch.dtype, count: int, seed: int) -> List[Dict[str, Any]]:
    everyone = _everyone(dtype, count, seed)
    answers = []
    for name, operation, expected in (
        ("sum", dist.ReduceOp.SUM, everyone.sum(0).to(dtype)),
        ("max", dist.ReduceOp.MAX, everyone.amax(0)),
    ):
        tensor = _mine(dtype, count, seed)
        with ranks.collective("all_reduce", tensor, detail=name):
            dist.all_reduce(tensor, operation)
        answers.append(_judged(f"all_reduce {name}", tensor, expected))
    return answers


def _all_gather(dtype: torch.dtype, count: int, seed: int) -> List[Dict[str, Any]]:
    mine = _mine(dtype, count, seed)
    out = _poisoned(dtype, count * ranks.joined().world)
    with ranks.collective("all_gather", mine):
        _into_tensor("all_gather")(out, mine)
    return [_judged("all_gather", out, _everyone(dtype, count, seed).flatten())]


def _reduce_scatter(dtype: torch.dtype, count: int, seed: int) -> List[Dict[str, Any]]:
    group = ranks.joined()
    mine = _mine(dtype, count * group.world, seed)
    out = _poisoned(dtype, count)
    with ranks.collective("reduce_scatter", mine, detail="sum"):
        _into_tensor("reduce_scatter")(out, mine)
    total = _everyone(dtype, count * group.world, seed).sum(0).to(dtype)
    return [_judged("reduce_scatter", out, total.view(group.world, count)[group.rank])]


def _broadcast(dtype: torch.dtype, count: int, seed: int) -> List[Dict[str, Any]]:
    group = ranks.joined()
    roots = range(group.world) if group.world <= 8 else (0, group.world - 1)
    answers = []
    for root in roots:
        expected = _data(root, dtype, count, seed)
        tensor = expected.to(group.device) if group.rank == root else _poisoned(dtype, count)
        with ranks.collective("broadcast", tensor, detail=f"from {root}"):
            dist.broadcast(tensor, root)
        answers.append(_judged(f"broadcast from {root}", tensor, expected))
    return answers


def _all_to_all(dtype: torch.dtype, count: int, seed: int) -> List[Dict[str, Any]]:
    group = ranks.joined()
    mine = _mine(dtype, count * group.world, seed)
    out = _poisoned(dtype, count * group.world)
    with ranks.collective("all_to_all", mine):
        dist.all_to_all_single(out, mine)
    parts = _everyone(dtype, count * group.world, seed).view(group.world, group.world, count)
    return [_judged("all_to_all", out, parts[:, group.rank].flatten())]


def _send_recv(dtype: torch.dtype, count: int, seed: int) -> List[Dict[str, Any]]:
    group = ranks.joined()
    after, before = (group.rank + 1) % group.world, (group.rank - 1) % group.world
    mine, out = _mine(dtype, count, seed), _poisoned(dtype, count)
    pair = [dist.P2POp(dist.isend, mine, after), dist.P2POp(dist.irecv, out, before)]
    with ranks.collective("send_recv", mine, detail="ring"):
        for work in dist.batch_isend_irecv(pair):
            work.wait()
    return [_judged(f"receive from {before}", out, _data(before, dtype, count, seed))]


def bus_factor(collective: str, world: int) -> float:
    """Bus bandwidth over algorithm bandwidth (nccl-tests, doc/PERFORMANCE.md)."""
    shares = {"all_reduce": 2.0, "all_gather": 1.0, "reduce_scatter": 1.0, "all_to_all": 1.0}
    return shares[collective] * (world - 1) / world if collective in shares else 1.0


def sweep(collective: str, sizes_bytes: List[int], iterations: int) -> Dict[str, Any]:
    """Seconds and bandwidth of one collective by size, as this rank saw them.

    A size is the whole buffer, as in nccl-tests: what is reduced, the gathered result, what is
    scattered. Each call is waited for, after two that are not counted; the result is judged too.
    """
    factor = bus_factor(collective, ranks.joined().world)
    points = []
    for size in sizes_bytes:
        call, buffer, result, expected = _sized(collective, size)
        num_bytes = buffer.numel() * buffer.element_size()
        seconds = []
        with ranks.collective(collective, buffer, detail=f"{iterations} times"):
            for turn in range(iterations + 2):
                result.fill_(1.0)
                taken = clock.seconds_of(call, ranks.joined().device)
                seconds += [taken] if turn >= 2 else []
        spread = clock.spread(seconds)
        rate = num_bytes / spread["median_s"] / 1e9
        wrong = int((result != expected).sum())
        point = {"bytes": num_bytes, **spread, "algbw_GBps": rate, "busbw_GBps": rate * factor}
        points.append({**point, "wrong": wrong})
    return {"collective": collective, "dtype": "float32", "factor": factor, "points": points}


Sized = Tuple[Callable[[], Any], torch.Tensor, torch.Tensor, float]


def _sized(collective: str, size_bytes: int) -> Sized:
    """The call, its buffer, the tensor it fills (ones before), and the value it then holds.

    The sizes are rounded down to whole elements for every rank.
    """
    group = ranks.joined()
    share = max(1, size_bytes // 4 // group.world)
    whole = torch.full((share * group.world,), 2.0, device=group.device)
    part = torch.full((share,), 2.0, device=group.device)
    if collective == "all_reduce":
        return lambda: dist.all_reduce(whole), whole, whole, float(group.world)
    if collective == "all_gather":
        gather = _into_tensor("all_gather")
        return lambda: gather(whole, part), whole, whole, 2.0
    if collective == "reduce_scatter":
        scatter = _into_tensor("reduce_scatter")
        return lambda: scatter(part, whole), whole, part, 2.0 * group.world
    if collective == "broadcast":
        return lambda: dist.broadcast(whole, 0), whole, whole, 1.0
    if collective == "all_to_all":
        out = torch.empty_like(whole)
        return lambda: dist.all_to_all_single(out, whole), whole, out, 2.0
    raise ValueError(f"no sweep of {collective!r}")
