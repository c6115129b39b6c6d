"""What is known of a machine, as values: frozen records without I/O, units in every name.

A fact that could not be read is an ``Absence`` that says why, never 0 and never healthy.
"""

from preflight.facts.absence import (
    ABSENCE_REASONS,
    NOT_ASKED,
    Absence,
    Flag,
    Number,
    Text,
    Whole,
    known,
)
from preflight.facts.card import (
    Card,
    Clocks,
    Ecc,
    Fabric,
    Link,
    Pcie,
    Power,
    Process,
    RasBlock,
    RemappedRows,
    RetiredPages,
    Temperature,
)
from preflight.facts.host import (
    Cgroup,
    Disk,
    HostFacts,
    KernelEvent,
    NetworkInterface,
    NumaNode,
    RdmaPort,
    Service,
)
from preflight.facts.machine import BusCard, DeviceFile, Driver, Grid, Machine
from preflight.facts.survey import ORDINARY, absences_in

__all__ = [
    "ABSENCE_REASONS",
    "NOT_ASKED",
    "ORDINARY",
    "Absence",
    "BusCard",
    "Card",
    "Cgroup",
    "Clocks",
    "DeviceFile",
    "Disk",
    "Driver",
    "Ecc",
    "Fabric",
    "Flag",
    "Grid",
    "HostFacts",
    "KernelEvent",
    "Link",
    "Machine",
    "NetworkInterface",
    "NumaNode",
    "Number",
    "Pcie",
    "Power",
    "Process",
    "RasBlock",
    "RdmaPort",
    "RemappedRows",
    "RetiredPages",
    "Service",
    "Temperature",
    "Text",
    "Whole",
    "absences_in",
    "known",
]
