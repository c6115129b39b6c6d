"""A sharded checkpoint: written, renamed into place, and restored by other processes.

The state is a small transformer and AdamW after some steps, through torch.distributed.checkpoint.
It is written beside its folder and renamed when all of it is on disk, so that a write that breaks
off never takes the place of a good one. An older checkpoint of the same name is moved aside as
``.older`` for the moment between two renames, and then deleted.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Optional, Tuple

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from . import clock, faults, precision, ranks, reference, training

RATE = 1e-2
PROGRESS = "progress.pt"
"""Steps done, rows of the batch and the state of the random generator: a plain torch.save."""
SUMS = "sums.json"
"""Size and CRC-32 of every other file."""

SOURCE = (
    "the same steps by one process in float64: 4 times the largest deviation of 3 runs perturbed "
    "by the dtype's unit roundoff (Monte Carlo arithmetic, Parker 1997), so twice this bound "
    "between two layouts; the same number of ranks repeats the same sums, so 0"
)


def write(folder: str, seed: int, steps: int, more_steps: int) -> Dict[str, Any]:
    """Train, save, and train on: ``losses`` are those after the save.

    ``bounds`` say by how much each loss may differ from ``reference_losses``, whatever the layout.
    ``seconds`` runs from the first byte to the rename, bytes synced.
    """
    group = ranks.joined()
    torch.manual_seed(seed)
    rows = training.rows_for(group.world)
    run = _Run(seed, seed, rows)
    before = run.train(0, steps)
    ranks.say("write the checkpoint")
    clock.synchronize(ranks.joined().device)
    start = time.perf_counter()
    draft = _new_draft(folder)
    state = run.state()
    faults.before_save(draft, group.rank)
    with ranks.collective("checkpoint save"), _discarded_on_failure(draft):
        _unwrapped(lambda: save(state, storage_writer=FileSystemWriter(draft)), draft)
    if group.rank == 0:
        _finish(draft, folder, {"steps": steps, "rows": rows, "random": torch.get_rng_state()})
    _barrier()
    seconds = time.perf_counter() - start
    faults.after_save(folder, group.rank)
    random = torch.rand(3).tolist()  # before anything else draws from the saved generator
    reference_losses, bounds = _expected(seed, steps, more_steps, rows, run.dtype)
    return {
        **run.facts(),
        "step": steps,
        "random": random,
        "losses_before": before,
        "losses": run.train(steps, steps + more_steps),
        "reference_losses": reference_losses,
        "bounds": bounds,
        **_throughput(folder, seconds),
        "source": SOURCE,
    }


def restore(folder: str, seed: int, steps: int, more_steps: int) -> Dict[str, Any]:
    """Load into a model that was begun from another seed, and train on from the step it names.

    Raises FileNotFoundError for what is missing and ValueError for a file that is not as written.
    """
    progress = _read_progress(folder)
    run = _Run(seed, seed + 1, int(progress["rows"]))
    ranks.say("restore the checkpoint")
    clock.synchronize(ranks.joined().device)
    start = time.perf_counter()
    state = run.state()
    with ranks.collective("checkpoint load"):
        _unwrapped(lambda: load(state, storage_reader=FileSystemReader(folder)), folder)
    run.set_state(state)
    torch.set_rng_state(progress["random"])
    _barrier()
    seconds = time.perf_counter() - start
    step = int(progress["steps"])
    return {
        **run.facts(),
        "step": step,
        "expected_step": steps,
        "random": torch.rand(3).tolist(),
        "losses": run.train(step, step + more_steps),
        **_throughput(folder, seconds),
    }


class _Run:
    """A model and its optimizer, laid out over the group's ranks."""

    def __init__(self, data_seed: int, model_seed: int, rows: int) -> None:
        group = ranks.joined()
        reason = training.lacks_float64(group.device)
        self.dtype = torch.float32 if reason else torch.float64
        self.rows = rows
        self._seed = data_seed
        module = training.network(model_seed, self.dtype).to(group.device)
        self.layout, self.module = _laid_out(module)
        self.optimizer = torch.optim.AdamW(self.module.parameters(), lr=RATE)

    def train(self, start: int, end: int) -> List[float]:
        """Losses of the steps from ``start`` to before ``end``, each before its update."""
        losses = []
        for step in range(start, end):
            with ranks.collective("training step", detail=str(step)):
                part = training.backward(self.module, self._seed, step, self.rows)
                self.optimizer.step()
                self.optimizer.zero_grad()
            loss = training.global_loss(part)
            losses.append(float(faults.touch(loss) if start else loss))  # before, none is judged
        return losses

    def state(self) -> Dict[str, Any]:
        """What is saved, by the names of the bare model; also what a load fills."""
        from torch.distributed.checkpoint.state_dict import get_state_dict

        model, optimizer = get_state_dict(self.module, self.optimizer)
        return {"model": model, "optimizer": optimizer}

    def set_state(self, state: Dict[str, Any]) -> None:
        """Take over what was loaded."""
        from torch.distributed.checkpoint.state_dict import set_state_dict

        set_state_dict(
            self.module,
            self.optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
        )

    def facts(self) -> Dict[str, Any]:
        """Where this ran and how it was laid out."""
        group = ranks.joined()
        return {
            "rank": group.rank,
            "world": group.world,
            "layout": self.layout,
            "dtype": str(self.dtype).rpartition(".")[2],
        }


def _laid_out(module: Any) -> Tuple[str, nn.Module]:
    """FSDP2; DDP where torch is older; the model as it is for one rank."""
    if ranks.joined().world == 1:
        return "one process", module
    if training.fully_shard_function() is None:
        return "ddp", training.data_parallel(module)
    return "fsdp2", training.fully_sharded(module)


