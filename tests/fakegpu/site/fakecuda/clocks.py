"""Finds clocks that are read while a device still has work: such a time is wrong.

With FAKEGPU_CLOCK_LOG every such reading of time.perf_counter is a line of that file,
``FILE:LINE DEVICE PENDING``. Only files below FAKEGPU_CLOCK_OF are watched, since torch reads
clocks of its own.
"""

import os
import sys
import time
from pathlib import Path

from .binding import ops

_read = time.perf_counter


def _watched_read():
    caller = sys._getframe(1)
    file = caller.f_code.co_filename
    if file.startswith(os.environ.get("FAKEGPU_CLOCK_OF", "")):
        for index in range(ops.device_count()):
            pending = ops.pending(index)
            if pending:
                with Path(os.environ["FAKEGPU_CLOCK_LOG"]).open("a", encoding="utf-8") as log:
                    log.write(f"{file}:{caller.f_lineno} cuda:{index} {pending}\n")
    return _read()


def install():
    """Watch the clock where the environment asks for it."""
    if os.environ.get("FAKEGPU_CLOCK_LOG"):
        time.perf_counter = _watched_read
