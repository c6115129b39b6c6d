"""Device files that cannot be opened: what each errno means, and who can mend it.

Sources: ROCm installation guide, prerequisites (groups render and video, device files in
containers); NVIDIA Container Toolkit documentation (``--gpus``, the device files it passes);
linux, device cgroup (what is not passed is refused with EPERM).
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable

import msgspec

from preflight.facts import Absence, DeviceFile

PER_CARD = re.compile(r"/dev/(nvidia\d+|dri/renderD\d+)")
"""One for each card; a container is given those of its own cards only."""
ON_DEMAND = ("/dev/nvidia-uvm",)
"""Made by root's first use of CUDA (nvidia-modprobe); without it no program computes."""
FILTERED = os.strerror(errno.EPERM)
"""What the device cgroup answers for a device that was not passed in; a mode or group refuses with
EACCES."""
NEEDED = re.compile(r"/dev/(nvidiactl|nvidia\d+|kfd|dri/renderD\d+|dxg)")


class Trouble(msgspec.Struct, frozen=True, kw_only=True):
    """A device file that is shut, in a sentence, and the way to open it."""

    path: str
    reason: str
    """One of ABSENCE_REASONS."""
    sentence: str
    action: str


def troubles(files: Iterable[DeviceFile], *, cards: int) -> tuple[Trouble, ...]:
    """Needed files that this process cannot open, with what to do, in the given order.

    Where as many files of cards are open as there are ``cards`` in use, the others are those of
    cards that are not ours, and no trouble.
    """
    listed = tuple(files)
    opened = sum(one.is_open is True for one in listed if PER_CARD.fullmatch(one.path))
    return tuple(
        explain(one.path, one.is_open)
        for one in listed
        if isinstance(one.is_open, Absence)
        and one.is_open.reason != "not asked"
        and NEEDED.fullmatch(one.path)
        and not (PER_CARD.fullmatch(one.path) and cards and opened >= cards)
    )


def explain(path: str, why: Absence) -> Trouble:
    """What a file that cannot be opened means: refused to us, refused by the driver, or absent."""
    words = f": {why.detail}" if why.detail else ""
    if why.reason == "no permission" and why.detail == FILTERED:
        sentence, action = f"{path} is kept from us by a device cgroup{words}", _pass_in(path)
    elif why.reason == "no permission":
        sentence, action = f"{path} may not be opened by this user{words}", _permission(path)
    elif why.reason == "not found":
        sentence, action = f"{path} is not there", _pass_in(path)
    else:
        sentence = f"{path} is there and the kernel refuses to open it ({why.reason}{words})"
        action = (
            "not a matter of groups: the container runtime or its device filter keeps the device "
            "away (gVisor, a VM without the card), or the kernel's driver is not ready: ask the "
            f"seller to pass {path} through, or to reload its driver"
        )
    return Trouble(path=path, reason=why.reason, sentence=sentence, action=action)


def _permission(path: str) -> str:
    if path.startswith("/dev/nvidia"):
        return (
            f"give this user read and write access: ls -l {path} shows whose it is (the driver's "
            "option NVreg_DeviceFileMode=0666 is the default)"
        )
    return (
        "sudo usermod -aG render,video $USER and log in again; in a container add the host's group "
        f"by number: --group-add $(stat -c %g {path})"
    )


def _pass_in(path: str) -> str:
    if path.startswith("/dev/nvidia"):
        return (
            "on the host: sudo nvidia-modprobe -c 0 -u makes it; in a container: start it with "
            "--gpus all"
        )
    if path == "/dev/dxg":
        return "update WSL (wsl --update) and the driver of Windows, then wsl --shutdown"
    return (
        "load the driver (sudo modprobe amdgpu); a container is started with "
        "--device /dev/kfd --device /dev/dri"
    )