def _expected(
    seed: int, steps: int, more_steps: int, rows: int, dtype: torch.dtype
) -> Tuple[List[float], List[float]]:
    """Losses of the steps after the save by one process, and their bounds."""

    def run() -> Dict[str, torch.Tensor]:
        module = training.network(seed, dtype).double()
        optimizer = torch.optim.AdamW(module.parameters(), lr=RATE)
        found = {}
        for step in range(steps + more_steps):
            losses = training.backward_alone(module, seed, step, rows)
            optimizer.step()
            optimizer.zero_grad()
            if step >= steps:
                found[str(step)] = losses
        return found

    expected = list(reference.expect(run, dtype, seed).values())
    u = precision.unit_roundoff(dtype)
    means = [float(one.value.mean()) for one in expected]
    return means, [training.loss_bound(one, u) for one in expected]


def _barrier() -> None:
    done = torch.zeros(1, device=ranks.joined().device)
    with ranks.collective("all_reduce", done, detail="barrier"):
        dist.all_reduce(done)


def _new_draft(folder: str) -> str:
    """An empty folder beside the checkpoint's, made by rank 0."""
    draft = Path(folder).with_name(Path(folder).name + ".writing")
    if ranks.joined().rank == 0:
        if draft.exists():  # left by a write that broke off
            shutil.rmtree(draft)
        draft.mkdir(parents=True)
    _barrier()
    return str(draft)


def _finish(draft: str, folder: str, progress: Dict[str, Any]) -> None:
    """Add what is not sharded and the sums, sync, and rename over an older checkpoint."""
    with (Path(draft) / PROGRESS).open("wb") as file:
        torch.save(progress, file)
        _sync(file)
    sums = {path.name: _sum(path) for path in sorted(Path(draft).iterdir())}
    with (Path(draft) / SUMS).open("w", encoding="utf-8") as text:
        json.dump(sums, text)
        _sync(text)
    _sync_folder(draft)
    older = Path(folder).with_name(Path(folder).name + ".older")
    if Path(folder).exists():
        Path(folder).rename(older)
    Path(draft).rename(folder)
    _sync_folder(str(Path(folder).parent))
    if older.exists():
        shutil.rmtree(older)


def _sync(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sync_folder(folder: str) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _sum(path: Path) -> List[int]:
    """Size and CRC-32 of a file."""
    size, crc = 0, 0
    with path.open("rb") as file:
        while chunk := file.read(1 << 20):
            size += len(chunk)
            crc = zlib.crc32(chunk, crc)
    return [size, crc]


def _read_progress(folder: str) -> Dict[str, Any]:
    """The part that is not sharded, once every file is known to be as it was written."""
    for name in (SUMS, PROGRESS, ".metadata"):
        if not (Path(folder) / name).is_file():
            raise FileNotFoundError(f"no whole checkpoint in {folder}: {name} is missing")
    sums = json.loads((Path(folder) / SUMS).read_text(encoding="utf-8"))
    for name, (size, crc) in sums.items():
        path = Path(folder) / name
        if not path.is_file():
            raise FileNotFoundError(f"no whole checkpoint in {folder}: {name} is missing")
        found = _sum(path)
        if found[0] != size:
            raise ValueError(f"{path} holds {found[0]} bytes, {size} were written")
        if found[1] != crc:
            raise ValueError(f"{path} does not hold what was written (CRC-32)")
    loaded: Dict[str, Any] = torch.load(
        Path(folder) / PROGRESS, map_location="cpu", weights_only=True
    )
    return loaded


def _throughput(folder: str, seconds: float) -> Dict[str, Any]:
    """Bytes on disk, by their own sizes, and their rate over all ranks together."""
    files = [path for path in Path(folder).iterdir() if path.is_file()]
    num_bytes = sum(path.stat().st_size for path in files)
    return {
        "seconds": seconds,
        "bytes": num_bytes,
        "files": len(files),
        "rate_GBps": num_bytes / seconds / 1e9,
    }


@contextlib.contextmanager
def _discarded_on_failure(draft: str) -> Iterator[None]:
    """Give the room of a draft back when it cannot be finished."""
    try:
        yield
    except BaseException:
        if ranks.joined().rank == 0:
            shutil.rmtree(draft, ignore_errors=True)
        raise


def _unwrapped(action: Callable[[], Any], folder: str) -> None:
    """Let a failure of one rank be its own exception, ENOSPC an OSError with its errno.

    torch.distributed.checkpoint tells every rank of every failure, in an exception that derives
    from BaseException alone.
    """
    from torch.distributed.checkpoint.api import CheckpointException

    try:
        action()
    except CheckpointException as failure:
        raise _own_cause(failure.failures, folder) from failure


def _own_cause(failures: Dict[int, Any], folder: str) -> BaseException:
    rank = ranks.joined().rank
    if rank not in failures:
        first = min(failures)
        return RuntimeError(f"a peer failed: rank {first}: {failures[first][0]}")
    cause: BaseException = failures[rank][0]
    link: Any = cause
    while link is not None and not isinstance(link, OSError):
        link = link.__cause__ or link.__context__
    return link or _refusal_of_disk(folder) or cause


def _refusal_of_disk(folder: str) -> Optional[OSError]:
    """What the disk says to a mebibyte; torch's archive writer says only "unexpected pos"."""
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            file.write(b"\1" * (1 << 20))
            _sync(file)
    except FileNotFoundError:  # another rank has cleared the folder away
        return None
    except OSError as error:
        return error
    return None
