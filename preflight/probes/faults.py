"""Faults that the supervisor asks for, so that a person can try what catches them.

A probe is armed for one call. Some faults strike before the probe runs; the others wait at the
place where they belong: a result on its way to being judged, a collective, a written file.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Callable, Dict, Optional

FOREVER_S = 10**6
FLOOD_BYTES = 1 << 20
SLOW_S = 5.0

_armed: Optional[str] = None


def arm(fault: Optional[str], device: str) -> None:
    """Arm ``fault`` for the call that follows, or nothing; strike at once where it does."""
    global _armed
    _armed = fault
    if fault == "oom":
        _take("oom")
        _out_of_memory(device)
    elif fault is not None and fault in _AT_ONCE:
        _take(fault)
        _AT_ONCE[fault]()


def waits() -> bool:
    """Whether the armed fault has found no place to strike yet."""
    return _armed is not None


def _take(*names: str) -> Optional[str]:
    """The armed fault if it is one of ``names``; it strikes once."""
    global _armed
    if _armed not in names:
        return None
    taken, _armed = _armed, None
    return taken


def touch(result: Any) -> Any:
    """The tensor as it is, or a copy with one wrong element or one NaN."""
    fault = _take("wrong", "nan", "rank-wrong")
    if fault is None or result.numel() == 0:
        return result
    spoilt = result.clone()
    middle = spoilt.view(-1)[spoilt.numel() // 2 :][:1]
    if fault == "nan" and spoilt.is_floating_point():
        middle.fill_(float("nan"))
    else:
        middle.copy_(middle * 2 + 64)
    return spoilt


def before_collective() -> None:
    """Called before a rank says that it enters a collective, in which the others will wait."""
    if _take("rank-late"):
        time.sleep(FOREVER_S)


def inside_collective() -> None:
    """Called when a rank has said so."""
    fault = _take("rank-kill", "rank-stop")
    if fault is not None:
        os.kill(os.getpid(), signal.SIGKILL if fault == "rank-kill" else signal.SIGSTOP)


def before_save(draft: str, rank: int) -> None:
    """Called before this rank writes its shard into the folder ``draft``."""
    if _take("disk-full"):
        shard = Path(draft) / f"__{rank}_0.distcp"
        shard.symlink_to("/dev/full")  # every write to it fails with ENOSPC


def after_save(folder: str, rank: int) -> None:
    """Called when the checkpoint is in place."""
    if _take("bitflip"):
        shard = sorted(Path(folder).glob(f"__{rank}_*.distcp"))[0]
        with shard.open("r+b") as file:
            file.seek(shard.stat().st_size // 2)
            byte = file.read(1)
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte[0] ^ 1]))


def _raise() -> None:
    raise RuntimeError("injected: the probe raises")


def _segfault() -> None:
    ctypes.string_at(0)


def _exit() -> None:
    os._exit(0)


def _flood() -> None:
    line = "injected: a flood of output, line after line after line\n"
    sys.stdout.write(line * (FLOOD_BYTES // len(line)))
    sys.stdout.flush()


def _hang() -> None:
    time.sleep(FOREVER_S)


def _hang_gil() -> None:
    ctypes.PyDLL(None).sleep(FOREVER_S)  # PyDLL keeps the interpreter's lock


def _ignore_term() -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    time.sleep(FOREVER_S)


def _grandchild() -> None:
    subprocess.Popen(
        [sys.executable, "-c", f"import time; time.sleep({FOREVER_S})"], start_new_session=True
    )


def _out_of_memory(device: str) -> None:
    import torch

    torch.empty(1 << 60, dtype=torch.uint8, device=device)


def _slow() -> None:
    time.sleep(SLOW_S)


_AT_ONCE: Dict[str, Callable[[], None]] = {
    "raise": _raise,
    "segfault": _segfault,
    "exit": _exit,
    "flood": _flood,
    "hang": _hang,
    "hang-gil": _hang_gil,
    "ignore-term": _ignore_term,
    "grandchild": _grandchild,
    "slow": _slow,
}
