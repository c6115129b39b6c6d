"""Samples one device in a child process, for a driver may block in any answer."""

from __future__ import annotations

import os
import select
import sys

import msgspec

from preflight.hardware.amd_telemetry import AmdTelemetry
from preflight.hardware.nvidia_telemetry import NvidiaTelemetry
from preflight.hardware.telemetry import CpuTelemetry, Telemetry
from preflight.harness.telemetry import (
    BEGAN_VARIABLE,
    KIND_VARIABLE,
    PCI_VARIABLE,
    SAMPLES_VARIABLE,
)
from preflight.probes.lifeline import die_with_parent

INTERVAL_S = 0.1
COMMANDS = 0
"""Standard input: its end is the word to leave."""


def main() -> None:
    """Write a sample a line, ten a second, until standard input ends or nobody reads."""
    die_with_parent()
    telemetry = telemetry_of(os.environ[KIND_VARIABLE], float(os.environ[BEGAN_VARIABLE]))
    pci = os.environ[PCI_VARIABLE]
    out = int(os.environ[SAMPLES_VARIABLE])
    try:
        while True:
            os.write(out, msgspec.json.encode(telemetry.sample(pci)) + b"\n")
            if select.select([COMMANDS], [], [], INTERVAL_S)[0]:
                break
    except BrokenPipeError:
        pass  # the supervisor has let go of the pipe
    sys.exit(0)


def telemetry_of(kind: str, began_s: float) -> Telemetry:
    """What asks devices of a kind: ``cuda``, ``hip`` or ``cpu``."""
    if kind == "cuda":
        return NvidiaTelemetry(began_s)
    return AmdTelemetry(began_s) if kind == "hip" else CpuTelemetry(began_s)
