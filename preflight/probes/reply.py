"""How a probe talks to the process that supervises it: JSON lines on a pipe of its own.

Standard output and error stay free for what the probed libraries print.
"""

from __future__ import annotations

import json
import math
import os
from typing import Any, Optional

_stream: Optional[int] = None


def open_stream() -> None:
    """Take the pipe named by PREFLIGHT_REPLY_FD; children of this process do not inherit it."""
    global _stream
    _stream = int(os.environ.pop("PREFLIGHT_REPLY_FD"))
    os.set_inheritable(_stream, False)


def send(event: str, **fields: Any) -> None:
    """Write one message; without a supervisor (a probe called by hand) nothing is written."""
    if _stream is None:
        return
    data = json.dumps({"event": event, **_finite(fields)}, allow_nan=False).encode() + b"\n"
    view = memoryview(data)
    while view:
        view = view[os.write(_stream, view) :]


def progress(step: str, **fields: Any) -> None:
    """Say what is being done now, so that a hang or a crash can be placed.

    ``step`` is a short phrase (``matmul bfloat16``). Ranks add ``seq`` (number of the collective)
    and ``fingerprint`` (its name, dtype and shape) on entering and leaving one.
    """
    send("progress", step=step, **fields)


def _finite(value: Any) -> Any:
    """JSON has no infinities and no NaN: they travel as None."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return value
