"""Ties the life of a process to that of its supervisor."""

from __future__ import annotations

import os
import signal
import sys

PARENT_VARIABLE = "PREFLIGHT_PARENT"


def die_with_parent() -> None:
    """Ask Linux to kill this process when the one that started it dies, however it dies.

    PREFLIGHT_PARENT holds the process id of the supervisor, which may have died before this was
    called. Elsewhere than on Linux nothing happens: the end of standard input has to do.
    """
    parent = int(os.environ.pop(PARENT_VARIABLE, "0"))
    if not sys.platform.startswith("linux"):
        return
    try:
        import ctypes

        pr_set_pdeathsig = 1  # linux/prctl.h
        ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, int(signal.SIGKILL), 0, 0, 0)
    except (ImportError, OSError, AttributeError) as error:
        print(f"preflight: this process may outlive its supervisor ({error})", file=sys.stderr)
        return
    if parent and os.getppid() != parent:
        os._exit(1)
