"""Writes the first plan of a machine, for ``preflight init``."""

from __future__ import annotations

from pathlib import Path

from preflight.errors import UsageError
from preflight.events import Environment, Inventory
from preflight.harness.inventory_child import look_at_machine
from preflight.harness.software import look_at_environment
from preflight.plan.template import MachineFacts, render_plan

GIB = 1024**3
KNOWN_EXTENSIONS = {
    "flash-attn": "flash_attn",
    "xformers": "xformers",
    "bitsandbytes": "bitsandbytes",
    "transformer-engine": "transformer_engine",
    "apex": "apex",
    "deepspeed": "deepspeed",
    "vllm": "vllm",
}
"""Distributions with device code of their own, and what they are imported as."""


def write_first_plan(path: Path, *, force: bool, python: str) -> Path:
    """Write a commented plan to ``path``; raises UsageError when a file is there, without force."""
    if path.exists() and not force:
        raise UsageError(
            f"{path} is there already", where="-o", mend="name another file, or add --force"
        )
    inventory = look_at_machine("auto", run_variables={})
    environment = look_at_environment(python, inventory.devices)
    try:
        path.write_text(render_plan(_facts(inventory, environment)), encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror}", where="-o", mend="name another file"
        ) from error
    return path


def _facts(inventory: Inventory, environment: Environment) -> MachineFacts:
    devices = inventory.devices
    first = devices[0] if devices else None
    installed = {name.lower().replace("_", "-") for name in environment.versions.packages}
    memory_GB = first.memory_GiB * GIB / 1e9 if first and first.memory_GiB else None
    return MachineFacts(
        product=first.product if first else None,
        gpus=len(devices) or None,
        memory_GB=round(memory_GB) if memory_GB else None,
        host=inventory.host.name,
        python=environment.versions.python,
        extensions=tuple(m for name, m in KNOWN_EXTENSIONS.items() if name in installed),
    )
