"""Stage system: who else uses the cards."""

from __future__ import annotations

import pytest

from preflight.facts import Process, known
from preflight.harness import Result, Situation, Survey, at_most
from preflight.records import Device

LEAST_GiB = 1.0
"""A driver with ECC and its own buffers holds some hundred MiB of a small card."""
SHARE_OF_MEMORY = 0.02
"""Room above what drivers were seen to hold: 551 MiB of an H100, 300 MiB of an MI300X, which is
less than 1%."""
ALLOWED_SOURCE = "1 GiB or 2% of the card, whichever is more: what drivers hold themselves"
QUIET = (
    "xorg",
    "x",
    "xwayland",
    "gnome-shell",
    "kwin_wayland",
    "kwin_x11",
    "nvidia-persistenced",
    "nv-hostengine",
    "nvidia-cuda-mps-server",
)
"""Displays and monitors that hold a little memory and do no work worth speaking of."""
END = (
    "end it (kill PID), or wait; a process that is not yours belongs to another tenant: show the "
    "seller this report. Figures of a busy card are worth nothing"
)


@pytest.mark.check(id="system.processes", stage="system", deadline="10s")
def check_processes(situation: Situation, result: Result) -> None:
    """Nobody else works on the cards or holds their memory."""
    survey = Survey.of_cards(situation, result)
    processes = survey.ask("processes", lambda card: card.processes)
    used = survey.ask("memory in use", lambda card: card.memory_used_GiB)
    wsl = known(situation.surroundings.host.wsl) is True
    quiet = set()
    for name, found in processes.items():
        for process in found:
            if _name(process) in QUIET:
                quiet.add(f"{_shown(process)} on {name}")
            else:
                survey.fail(name, _shown(process), END)
    for name, used_GiB in used.items():
        _judge_memory(survey, name, used_GiB, found=processes.get(name, ()), wsl=wsl)
    _compare(survey, {n: v for n, v in used.items() if not processes.get(n)})
    survey.settle("; ".join(sorted(quiet)) or "nobody")


def _judge_memory(
    survey: Survey, name: str, used_GiB: float, *, found: tuple[Process, ...], wsl: bool
) -> None:
    """Memory that is held while no process is to be seen: another container, or what is left."""
    device, product = survey.device(name), survey.product(name)
    if device.memory_GiB is None or (product is not None and product.unified_memory):
        survey.measure(f"{name} memory in use", used_GiB, "GiB")
        return
    allowed_GiB = _allowed_GiB(device)
    # Windows draws on a card of WSL, and a desktop on one that has a monitor: not a fault yet.
    shared = wsl or (product is not None and not product.data_center)
    is_held = used_GiB > allowed_GiB and not found
    if is_held:
        tell = survey.warn if shared else survey.fail
        tell(
            name,
            f"{used_GiB:.1f} GiB are in use and no process is to be seen",
            "somebody outside this container holds it, or a process that ended badly: run again in "
            "a minute, then show the seller this report",
        )
    limit = at_most(allowed_GiB, ALLOWED_SOURCE) if is_held and not shared else None
    survey.measure(f"{name} memory in use", used_GiB, "GiB", limit)


def _compare(survey: Survey, used: dict[str, float]) -> None:
    """Warn of a card that holds more than its neighbours, below the bound of all cards."""
    for group in survey.alike(used):
        least_GiB = min(group.values())
        for name, used_GiB in group.items():
            if least_GiB + LEAST_GiB < used_GiB <= _allowed_GiB(survey.device(name)):
                what = f"{used_GiB:.1f} GiB are in use, a neighbour holds {least_GiB:.1f}"
                survey.warn(name, what, "see who uses it (nvidia-smi, rocm-smi --showpids)")


def _allowed_GiB(device: Device) -> float:
    """What a driver may hold itself."""
    return max(LEAST_GiB, SHARE_OF_MEMORY * (device.memory_GiB or 0.0))


def _name(process: Process) -> str:
    return (known(process.name) or "").replace("\\", "/").rpartition("/")[2].lower()


def _shown(process: Process) -> str:
    """``process 4711 (python3) holds 12.3 GiB``."""
    name, memory_GiB = known(process.name), known(process.memory_GiB)
    held = "uses it" if memory_GiB is None else f"holds {memory_GiB:.1f} GiB"
    return f"process {process.pid}{f' ({name})' if name else ''} {held}"
